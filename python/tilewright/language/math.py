"""`tl.math`: mathematical functions of tiles."""

from .core import members

globals().update(members("triton.language.math"))
