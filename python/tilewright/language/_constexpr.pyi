# Written by tools/stubs.py from the tables of builtins: edit those.
"""`constexpr` as mypy reads it: a variable of any type is a valid annotation there."""
from typing import Any

constexpr: Any
