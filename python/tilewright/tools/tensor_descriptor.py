"""Tensor descriptors made by the host."""

_FIELDS = ("base", "shape", "strides", "block_shape", "padding", "round_f32_to_tf32")

# The rules for descriptors, each with its error message.
_RULES = (
    (lambda d: len(d.shape) > 0, "a descriptor has a dimension at least"),
    (lambda d: len(d.shape) == len(d.strides) == len(d.block_shape), "rank mismatch: shape, strides and block_shape have the same length"),
    (lambda d: all(extent >= 0 for extent in d.shape), "shape must not be negative"),
    (lambda d: all(extent > 0 for extent in d.block_shape), "block_shape must be positive"),
    (lambda d: d.strides[-1] == 1, "the stride of the last dimension must be 1"),
    (lambda d: d.padding in ("zero", "nan"), "padding is 'zero' or 'nan'"),
)


class TensorDescriptor:
    """A strided tensor, and the shape of the blocks that kernels take from it. Strides count elements."""

    def __init__(self, base, shape, strides, block_shape, padding="zero", round_f32_to_tf32=False):
        self.base = base
        self.shape, self.strides, self.block_shape = shape, strides, block_shape
        self.padding = padding
        self.round_f32_to_tf32 = round_f32_to_tf32
        for holds, message in _RULES:
            if not holds(self):
                raise ValueError(message)

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """The descriptor of a whole tensor. PyTorch's strides count elements, and NumPy's count bytes."""
        if hasattr(tensor, "stride"):
            strides = tensor.stride()
        else:
            strides = (step // tensor.itemsize for step in tensor.strides)
        return TensorDescriptor(tensor, list(tensor.shape), list(strides), list(block_shape), padding, round_f32_to_tf32)

    def __eq__(self, other):
        if not isinstance(other, TensorDescriptor):
            return NotImplemented
        return self.base is other.base and all(getattr(self, name) == getattr(other, name) for name in _FIELDS[1:])

    __hash__ = None

    def __repr__(self):
        return f"TensorDescriptor({', '.join(f'{name}={getattr(self, name)!r}' for name in _FIELDS)})"
