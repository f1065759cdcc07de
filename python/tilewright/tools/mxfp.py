"""Numbers of the microscaling formats as PyTorch tensors: e2m1 (four bits) and e8m0 (powers of two, for scales).

`MXFP4Tensor(data)` rounds a float tensor to the nearest e2m1 numbers; `MXFP4Tensor(size=...).random()` draws some. `data` holds one number in
each byte; `to_packed_tensor` puts two into a byte, as `tl.dot_scaled` reads them. `MXScaleTensor` does the same for scales.
"""

import torch

# The magnitudes of e2m1 by their three bits, and the bounds between each one and the next. A tie goes to the even one.
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BOUNDS = tuple((low + high) / 2 for low, high in zip(_MAGNITUDES, _MAGNITUDES[1:]))
_SIGN = 8

# e8m0 is the exponent of an fp32, with its bias.
_BIAS, _LARGEST, _NAN = 127, 254, 255


class _Numbers:
    """The common part of both kinds: encoded data, from given numbers or still to be drawn."""

    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("numbers to encode (data), or how many to draw (size)?")
        if data is None:
            self.device, self.size = device, (size,) if isinstance(size, int) else tuple(size)
            return
        assert isinstance(data, torch.Tensor), f"data is a tensor of PyTorch's, not {type(data).__name__}"
        self.device, self.data = data.device, self._from_float(data)

    def _draw(self, low, high):
        """Bytes from low to high, both included."""
        self.data = torch.randint(low, high + 1, size=self.size, dtype=torch.uint8, device=self.device)
        return self


class MXFP4Tensor(_Numbers):
    """Numbers of e2m1: a sign, two bits of exponent, one of fraction. It has no infinity and no NaN: values that are too large, and NaN, become
    the largest, 6, with its sign."""

    def random(self):
        return self._draw(0, 15)

    def to(self, dtype):
        assert dtype == torch.float32, f"e2m1 becomes float32, not {dtype}"
        magnitudes = torch.tensor(_MAGNITUDES, dtype=dtype, device=self.data.device)
        return torch.cat([magnitudes, -magnitudes])[self.data.long()]

    def _from_float(self, values):
        magnitude = torch.abs(values)
        code = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
        for lower, bound in enumerate(_BOUNDS):
            code += magnitude >= bound if lower % 2 else magnitude > bound
        code = torch.where(torch.isnan(values), len(_BOUNDS), code)
        return (code + _SIGN * torch.signbit(values)).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Two numbers in a byte along a dimension, the first in the low half; a zero is added where their count is odd."""
        assert 0 <= dim < self.data.ndim, f"there is no dimension {dim} to pack along: the tensor has {self.data.ndim}"
        data = self.data
        if data.size(dim) % 2:
            data = torch.cat([data, torch.zeros_like(data.narrow(dim, 0, 1))], dim)
        low, high = data.unflatten(dim, (-1, 2)).unbind(dim + 1)
        return low | high << 4

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """The inverse: a tensor of the original shape with one number in each byte."""
        pairs = torch.stack((packed_tensor & 15, packed_tensor >> 4), dim + 1)
        return pairs.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).to(torch.uint8)


def fp8e8m0_to_float32(scale):
    """The numbers that bytes of e8m0 represent."""
    code = scale.view(torch.uint8)
    powers = torch.ldexp(torch.ones_like(code, dtype=torch.float32), code.to(torch.int32) - _BIAS)
    return torch.where(code == _NAN, torch.nan, powers)


class MXScaleTensor(_Numbers):
    """Numbers of e8m0: powers of two from 2^-127 to 2^127, and NaN. A number becomes the power of two at or below it; values that are not positive and
    finite becomes NaN."""

    def random(self, low=None, high=None):
        def exponent(bound, default):
            return default if bound is None else min(_LARGEST, max(0, int(torch.log2(torch.tensor(bound))) + _BIAS))

        first, last = exponent(low, 0), exponent(high, _LARGEST)
        assert first <= last, f"the range from {low} to {high} is empty"
        return self._draw(first, last)

    def to(self, dtype):
        assert dtype == torch.float32, f"e8m0 becomes float32, not {dtype}"
        return fp8e8m0_to_float32(self.data)

    def _from_float(self, values):
        _, exponent = torch.frexp(values)  # frexp's fraction is at least 0.5
        code = torch.clamp(exponent.to(torch.int32) - 1 + _BIAS, 0, _LARGEST)
        return torch.where(torch.isfinite(values) & (values > 0), code, _NAN).to(torch.uint8)
