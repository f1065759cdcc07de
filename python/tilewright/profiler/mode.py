"""How a profiler measures. There is one way here, so that a mode is a name that is kept."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BaseMode:
    name: str = ""

    def __str__(self):
        return self.name
