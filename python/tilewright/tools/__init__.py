"""Command-line tools, and the class of linear layouts."""

from .._C.libtriton.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
