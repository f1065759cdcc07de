"""Functions by which a program reads properties of its GPU, and the conversions of fp8e4b15."""

from ...core import members

globals().update({name: value for name, value in members("triton.language.extra.cuda").items() if not name.startswith("gdc_")})
