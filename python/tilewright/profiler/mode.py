"""How a profiler measures. There is one way here, so that a mode is a name that is kept."""

from .._records import record


class _Named:
    def __str__(self):
        return self.name


BaseMode = record(__name__, "BaseMode", "A way of measuring.", [("name", str, "")], base=[_Named], frozen=True)
