"""`tl.target_info`: what kernels may ask about the machine they are compiled for."""

from .core import members

globals().update(members("triton.language.target_info"))
