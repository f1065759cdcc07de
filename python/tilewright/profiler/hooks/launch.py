"""The hook that `start(..., hook="triton")` registers."""

import re

from .hook import Hook


class LaunchHook(Hook):
    """Gives kernels the metrics of their `launch_metadata`, and its name if it has one."""

    _WIDTHS = ("", "4", "8", "16", "32", "64")
    metrics = ("bytes", *(f"flops{width}" for width in _WIDTHS))

    priority = 100
    _only = None

    def __new__(cls):
        """The one instance, which all profiles share."""
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only._include = cls._only._exclude = None
        return cls._only

    def configure(self, *, include=None, exclude=None):
        """Sets the patterns for the names of kernels to include and to exclude."""
        self._include, self._exclude = include, exclude

    def looks_at(self, name):
        return not (self._include and not re.search(self._include, name)) and not (self._exclude and re.search(self._exclude, name))

    def describe(self, metadata):
        """(name, metrics) of a launch."""
        told = metadata.get()
        if not self.looks_at(told["name"]):
            return None
        return told["name"], {name: value for name, value in told.items() if name in self.metrics}
