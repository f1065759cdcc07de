"""Typing rules live in the compiler. This module is here for those who import it."""
