"""The typing rules are in the compiler. This module exists for programs that import it."""
