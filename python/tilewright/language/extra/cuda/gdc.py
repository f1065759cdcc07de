"""Waiting for the kernel before this one, and letting the next one start."""

from ...core import members

globals().update({name: value for name, value in members("triton.language.extra.cuda").items() if name.startswith("gdc_")})
