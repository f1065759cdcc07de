"""Modes of measuring. There is one way to measure here, so a mode is a name that is kept and has no effect."""

from .._records import record


class _Named:
    def __str__(self):
        return self.name


BaseMode = record(__name__, "BaseMode", "A way of measuring.", [("name", str, "")], base=[_Named], frozen=True)
