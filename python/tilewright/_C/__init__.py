"""Upstream's package of C++ modules. Programs import it for a few names, which libtriton has."""

from . import libtriton

__all__ = ["libtriton"]
