# Written by tools/stubs.py from the tables of builtins: edit those.
import builtins
import enum
from typing import Any, Callable, Iterator, Literal, Mapping, Sequence, TypeAlias, TypeVar, overload

_R = TypeVar("_R")
_Function = TypeVar("_Function", bound=Callable[..., object])
_Aggregate = TypeVar("_Aggregate")
_TensorLike: TypeAlias = "tensor | int | float"  # a tile, a scalar or a number
_IntLike: TypeAlias = "tensor | int"
_DType: TypeAlias = "dtype"
_PropagateNan: TypeAlias = "PropagateNan"
_ScaledFormat: TypeAlias = Literal["e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "bf16", "fp16"]

class base_type:
    def mangle(self) -> str: ...

class base_value: ...

class dtype(base_type):
    """The type of element types: `x.dtype` of a tile, `ptr.dtype.element_ty` of a pointer.

    - name: "fp32", "int8", ...

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> x = tl.arange(0, 4)
    >>> x.dtype == tl.int32
    True
    >>> x_ptr.dtype.element_ty == tl.float32
    True
    """
    name: str
    primitive_bitwidth: int
    itemsize: int
    fp_mantissa_width: int
    exponent_bias: int
    int_bitwidth: int
    int_signedness: dtype.SIGNEDNESS
    scalar: dtype
    element_ty: dtype
    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1
    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2
    SINT_TYPES: list[str]
    UINT_TYPES: list[str]
    FP_TYPES: list[str]
    STANDARD_FP_TYPES: list[str]
    OTHER_TYPES: list[str]
    def __init__(self, name: str) -> None: ...
    @staticmethod
    def is_dtype(name: str) -> bool: ...
    @property
    def cache_key_part(self) -> str: ...
    def kind(self) -> dtype.KIND: ...
    def get_int_min_value(self) -> int: ...
    def get_int_max_value(self) -> int: ...
    def with_element_ty(self, element_ty: dtype) -> dtype: ...
    def codegen_name(self) -> str: ...
    def is_bf16(self) -> bool: ...
    def is_block(self) -> bool: ...
    def is_bool(self) -> bool: ...
    def is_const(self) -> bool: ...
    def is_floating(self) -> bool: ...
    def is_fp16(self) -> bool: ...
    def is_fp32(self) -> bool: ...
    def is_fp64(self) -> bool: ...
    def is_fp8(self) -> bool: ...
    def is_fp8e4b15(self) -> bool: ...
    def is_fp8e4b8(self) -> bool: ...
    def is_fp8e4nv(self) -> bool: ...
    def is_fp8e5(self) -> bool: ...
    def is_fp8e5b16(self) -> bool: ...
    def is_int(self) -> bool: ...
    def is_int1(self) -> bool: ...
    def is_int16(self) -> bool: ...
    def is_int32(self) -> bool: ...
    def is_int64(self) -> bool: ...
    def is_int8(self) -> bool: ...
    def is_int_signed(self) -> bool: ...
    def is_int_unsigned(self) -> bool: ...
    def is_ptr(self) -> bool: ...
    def is_standard_floating(self) -> bool: ...
    def is_uint16(self) -> bool: ...
    def is_uint32(self) -> bool: ...
    def is_uint64(self) -> bool: ...
    def is_uint8(self) -> bool: ...
    def is_void(self) -> bool: ...

class pointer_type(dtype):
    """The type of pointers. A kernel that loads addresses as int64 casts them to it.

    - element_ty: the type of the elements.
    - address_space: 1, the memory of the device.
    - const: True means that the kernel does not store through it.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> (x_ptr.to(tl.int64) + 8).to(tl.pointer_type(tl.float32)) == x_ptr + 2
    True
    """
    address_space: int
    const: bool
    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None: ...

class block_type(dtype):
    """The type of a tile.

    - element_ty: the type of its elements.
    - shape: its sizes.

    >>> tl.arange(0, 4).type == tl.block_type(tl.int32, [4])
    True
    """
    shape: builtins.tuple[int, ...]
    numel: int
    nbytes: int
    def __init__(self, element_ty: dtype, shape: Sequence[int]) -> None: ...
    def get_block_shapes(self) -> builtins.tuple[int, ...]: ...

class tuple_type(base_type):
    """The type of a tuple.

    - types: those of its items.
    - fields: their names, for a namedtuple.
    """
    types: Sequence[base_type]
    fields: Sequence[str]
    name: str
    def __init__(self, types: Sequence[base_type], fields: Sequence[str] | None = None) -> None: ...

class constexpr_type(base_type):
    """The type of one constant, in signatures of specialized functions.

    - value: the constant.
    """
    value: Any
    name: str
    def __init__(self, value: object) -> None: ...

class tensor_descriptor_base_type(base_type):
    block_type: dtype
    def __init__(self, block_type: dtype) -> None: ...

class tensor_descriptor_type(tensor_descriptor_base_type): ...

class slice_type(dtype):
    def __init__(self) -> None: ...

# A parameter `BLOCK: tl.constexpr = 64` takes a plain value, and the kernel uses it as one. Therefore the annotation stands for any type. mypy reads
# only the first branch; pyright reads both, and its last declaration of a name counts.
MYPY: bool
def _any_type(cls: object) -> Any: ...
if MYPY:
    from ._constexpr import constexpr as constexpr
else:
    @_any_type
    class constexpr(base_value):
        """A compile-time value. A parameter with this annotation is a constant of the kernel: each value compiles a separate kernel. The value may be a size or a
        type, and may decide which branch of an `if` is compiled. Outside of a kernel, `tl.constexpr(value)` makes a global name usable in kernels.

        - value: a number, a string, a type, a tuple of these, or a function.

        >>> BLOCK: tl.constexpr = 4
        >>> tl.arange(0, BLOCK)
        [0, 1, 2, 3]
        """
        value: Any
        type: constexpr_type
        def __init__(self, value: object) -> None: ...

class const:
    """Annotates a pointer through which a kernel must not store."""

class tuple(base_value):
    """Several values in one tuple.

    - args: values of any kind.

    >>> pair = tl.tuple([tl.arange(0, 2), 5])
    >>> pair[0] + pair[1]
    [5, 6]
    """
    values: list[Any]
    def __init__(self, args: Sequence[object]) -> None: ...
    def __getitem__(self, index: int) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class slice:
    start: Any
    stop: Any
    step: Any
    def __init__(self, start: object, stop: object, step: object) -> None: ...

class tensor_descriptor_base(base_value): ...

class tensor_descriptor(tensor_descriptor_base):
    """The type of descriptors: those of `tl.make_tensor_descriptor`, and those of host code (`TensorDescriptor.from_tensor(x, block_shape)`). It has
    `load`, `store`, `gather`, `scatter` and the atomics `atomic_add`, `atomic_min`, `atomic_max`, `atomic_and`, `atomic_or` and `atomic_xor`.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 4])
    >>> desc.load([0, 0])
    [[0.0, 1.0, 2.0, 3.0]]
    """
    dtype: _DType
    type: base_type
    block_type: _DType
    shape: builtins.tuple[tensor, ...]
    strides: builtins.tuple[tensor, ...]
    block_shape: builtins.tuple[int, ...]
    def load(self, offsets: Sequence[_IntLike]) -> tensor:
        """Loads the block of a descriptor at element offsets. `desc.load(offsets)` is the same.

        - desc: a tensor descriptor.
        - offsets: one int32 for each dimension. Elements outside of the tensor are zero, or NaN if the descriptor has padding_option="nan".

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 4])
        >>> tl.load_tensor_descriptor(desc, [1, 0])
        [[8.0, 9.0, 10.0, 11.0]]
        """
    def store(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Stores a block. `desc.store(offsets, value)` is the same. Elements outside of the tensor are skipped.

        - desc: a tensor descriptor.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(x_ptr, [1, 8], [8, 1], [1, 4])
        >>> tl.store_tensor_descriptor(desc, [0, 0], tl.zeros((1, 4), tl.float32))
        >>> tl.load(x_ptr + tl.arange(0, 8))
        [0.0, 0.0, 0.0, 0.0, 4.0, 5.0, 6.0, 7.0]
        """
    def atomic_add(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Adds a block to memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of int32, uint32, uint64, fp16, bf16 or fp32: the types that TMA adds.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_add([0, 0], tl.full((1, 4), 10, tl.float32))
        >>> desc.load([0, 0])
        [[10.0, 11.0, 12.0, 13.0]]
        """
    def atomic_min(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Stores the smaller, or the larger, of a block and memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of integers of 32 or 64 bits.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(i_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_max([0, 0], tl.full((1, 4), 2, tl.int32))
        >>> desc.load([0, 0])
        [[2, 2, 2, 3]]
        """
    def atomic_max(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Stores the smaller, or the larger, of a block and memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of integers of 32 or 64 bits.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(i_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_max([0, 0], tl.full((1, 4), 2, tl.int32))
        >>> desc.load([0, 0])
        [[2, 2, 2, 3]]
        """
    def atomic_and(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Combines the bits of a block with those in memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of integers of 32 or 64 bits.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(i_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_or([0, 0], tl.full((1, 4), 4, tl.int32))
        >>> desc.load([0, 0])
        [[4, 5, 6, 7]]
        """
    def atomic_or(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Combines the bits of a block with those in memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of integers of 32 or 64 bits.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(i_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_or([0, 0], tl.full((1, 4), 4, tl.int32))
        >>> desc.load([0, 0])
        [[4, 5, 6, 7]]
        """
    def atomic_xor(self, offsets: Sequence[_IntLike], value: tensor) -> None:
        """Combines the bits of a block with those in memory, each element atomically. It returns nothing.

        - desc: a tensor descriptor of integers of 32 or 64 bits.
        - offsets: one int32 for each dimension.
        - value: a tile of the descriptor's block shape.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(i_ptr, [8, 8], [8, 1], [1, 4])
        >>> desc.atomic_or([0, 0], tl.full((1, 4), 4, tl.int32))
        >>> desc.load([0, 0])
        [[4, 5, 6, 7]]
        """
    def gather(self, x_offsets: tensor, y_offset: _IntLike) -> tensor:
        """Loads rows of a tensor of two dimensions, in any order, as one tile.

        - desc: a descriptor whose block is one row: [1, N].
        - x_offsets: a tile of int32: the indices of the rows, at least eight.
        - y_offset: the first column, a scalar.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 8])
        >>> rows = desc.gather(7 - tl.arange(0, 8), 0)
        >>> tl.sum(rows, 1)
        [476.0, 412.0, 348.0, 284.0, 220.0, 156.0, 92.0, 28.0]
        """
    def scatter(self, value: tensor, x_offsets: tensor, y_offset: _IntLike) -> None:
        """Stores the rows of a tile to rows of a tensor of two dimensions. If two rows have the same index, one of them is kept.

        - desc: a descriptor whose block is one row: [1, N].
        - value: a tile with one row per offset.
        - x_offsets: a tile of int32: the indices of the rows, at least eight.
        - y_offset: the first column, a scalar.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 8])
        >>> desc.scatter(tl.zeros((8, 8), tl.float32), tl.arange(0, 8), 0)
        >>> tl.load(x_ptr + tl.arange(0, 4))
        [0.0, 0.0, 0.0, 0.0]
        """

class range(base_value):
    """A run-time loop with options for the compiler. Plain `range` is the same without options.

    - arg1, arg2, step: as for Python's range: the end, or start and end, or start, end and step.
    - num_stages: the depth of the software pipeline on a GPU: the number of iterations whose loads are in flight.
    - loop_unroll_factor: unrolls this many iterations into one. A remainder loop without a pipeline follows.
    - disable_licm: accepted for compatibility. Loop-invariant code is always hoisted.
    - flatten, disallow_acc_multi_buffer: accepted for compatibility. Persistent loops prefetch the next tile without a hint, and the compiler decides how many accumulators tensor memory holds.
    - warp_specialize: True requests a producer warp for copies, from Hopper on. On Blackwell, the loop then has two stages at least. Without it, the compiler decides.
    - early_exit: True allows `break`, `continue` and `return` in the loop, an extension of Triton.

    >>> total = 0
    >>> for i in tl.range(0, 10, num_stages=3):
    ...     total += i
    >>> total
    45
    """
    def __init__(self, arg1: _IntLike, arg2: _IntLike | None = None, step: _IntLike | None = None, num_stages: int | None = None, loop_unroll_factor: int | None = None, disallow_acc_multi_buffer: bool = False, flatten: bool = False, warp_specialize: bool = False, disable_licm: bool = False, early_exit: bool = False) -> None: ...
    def __iter__(self) -> Iterator[tensor]: ...

class static_range(base_value):
    """A loop that the compiler unrolls. Its variable is a compile-time constant, so it may index a tuple or decide a constexpr `if`.

    - arg1, arg2, step: as for Python's range, known at compile time.

    >>> total = 0
    >>> for i in tl.static_range(4):
    ...     total += i
    >>> total
    6
    """
    def __init__(self, arg1: int, arg2: int | None = None, step: int | None = None) -> None: ...
    def __iter__(self) -> Iterator[constexpr]: ...

class condition(base_value):
    """The condition of a `while` loop, with options for the compiler: `while tl.condition(i < n, early_exit=True):`.

    - arg1: the condition, a scalar.
    - disable_licm: accepted for compatibility, as in `tl.range`.
    - early_exit: True allows `break`, `continue` and `return` in the loop, an extension of Triton.

    >>> i = 0
    >>> while tl.condition(i < 10, early_exit=True):
    ...     i += 1
    ...     if i == 7:
    ...         break
    >>> i
    7
    """
    def __init__(self, arg1: _TensorLike, disable_licm: bool = False, early_exit: bool = False) -> None: ...
    def __bool__(self) -> bool: ...

class PropagateNan(enum.Enum):
    """The NaN mode of `tl.minimum`, `tl.maximum` and `tl.clamp`. `tl.PropagateNan.NONE` returns the operand that is a number, and `tl.PropagateNan.ALL` returns NaN.

    >>> tl.minimum(float("nan"), 2.0, propagate_nan=tl.PropagateNan.NONE)
    2.0
    """
    NONE = 0
    ALL = 65535

class tensor(base_value):
    """The type of run-time values, tiles and scalars, for `isinstance(x, tl.tensor)` and annotations. Values have `dtype`, `shape`, `numel`, `type` and `T`.
    Most functions of the language are also methods: `x.to(tl.float16)`, `x.sum(0)`.

    >>> x = tl.arange(0, 4)
    >>> x.sum(0)
    6
    >>> x.numel
    4
    """
    dtype: _DType
    type: _DType
    shape: builtins.tuple[int, ...]
    numel: int
    T: tensor
    def to(self, dtype: _DType | str, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None, bitcast: bool = False) -> tensor:
        """Converts values to another type."""
    def __getitem__(self, index: builtins.slice | None | builtins.tuple[builtins.slice | None, ...]) -> tensor: ...
    def __neg__(self) -> tensor: ...
    def __pos__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    def __abs__(self) -> tensor: ...
    def __bool__(self) -> bool: ...
    def __index__(self) -> int: ...
    def __add__(self, other: _TensorLike) -> tensor: ...
    def __radd__(self, other: _TensorLike) -> tensor: ...
    def __sub__(self, other: _TensorLike) -> tensor: ...
    def __rsub__(self, other: _TensorLike) -> tensor: ...
    def __mul__(self, other: _TensorLike) -> tensor: ...
    def __rmul__(self, other: _TensorLike) -> tensor: ...
    def __truediv__(self, other: _TensorLike) -> tensor: ...
    def __rtruediv__(self, other: _TensorLike) -> tensor: ...
    def __floordiv__(self, other: _TensorLike) -> tensor: ...
    def __rfloordiv__(self, other: _TensorLike) -> tensor: ...
    def __mod__(self, other: _TensorLike) -> tensor: ...
    def __rmod__(self, other: _TensorLike) -> tensor: ...
    def __lshift__(self, other: _TensorLike) -> tensor: ...
    def __rlshift__(self, other: _TensorLike) -> tensor: ...
    def __rshift__(self, other: _TensorLike) -> tensor: ...
    def __rrshift__(self, other: _TensorLike) -> tensor: ...
    def __and__(self, other: _TensorLike) -> tensor: ...
    def __rand__(self, other: _TensorLike) -> tensor: ...
    def __xor__(self, other: _TensorLike) -> tensor: ...
    def __rxor__(self, other: _TensorLike) -> tensor: ...
    def __or__(self, other: _TensorLike) -> tensor: ...
    def __ror__(self, other: _TensorLike) -> tensor: ...
    def __lt__(self, other: _TensorLike) -> _Condition: ...
    def __le__(self, other: _TensorLike) -> _Condition: ...
    def __gt__(self, other: _TensorLike) -> _Condition: ...
    def __ge__(self, other: _TensorLike) -> _Condition: ...
    def __eq__(self, other: object) -> _Condition: ...  # type: ignore[override]
    def __ne__(self, other: object) -> _Condition: ...  # type: ignore[override]
    def cast(self, dtype: _DType | str, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None, bitcast: bool = False) -> tensor:
        """Converts values to another type. `x.to(dtype)` is the same. A conversion of floats to integers truncates. A conversion to a narrower float rounds to
        nearest, ties to even. A conversion to a narrower integer drops the upper bits.

        - input: a tile or a scalar.
        - dtype: the new type. Pointers convert to int64 and back.
        - fp_downcast_rounding: the rounding for a narrower float: "rtne", to nearest even (the default), or "rtz", towards zero.
        - bitcast: True keeps the bits instead of the values. Both types must have the same width.

        >>> tl.cast(tl.arange(0, 4) * 0.6, tl.int32)
        [0, 0, 1, 1]
        >>> tl.full((1,), 1.0, tl.float32).to(tl.int32, bitcast=True)
        [1065353216]
        >>> tl.full((1,), 1.0, tl.float32).to(tl.int16, bitcast=True)
        error: cannot be read as int16
        """
    def broadcast_to(self, *shape: int | Sequence[int]) -> tensor:
        """Repeats dimensions of size 1 up to a shape. A scalar becomes a tile of that shape.

        - input: a tile with as many dimensions as the shape, or a scalar.
        - shape: the sizes, as one tuple or as separate arguments.

        >>> tl.broadcast_to(tl.arange(0, 2)[:, None], (2, 4))
        [[0, 0, 0, 0], [1, 1, 1, 1]]
        """
    def expand_dims(self, axis: int | Sequence[int]) -> tensor:
        """Inserts dimensions of size 1. `x[:, None]` is the same and easier to read.

        - input: a tile or a scalar.
        - axis: the index of the new dimension in the result, or a tuple of indices. Negative indices count from the end.

        >>> tl.expand_dims(tl.arange(0, 2), 0)
        [[0, 1]]
        >>> tl.arange(0, 2)[:, None]
        [[0], [1]]
        """
    def squeeze(self, dim: int) -> tensor:
        """Removes a dimension of size 1.

        - x: a tile.
        - dim: the index of the dimension.

        >>> tl.squeeze(tl.arange(0, 2)[:, None], 1)
        [0, 1]
        """
    def unsqueeze(self, dim: int) -> tensor:
        """Inserts a dimension of size 1.

        - x: a tile.
        - dim: its index in the result.

        >>> tl.unsqueeze(tl.arange(0, 2), 1)
        [[0], [1]]
        """
    def reshape(self, *shape: int | Sequence[int], can_reorder: bool = False) -> tensor:
        """Returns the same elements, in row-major order, in another shape.

        - input: a tile.
        - shape: the sizes, as one tuple or as separate arguments. Their product is the number of elements.
        - can_reorder: True allows any order of the elements, which can be cheaper on a GPU.

        >>> tl.reshape(tl.arange(0, 4), (2, 2))
        [[0, 1], [2, 3]]
        >>> tl.reshape(tl.arange(0, 4), (2, 4))
        error: has 4 elements, but the new shape has 8
        """
    def view(self, *shape: int | Sequence[int]) -> tensor:
        """Returns the same elements in another shape, in any order, as `reshape` with can_reorder=True. If the order matters, use `reshape`.

        - input: a tile.
        - shape: the sizes, as one tuple or as separate arguments. Their product is the number of elements.

        >>> tl.sum(tl.view(tl.arange(0, 4), (2, 2)))
        6
        """
    def ravel(self, can_reorder: bool = False) -> tensor:
        """Returns all elements of a tile in one dimension, in row-major order.

        - x: a tile.
        - can_reorder: True allows any order of the elements.

        >>> tl.ravel(tl.arange(0, 4)[:, None] + tl.zeros((4, 2), tl.int32))
        [0, 0, 1, 1, 2, 2, 3, 3]
        """
    def trans(self, *dims: int | Sequence[int]) -> tensor:
        """Permutes the dimensions. `x.T` swaps the last two. On a GPU, a transposed operand of `tl.dot` needs no copy.

        - input: a tile of at least two dimensions.
        - dims: the old indices of the new dimensions, as one tuple or as separate arguments. Without them, the last two are swapped.

        >>> tl.trans(tl.reshape(tl.arange(0, 4), (2, 2)))
        [[0, 2], [1, 3]]
        >>> tl.trans(tl.arange(0, 4))
        error: has fewer than two dimensions, so none can be swapped
        """
    def permute(self, *dims: int | Sequence[int]) -> tensor:
        """Permutes the dimensions.

        - input: a tile.
        - dims: the old indices of the new dimensions, as one tuple or as separate arguments.

        >>> tl.permute(tl.reshape(tl.arange(0, 4), (1, 2, 2)), (2, 1, 0))
        [[[0], [2]], [[1], [3]]]
        """
    def split(self) -> builtins.tuple[tensor, tensor]:
        """Splits a last dimension of size 2 into two tiles. After a `reshape`, it separates adjacent elements, such as real and imaginary parts.

        - a: a tile whose last dimension has the size 2.

        The result is a tuple of two tiles. For a tile of one dimension, it is a tuple of two scalars.

        >>> even, odd = tl.split(tl.reshape(tl.arange(0, 4), (2, 2)))
        >>> even
        [0, 2]
        >>> odd
        [1, 3]
        >>> tl.split(tl.arange(0, 4))
        error: tl.split takes a tile whose last dimension has size 2
        """
    def item(self) -> tensor:
        """Returns the only element of a tile as a scalar.

        - input: a tile with a single element.

        >>> tl.item(tl.full((1,), 5, tl.int32))
        5
        """
    def abs(self) -> tensor:
        """Returns the absolute value.

        - x: a tile or a scalar of integers or floats. The smallest value of a signed integer type stays negative.

        >>> tl.abs(tl.arange(0, 4) - 2)
        [2, 1, 0, 1]
        """
    def exp(self) -> tensor:
        """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
        use `exp2`.

        - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

        >>> tl.exp(tl.arange(0, 2) * 1.0)
        [1.0, 2.71828]
        >>> tl.exp2(3.0)
        8.0
        >>> tl.exp(tl.zeros((4,), tl.float16))
        error: convert the argument first: .to(tl.float32)
        """
    def exp2(self) -> tensor:
        """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
        use `exp2`.

        - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

        >>> tl.exp(tl.arange(0, 2) * 1.0)
        [1.0, 2.71828]
        >>> tl.exp2(3.0)
        8.0
        >>> tl.exp(tl.zeros((4,), tl.float16))
        error: convert the argument first: .to(tl.float32)
        """
    def log(self) -> tensor:
        """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.log2(8.0)
        3.0
        >>> tl.log(1.0)
        0.0
        """
    def log2(self) -> tensor:
        """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.log2(8.0)
        3.0
        >>> tl.log(1.0)
        0.0
        """
    def sin(self) -> tensor:
        """Computes the sine or the cosine of an angle in radians.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.sin(tl.arange(0, 2) * 1.5707964)
        [0.0, 1.0]
        >>> tl.cos(0.0)
        1.0
        """
    def cos(self) -> tensor:
        """Computes the sine or the cosine of an angle in radians.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.sin(tl.arange(0, 2) * 1.5707964)
        [0.0, 1.0]
        >>> tl.cos(0.0)
        1.0
        """
    def sqrt(self) -> tensor:
        """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
        place. `tl.sqrt_rn` rounds to nearest.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.sqrt(16.0)
        4.0
        >>> tl.rsqrt(16.0)
        0.25
        """
    def rsqrt(self) -> tensor:
        """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
        place. `tl.sqrt_rn` rounds to nearest.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.sqrt(16.0)
        4.0
        >>> tl.rsqrt(16.0)
        0.25
        """
    def sqrt_rn(self) -> tensor:
        """Computes the square root of fp32 values, rounded to nearest on every machine.

        - x: a tile or a scalar of fp32.

        >>> tl.sqrt_rn(2.0)
        1.41421
        """
    def erf(self) -> tensor:
        """Computes the error function. The exact GELU uses it: `0.5 * x * (1 + tl.erf(x * 0.70710678))`.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.erf(tl.arange(0, 2) * 1.0)
        [0.0, 0.842701]
        """
    def floor(self) -> tensor:
        """Rounds down, or up, to an integral value, as a float.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.floor(-1.5)
        -2.0
        >>> tl.ceil(-1.5)
        -1.0
        """
    def ceil(self) -> tensor:
        """Rounds down, or up, to an integral value, as a float.

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.floor(-1.5)
        -2.0
        >>> tl.ceil(-1.5)
        -1.0
        """
    def store(self, value: _TensorLike, mask: tensor | bool | None = None, boundary_check: int | Sequence[int] = (), cache_modifier: Literal['', '.wb', '.cg', '.cs', '.wt'] | None = '', eviction_policy: Literal['', 'evict_first', 'evict_last', 'evict_normal'] | None = '') -> None:
        """Stores elements at pointers.

        - pointer: a scalar pointer, a tile of pointers, or a block pointer.
        - value: the values. They are broadcast to the shape of the pointer and converted to its element type.
        - mask: int1, broadcast to the pointer's shape. Where it is false, nothing is stored.
        - boundary_check: for a block pointer: the dimensions in which the block may exceed the tensor. Nothing is stored there.
        - cache_modifier: a hint for GPUs: ".wb", ".cg", ".cs" or ".wt".
        - eviction_policy: a hint for GPUs: "evict_first" or "evict_last".

        Within a program, later loads see the stored values. Between programs, only atomic operations define an order.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> offs = tl.arange(0, 4)
        >>> tl.store(x_ptr + offs, offs * offs, mask=offs > 1)
        >>> tl.load(x_ptr + offs)
        [0.0, 1.0, 4.0, 9.0]
        >>> tl.store(offs, 1.0)
        error: tl.store needs a pointer
        """
    def advance(self, offsets: Sequence[_IntLike]) -> tensor:
        """Returns a moved block pointer. The argument does not change, so use the result: `block = tl.advance(block, (0, BLOCK_K))`.

        - base: a block pointer.
        - offsets: the number of elements along each dimension.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> block = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 0), (2, 2), (1, 0))
        >>> tl.load(tl.advance(block, (1, 2)))
        [[10.0, 11.0], [18.0, 19.0]]
        """
    def atomic_add(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Adds to memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp16, bf16, fp32 or fp64.
        - val: the value to add. It is broadcast to the shape of the pointer and converted.
        - mask: int1. Where it is false, nothing happens, and the result is undefined.
        - sem: "acq_rel" (the default), "acquire", "release" or "relaxed": the memory order.
        - scope: "gpu" (the default), "cta" for the threads of one program, "sys" for all devices. On CPUs, all are the same.

        The result is the old value. The order of the programs is undefined, so sums of floats can differ by rounding from run to run.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> tl.atomic_add(x_ptr + tl.arange(0, 4), 10.0)
        [0.0, 1.0, 2.0, 3.0]
        >>> tl.load(x_ptr + tl.arange(0, 4))
        [10.0, 11.0, 12.0, 13.0]
        """
    def atomic_max(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Stores the larger, or the smaller, of a value and memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp32 or fp64.
        - val: the value to compare with, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_max(i_ptr + tl.arange(0, 4), 2)
        [0, 1, 2, 3]
        >>> tl.load(i_ptr + tl.arange(0, 4))
        [2, 2, 2, 3]
        """
    def atomic_min(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Stores the larger, or the smaller, of a value and memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp32 or fp64.
        - val: the value to compare with, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_max(i_ptr + tl.arange(0, 4), 2)
        [0, 1, 2, 3]
        >>> tl.load(i_ptr + tl.arange(0, 4))
        [2, 2, 2, 3]
        """
    def atomic_and(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Combines the bits of a value with those in memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
        - val: the bits, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
        [0, 1]
        >>> tl.load(i_ptr + tl.arange(0, 2))
        [3, 2]
        >>> tl.atomic_or(x_ptr, 1.0)
        error: tl.atomic_or does not support
        """
    def atomic_or(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Combines the bits of a value with those in memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
        - val: the bits, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
        [0, 1]
        >>> tl.load(i_ptr + tl.arange(0, 2))
        [3, 2]
        >>> tl.atomic_or(x_ptr, 1.0)
        error: tl.atomic_or does not support
        """
    def atomic_xor(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Combines the bits of a value with those in memory, each element atomically.

        - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
        - val: the bits, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value.

        >>> # x_ptr points at the float32 0, 1, ..., 63
        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
        [0, 1]
        >>> tl.load(i_ptr + tl.arange(0, 2))
        [3, 2]
        >>> tl.atomic_or(x_ptr, 1.0)
        error: tl.atomic_or does not support
        """
    def atomic_xchg(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Exchanges a value with memory, atomically, and returns the old value.

        - pointer: a scalar pointer or a tile of pointers to types of 32 or 64 bits.
        - val: the new value, broadcast and converted.
        - mask: int1. Where it is false, nothing happens.
        - sem, scope: as for `tl.atomic_add`.

        To release a lock: `tl.atomic_xchg(lock, 0, sem="release")`.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_xchg(i_ptr + 5, 9)
        5
        >>> tl.load(i_ptr + 5)
        9
        """
    def atomic_cas(self, cmp: _TensorLike, val: _TensorLike, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Stores a value where memory has an expected value, atomically (compare and swap). To take a lock: `while tl.atomic_cas(lock, 0, 1) == 1: pass`.

        - pointer: a scalar pointer or a tile of pointers to types of 16, 32 or 64 bits.
        - cmp: the expected value.
        - val: the new value where memory equals it.
        - sem, scope: as for `tl.atomic_add`.

        The result is the old value: it equals cmp where val was stored.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_cas(i_ptr + 5, 5, 1)
        5
        >>> tl.atomic_cas(i_ptr + 5, 5, 2)
        1
        """
    def reduce(self, axis: int | None, combine_fn: Callable[..., object], keep_dims: bool = False) -> tensor:
        """Reduces a tile along one axis with a combine function. `tl.sum`, `tl.max` and other reductions use it.

        - input: a tile, or a tuple of tiles of one shape, which are combined together.
        - axis: the axis to reduce. None reduces all elements.
        - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative and
          commutative, because the order is undefined.
        - keep_dims: True keeps the axis with the size 1.

        >>> @triton.jit
        ... def product(a, b):
        ...     return a * b
        >>> tl.reduce(tl.arange(1, 5), 0, product)
        24
        """
    def associative_scan(self, axis: int, combine_fn: Callable[..., object], reverse: bool = False) -> tensor:
        """Computes a scan along an axis with a combine function: element i of the result combines elements 0 to i.

        - input: a tile, or a tuple of tiles of one shape, which are combined together.
        - axis: the axis of the scan.
        - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative.
        - reverse: True starts at the end.

        >>> @triton.jit
        ... def larger(a, b):
        ...     return tl.maximum(a, b)
        >>> tl.associative_scan((tl.arange(0, 8) * 3) % 8, 0, larger)
        [0, 3, 6, 6, 6, 7, 7, 7]
        """
    def histogram(self, num_bins: int, mask: tensor | bool | None = None) -> tensor:
        """Counts how often each of the numbers 0 to num_bins - 1 occurs in a tile.

        - input: a tile of integers of one dimension.
        - num_bins: the number of bins, known at compile time, a power of two.
        - mask: int1 of the same shape. Elements with a false mask do not count.

        The result is a tile of num_bins int32. Elements outside of the range must be masked off.

        >>> tl.histogram(tl.arange(0, 8) // 3, 4)
        [3, 3, 2, 0]
        >>> tl.histogram(tl.arange(0, 8) // 3, 4, mask=tl.arange(0, 8) > 3)
        [0, 2, 2, 0]
        """
    def gather(self, index: tensor, axis: int) -> tensor:
        """Gathers elements of a tile along an axis by index. It reads a tile of the program; to gather from memory, use `tl.load` with a tile of pointers.

        - src: a tile.
        - index: a tile of integers. Its other dimensions are those of src. Each index must be within the axis.
        - axis: the axis of the indices.

        >>> tl.gather(tl.arange(0, 4) * 10, tl.flip(tl.arange(0, 4)), 0)
        [30, 20, 10, 0]
        """
    def logical_and(self, y: _TensorLike) -> tensor:
        """Returns whether both, or at least one, of two values are true, element by element. For scalars, `x and y` does the same. For tiles, use `&` and `|`
        with parentheses: `(x > 0) & (x < n)`.

        - x, y: tiles or scalars.

        >>> x = tl.arange(0, 4)
        >>> (x > 0).logical_and(x < 3)
        [False, True, True, False]
        """
    def logical_or(self, y: _TensorLike) -> tensor:
        """Returns whether both, or at least one, of two values are true, element by element. For scalars, `x and y` does the same. For tiles, use `&` and `|`
        with parentheses: `(x > 0) & (x < n)`.

        - x, y: tiles or scalars.

        >>> x = tl.arange(0, 4)
        >>> (x > 0).logical_and(x < 3)
        [False, True, True, False]
        """
    def cdiv(self, div: _IntLike) -> tensor:
        """Divides two integers and rounds up: the number of blocks that cover x elements.

        - x: an integer, not negative.
        - div: an integer, positive.

        In host code it is `triton.cdiv`.

        >>> tl.cdiv(tl.program_id(0) + 1000, 128)
        8
        """
    def sigmoid(self) -> tensor:
        """Computes 1 / (1 + exp(-x)).

        - x: a tile or a scalar of fp32 or fp64.

        >>> tl.sigmoid(tl.zeros((2,), tl.float32))
        [0.5, 0.5]
        """
    def softmax(self, dim: int | None = None, keep_dims: bool | None = None, ieee_rounding: bool = False) -> tensor:
        """Computes exp(x - max(x)) divided by its sum, along a dimension. The results are in [0, 1], and their sum is 1.

        - x: a tile of fp32 or fp64. Set padding elements to -inf.
        - dim: the dimension, or None for the first.
        - keep_dims: accepted for compatibility. The shape always stays.
        - ieee_rounding: True rounds the division as IEEE 754 requires, on GPUs too.

        >>> tl.softmax(tl.zeros((4,), tl.float32))
        [0.25, 0.25, 0.25, 0.25]
        >>> tl.sum(tl.softmax(tl.reshape(tl.arange(0, 8) * 1.0, (2, 4)), dim=1), axis=1)
        [1.0, 1.0]
        """
    def atomic_load(self, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
        """Loads elements atomically, ordered with the stores of other programs.

        - pointer: a pointer, or a tile of pointers, to integers or floats of 32 or 64 bits. The memory must be writable, because the hardware uses a read-modify-write operation.
        - mask: where it is false, nothing is loaded, and the result is undefined.
        - sem: "acquire", the default, makes the earlier stores of the program that stored the value visible. "relaxed" only loads.
        - scope: as for `tl.atomic_add`.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_load(i_ptr + 3)
        3
        """
    def atomic_store(self, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> None:
        """Stores elements atomically, ordered with the earlier stores of the program.

        - pointer: a pointer, or a tile of pointers, to integers or floats of 32 or 64 bits.
        - val: the new value. It is converted to the type of the elements.
        - mask: where it is false, nothing is stored.
        - sem: "release", the default, makes the earlier stores of the program visible to an acquire that loads the value. "relaxed" only stores.
        - scope: as for `tl.atomic_add`.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_store(i_ptr + 3, 7)
        >>> tl.load(i_ptr + 3)
        7
        """
    def atomic_poll(self, expected_value: _IntLike, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None, timeout_ns: int | None = None) -> tensor:
        """Waits until memory has an expected value. A program may wait for one with a lower number in the launch.

        - pointer: a pointer, or a tile of pointers, to integers. A tile waits for all its elements.
        - expected_value: the value to wait for.
        - sem: "acquire", the default, makes the earlier stores of the other program visible. "relaxed" only loads.
        - scope: as for `tl.atomic_add`.
        - timeout_ns: None, or the longest wait in nanoseconds of a GPU's clock. Memory is read at least once. On CPUs, a limit is an error.

        The result is true, or false after a timeout.

        >>> # i_ptr points at the int32 0, 1, ..., 63
        >>> tl.atomic_poll(i_ptr + 3, 3)
        True
        """
    def sum(self, axis: int | None = None, keep_dims: bool = False, dtype: _DType | None = None) -> tensor:
        """Sums the elements along an axis, or all elements.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None sums all elements.
        - keep_dims: True keeps the axis with the size 1, so that the result broadcasts against the input.
        - dtype: the type of the accumulation. The default is the input's type, or int32 or uint32 for integers below 32 bits.

        The accumulation of fp16 and bf16 is in their own type: convert to fp32 before a long sum.

        >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
        >>> tl.sum(x, axis=1)
        [6, 22]
        >>> tl.sum(x)
        28
        >>> tl.sum(x, axis=0, keep_dims=True)
        [[4, 6, 8, 10]]
        >>> tl.sum(x, axis=2)
        error: invalid axis 2 for 2 dimensions
        """
    @overload
    def max(self, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    @overload
    def max(self, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    @overload
    def max(self, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    @overload
    def min(self, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    @overload
    def min(self, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    @overload
    def min(self, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
        """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

        - input: a tile of integers or floats.
        - axis: the axis to reduce. None reduces all elements.
        - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
        - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
        - keep_dims: True keeps the axis with the size 1.

        NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

        >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
        >>> x
        [[0, 3, 6, 1], [4, 7, 2, 5]]
        >>> tl.max(x, axis=1)
        [6, 7]
        >>> value, index = tl.min(x, axis=1, return_indices=True)
        >>> index
        [0, 2]
        """
    def argmax(self, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Returns the index of the largest, or the smallest, element along an axis.

        - input: a tile of integers or floats.
        - axis: the axis to reduce.
        - tie_break_left: True returns the first index of equal elements. False allows any of them, which is cheaper.
        - keep_dims: True keeps the axis with the size 1.

        The result is int32. Any number wins over NaN.

        >>> tl.argmax((tl.arange(0, 8) * 3) % 8, axis=0)
        5
        >>> tl.argmin(tl.zeros((4,), tl.float32), axis=0)
        0
        """
    def argmin(self, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Returns the index of the largest, or the smallest, element along an axis.

        - input: a tile of integers or floats.
        - axis: the axis to reduce.
        - tie_break_left: True returns the first index of equal elements. False allows any of them, which is cheaper.
        - keep_dims: True keeps the axis with the size 1.

        The result is int32. Any number wins over NaN.

        >>> tl.argmax((tl.arange(0, 8) * 3) % 8, axis=0)
        5
        >>> tl.argmin(tl.zeros((4,), tl.float32), axis=0)
        0
        """
    def xor_sum(self, axis: int | None = None, keep_dims: bool = False) -> tensor:
        """Reduces the elements along an axis with exclusive or.

        - input: a tile of integers.
        - axis: the axis to reduce. None reduces all elements.
        - keep_dims: True keeps the axis with the size 1.

        >>> tl.xor_sum(tl.arange(0, 8) + 1, axis=0)
        8
        >>> tl.xor_sum(tl.zeros((4,), tl.float32))
        error: xor_sum takes integers
        """
    def reduce_or(self, axis: int | None = None, keep_dims: bool = False) -> tensor:
        """Reduces the elements along an axis with bitwise or. For conditions, it returns whether any is true.

        - input: a tile of integers or int1.
        - axis: the axis to reduce. None reduces all elements.
        - keep_dims: True keeps the axis with the size 1.

        >>> tl.reduce_or(tl.arange(0, 4) == 2, axis=0)
        True
        """
    def cumsum(self, axis: int = 0, reverse: bool = False, dtype: _DType | None = None) -> tensor:
        """Computes prefix sums along an axis: element i is the sum of elements 0 to i.

        - input: a tile of integers or floats. bf16 becomes fp32.
        - axis: the axis of the scan, 0 by default.
        - reverse: True sums from each element to the end.
        - dtype: the type of the accumulation. The default is the input's type, or int32 or uint32 for integers below 32 bits.

        >>> tl.cumsum(tl.arange(0, 4))
        [0, 1, 3, 6]
        >>> tl.cumsum(tl.arange(0, 4), reverse=True)
        [6, 6, 5, 3]
        """
    def cumprod(self, axis: int = 0, reverse: bool = False, dtype: _DType | None = None) -> tensor:
        """Computes prefix products along an axis: element i is the product of elements 0 to i.

        - input: a tile of integers or floats. bf16 becomes fp32.
        - axis: the axis of the scan, 0 by default.
        - reverse: True multiplies from each element to the end.
        - dtype: the type to which the elements are converted first.

        >>> tl.cumprod(tl.arange(1, 5))
        [1, 2, 6, 24]
        """
    def sort(self, dim: int | None = None, descending: bool = False) -> tensor:
        """Sorts the elements along the last dimension. No element is lost. NaN comes after all numbers, or first with descending=True.

        - x: a tile of integers or floats.
        - dim: the last dimension, or None for it. Other dimensions cannot be sorted.
        - descending: True starts with the largest.

        >>> tl.sort((tl.arange(0, 8) * 3) % 8)
        [0, 1, 2, 3, 4, 5, 6, 7]
        >>> tl.sort(tl.zeros((4, 4), tl.int32), dim=0)
        error: only the last dimension can be sorted
        """
    def flip(self, dim: int | None = None) -> tensor:
        """Reverses the elements along a dimension.

        - x: a tile.
        - dim: the dimension, or None for the last.

        >>> tl.flip(tl.arange(0, 4))
        [3, 2, 1, 0]
        """

class _Condition(tensor, Any):
    """The result of a comparison."""

def builtin(fn: Callable[..., _R]) -> Callable[..., _R]: ...
def extern(fn: Callable[..., _R]) -> Callable[..., _R]: ...
def is_builtin(fn: object) -> bool: ...
@overload
def must_use_result(x: _Function, s: bool | str = True) -> _Function: ...
@overload
def must_use_result(x: str, s: bool | str = True) -> Callable[[_Function], _Function]: ...
def get_int_dtype(bitwidth: int, signed: bool) -> dtype: ...
def str_to_ty(name: str, constant: object = None) -> base_type: ...
def type_named(text: str) -> dtype: ...
TRITON_MAX_TENSOR_NUMEL: int
TRITON_BUILTIN: str
CONSTEXPR_0: constexpr
pi32_t: pointer_type

bfloat16: dtype
float16: dtype
float32: dtype
float64: dtype
float8e4b15: dtype
float8e4b8: dtype
float8e4nv: dtype
float8e5: dtype
float8e5b16: dtype
int1: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
void: dtype

def program_id(axis: Literal[0, 1, 2]) -> tensor:
    """Returns the number of this program along one axis of the grid. All programs of a launch get the same arguments, and their order is undefined. This number
    selects the data of a program.

    - axis: 0, 1 or 2, known at compile time. If the grid does not have the axis, the number is 0.

    The result is an int32 scalar.

    >>> tl.program_id(0)
    0
    >>> tl.program_id(3)
    error: program_id axis must be 0, 1, or 2 but got 3
    """
def num_programs(axis: Literal[0, 1, 2]) -> tensor:
    """Returns the number of programs along one axis of the grid. A persistent kernel uses it as the stride of its loop over tiles:
    `for tile in range(tl.program_id(0), tiles, tl.num_programs(0))`.

    - axis: 0, 1 or 2, known at compile time.

    The result is an int32 scalar.

    >>> tl.num_programs(0)
    1
    """
def arange(start: int, end: int) -> tensor:
    """Creates a tile of one dimension with the integers from start to end - 1. Kernels compute offsets, masks and coordinates from it.

    - start, end: integers known at compile time. Their difference is a power of two, or any number in a kernel with `@triton.jit(any_size=True)`.

    The result has the type int32.

    >>> tl.arange(0, 4)
    [0, 1, 2, 3]
    >>> tl.arange(0, 4)[:, None] * 10 + tl.arange(0, 2)[None, :]
    [[0, 1], [10, 11], [20, 21], [30, 31]]
    >>> tl.arange(0, 6)
    error: arange's range must be a power of 2
    >>> tl.arange(4, 4)
    error: the end must be greater than the start
    """
def full(shape: int | Sequence[int], value: _TensorLike, dtype: _DType) -> tensor:
    """Creates a tile whose elements all have one value.

    - shape: a tuple of sizes known at compile time, each a power of two, or one such number.
    - value: a number, or a scalar of the running kernel.
    - dtype: the type of the elements. The value is converted to it.

    >>> tl.full((2, 2), 7, tl.float32)
    [[7.0, 7.0], [7.0, 7.0]]
    >>> tl.full((3,), 0, tl.int32)
    error: Shape element 0 must be a power of 2
    """
def zeros(shape: int | Sequence[int], dtype: _DType) -> tensor:
    """Creates a tile of zeros, for example an accumulator.

    - shape: a tuple of sizes known at compile time, each a power of two, or one such number.
    - dtype: the type of the elements.

    >>> tl.zeros((2, 2), tl.float32)
    [[0.0, 0.0], [0.0, 0.0]]
    """
def zeros_like(input: _TensorLike) -> tensor:
    """Creates a tile of zeros with the shape and the type of another tile.

    - input: the other tile. Its values are not used.

    >>> tl.zeros_like(tl.arange(0, 4))
    [0, 0, 0, 0]
    """
def cast(input: _TensorLike, dtype: _DType | str, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None, bitcast: bool = False) -> tensor:
    """Converts values to another type. `x.to(dtype)` is the same. A conversion of floats to integers truncates. A conversion to a narrower float rounds to
    nearest, ties to even. A conversion to a narrower integer drops the upper bits.

    - input: a tile or a scalar.
    - dtype: the new type. Pointers convert to int64 and back.
    - fp_downcast_rounding: the rounding for a narrower float: "rtne", to nearest even (the default), or "rtz", towards zero.
    - bitcast: True keeps the bits instead of the values. Both types must have the same width.

    >>> tl.cast(tl.arange(0, 4) * 0.6, tl.int32)
    [0, 0, 1, 1]
    >>> tl.full((1,), 1.0, tl.float32).to(tl.int32, bitcast=True)
    [1065353216]
    >>> tl.full((1,), 1.0, tl.float32).to(tl.int16, bitcast=True)
    error: cannot be read as int16
    """
def to_tensor(x: _TensorLike) -> tensor:
    """Converts a compile-time number to a run-time value, which has a type and methods. A run-time value stays as it is.

    - x: a number, a constexpr, a scalar or a tile. An integer becomes an int32, or an int64 if it needs 64 bits. A float becomes an fp32.

    >>> tl.to_tensor(3).to(tl.float32) / 2
    1.5
    """
def broadcast(input: _TensorLike, other: _TensorLike) -> builtins.tuple[tensor, tensor]:
    """Broadcasts two tiles to their common shape. Operators do this implicitly. Use it for functions that need two tiles of one shape.

    - input, other: tiles or scalars. Shapes are compared from their last dimensions. Two sizes must be equal, or one of them must be 1.

    The result is a tuple of two tiles.

    >>> a, b = tl.broadcast(tl.arange(0, 2)[:, None], tl.arange(0, 2)[None, :])
    >>> a
    [[0, 0], [1, 1]]
    >>> tl.broadcast(tl.arange(0, 2), tl.arange(0, 4))
    error: do not broadcast
    """
def broadcast_to(input: _TensorLike, *shape: int | Sequence[int]) -> tensor:
    """Repeats dimensions of size 1 up to a shape. A scalar becomes a tile of that shape.

    - input: a tile with as many dimensions as the shape, or a scalar.
    - shape: the sizes, as one tuple or as separate arguments.

    >>> tl.broadcast_to(tl.arange(0, 2)[:, None], (2, 4))
    [[0, 0, 0, 0], [1, 1, 1, 1]]
    """
def expand_dims(input: _TensorLike, axis: int | Sequence[int]) -> tensor:
    """Inserts dimensions of size 1. `x[:, None]` is the same and easier to read.

    - input: a tile or a scalar.
    - axis: the index of the new dimension in the result, or a tuple of indices. Negative indices count from the end.

    >>> tl.expand_dims(tl.arange(0, 2), 0)
    [[0, 1]]
    >>> tl.arange(0, 2)[:, None]
    [[0], [1]]
    """
def squeeze(x: _TensorLike, dim: int) -> tensor:
    """Removes a dimension of size 1.

    - x: a tile.
    - dim: the index of the dimension.

    >>> tl.squeeze(tl.arange(0, 2)[:, None], 1)
    [0, 1]
    """
def unsqueeze(x: _TensorLike, dim: int) -> tensor:
    """Inserts a dimension of size 1.

    - x: a tile.
    - dim: its index in the result.

    >>> tl.unsqueeze(tl.arange(0, 2), 1)
    [[0], [1]]
    """
def reshape(input: _TensorLike, *shape: int | Sequence[int], can_reorder: bool = False) -> tensor:
    """Returns the same elements, in row-major order, in another shape.

    - input: a tile.
    - shape: the sizes, as one tuple or as separate arguments. Their product is the number of elements.
    - can_reorder: True allows any order of the elements, which can be cheaper on a GPU.

    >>> tl.reshape(tl.arange(0, 4), (2, 2))
    [[0, 1], [2, 3]]
    >>> tl.reshape(tl.arange(0, 4), (2, 4))
    error: has 4 elements, but the new shape has 8
    """
def view(input: _TensorLike, *shape: int | Sequence[int]) -> tensor:
    """Returns the same elements in another shape, in any order, as `reshape` with can_reorder=True. If the order matters, use `reshape`.

    - input: a tile.
    - shape: the sizes, as one tuple or as separate arguments. Their product is the number of elements.

    >>> tl.sum(tl.view(tl.arange(0, 4), (2, 2)))
    6
    """
def ravel(x: _TensorLike, can_reorder: bool = False) -> tensor:
    """Returns all elements of a tile in one dimension, in row-major order.

    - x: a tile.
    - can_reorder: True allows any order of the elements.

    >>> tl.ravel(tl.arange(0, 4)[:, None] + tl.zeros((4, 2), tl.int32))
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
def trans(input: _TensorLike, *dims: int | Sequence[int]) -> tensor:
    """Permutes the dimensions. `x.T` swaps the last two. On a GPU, a transposed operand of `tl.dot` needs no copy.

    - input: a tile of at least two dimensions.
    - dims: the old indices of the new dimensions, as one tuple or as separate arguments. Without them, the last two are swapped.

    >>> tl.trans(tl.reshape(tl.arange(0, 4), (2, 2)))
    [[0, 2], [1, 3]]
    >>> tl.trans(tl.arange(0, 4))
    error: has fewer than two dimensions, so none can be swapped
    """
def permute(input: _TensorLike, *dims: int | Sequence[int]) -> tensor:
    """Permutes the dimensions.

    - input: a tile.
    - dims: the old indices of the new dimensions, as one tuple or as separate arguments.

    >>> tl.permute(tl.reshape(tl.arange(0, 4), (1, 2, 2)), (2, 1, 0))
    [[[0], [2]], [[1], [3]]]
    """
def cat(input: _TensorLike, other: _TensorLike, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Concatenates two tiles.

    - input, other: tiles of one type and shape.
    - can_reorder: accepted for compatibility with Triton. The elements always stay in order.
    - dim: the dimension of the concatenation.

    >>> tl.cat(tl.arange(0, 2), tl.arange(2, 4), can_reorder=True)
    [0, 1, 2, 3]
    """
def join(a: _TensorLike, b: _TensorLike) -> tensor:
    """Joins two tiles in a new last dimension of size 2. `tl.split` is the inverse.

    - a, b: tiles of one type. They are broadcast to a common shape.

    >>> tl.join(tl.arange(0, 2), tl.arange(2, 4))
    [[0, 2], [1, 3]]
    """
def split(a: _TensorLike) -> builtins.tuple[tensor, tensor]:
    """Splits a last dimension of size 2 into two tiles. After a `reshape`, it separates adjacent elements, such as real and imaginary parts.

    - a: a tile whose last dimension has the size 2.

    The result is a tuple of two tiles. For a tile of one dimension, it is a tuple of two scalars.

    >>> even, odd = tl.split(tl.reshape(tl.arange(0, 4), (2, 2)))
    >>> even
    [0, 2]
    >>> odd
    [1, 3]
    >>> tl.split(tl.arange(0, 4))
    error: tl.split takes a tile whose last dimension has size 2
    """
def item(input: _TensorLike) -> tensor:
    """Returns the only element of a tile as a scalar.

    - input: a tile with a single element.

    >>> tl.item(tl.full((1,), 5, tl.int32))
    5
    """
def where(condition: _TensorLike, x: _TensorLike, y: _TensorLike) -> tensor:
    """Selects elements from two tiles. Both are computed completely, so a load in one of them needs its own mask.

    - condition: a tile or a scalar of int1.
    - x, y: the values where it is true, and where it is false. All three are broadcast to a common shape; x and y are converted to a common type.

    >>> x = tl.arange(0, 4)
    >>> tl.where(x < 2, x, -1)
    [0, 1, -1, -1]
    """
def add(x: _TensorLike, y: _TensorLike, sanitize_overflow: bool = True) -> tensor:
    """Adds, subtracts or multiplies two values. The operators `+`, `-` and `*` are the same.

    - x, y: tiles, scalars or numbers. They are broadcast to a common shape and converted to a common type.
    - sanitize_overflow: False removes the overflow check of launches with debug=True.

    Integers wrap around on overflow.

    >>> tl.add(tl.arange(0, 4), 1)
    [1, 2, 3, 4]
    >>> tl.mul(tl.arange(0, 4), 0.5)
    [0.0, 0.5, 1.0, 1.5]
    """
def sub(x: _TensorLike, y: _TensorLike, sanitize_overflow: bool = True) -> tensor:
    """Adds, subtracts or multiplies two values. The operators `+`, `-` and `*` are the same.

    - x, y: tiles, scalars or numbers. They are broadcast to a common shape and converted to a common type.
    - sanitize_overflow: False removes the overflow check of launches with debug=True.

    Integers wrap around on overflow.

    >>> tl.add(tl.arange(0, 4), 1)
    [1, 2, 3, 4]
    >>> tl.mul(tl.arange(0, 4), 0.5)
    [0.0, 0.5, 1.0, 1.5]
    """
def mul(x: _TensorLike, y: _TensorLike, sanitize_overflow: bool = True) -> tensor:
    """Adds, subtracts or multiplies two values. The operators `+`, `-` and `*` are the same.

    - x, y: tiles, scalars or numbers. They are broadcast to a common shape and converted to a common type.
    - sanitize_overflow: False removes the overflow check of launches with debug=True.

    Integers wrap around on overflow.

    >>> tl.add(tl.arange(0, 4), 1)
    [1, 2, 3, 4]
    >>> tl.mul(tl.arange(0, 4), 0.5)
    [0.0, 0.5, 1.0, 1.5]
    """
def minimum(x: _TensorLike, y: _TensorLike, propagate_nan: _PropagateNan = _PropagateNan.NONE) -> tensor:
    """Returns the smaller or the larger of two values, element by element. `tl.min` and `tl.max` are different: they reduce one tile.

    - x, y: tiles, scalars or numbers of a common type.
    - propagate_nan: if one value is NaN, `tl.PropagateNan.NONE`, the default, returns the other value, and `tl.PropagateNan.ALL` returns NaN.

    >>> tl.minimum(tl.arange(0, 4), 2)
    [0, 1, 2, 2]
    >>> tl.maximum(tl.arange(0, 4) * 1.0, float("nan"))
    [0.0, 1.0, 2.0, 3.0]
    >>> tl.maximum(1.0, float("nan"), propagate_nan=tl.PropagateNan.ALL)
    nan
    """
def maximum(x: _TensorLike, y: _TensorLike, propagate_nan: _PropagateNan = _PropagateNan.NONE) -> tensor:
    """Returns the smaller or the larger of two values, element by element. `tl.min` and `tl.max` are different: they reduce one tile.

    - x, y: tiles, scalars or numbers of a common type.
    - propagate_nan: if one value is NaN, `tl.PropagateNan.NONE`, the default, returns the other value, and `tl.PropagateNan.ALL` returns NaN.

    >>> tl.minimum(tl.arange(0, 4), 2)
    [0, 1, 2, 2]
    >>> tl.maximum(tl.arange(0, 4) * 1.0, float("nan"))
    [0.0, 1.0, 2.0, 3.0]
    >>> tl.maximum(1.0, float("nan"), propagate_nan=tl.PropagateNan.ALL)
    nan
    """
def clamp(x: _TensorLike, min: _TensorLike, max: _TensorLike, propagate_nan: _PropagateNan = _PropagateNan.NONE) -> tensor:
    """Limits a value to the range from min to max.

    - x: a tile or a scalar. Integers need Triton 3.9 or later.
    - min, max: the bounds. If min is above max, the result is undefined.
    - propagate_nan: as for `tl.minimum`. With ALL, a NaN in x stays NaN.

    >>> tl.clamp(tl.arange(0, 4) * 1.0, 0.5, 2.5)
    [0.5, 1.0, 2.0, 2.5]
    >>> tl.clamp(tl.arange(0, 4), 1, 2)
    [1, 1, 2, 2]
    """
def abs(x: _TensorLike) -> tensor:
    """Returns the absolute value.

    - x: a tile or a scalar of integers or floats. The smallest value of a signed integer type stays negative.

    >>> tl.abs(tl.arange(0, 4) - 2)
    [2, 1, 0, 1]
    """
def fdiv(x: _TensorLike, y: _TensorLike, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """Divides floats. A GPU may use its faster, approximate instruction.

    - x, y: floats.
    - ieee_rounding: True rounds as IEEE 754 requires. CPUs always do.
    - approx: True allows an approximation. It excludes ieee_rounding.

    >>> tl.fdiv(1.0, 4.0)
    0.25
    """
def div_rn(x: _TensorLike, y: _TensorLike) -> tensor:
    """Divides fp32 values, rounded to nearest on every machine.

    - x, y: fp32.

    >>> tl.div_rn(1.0, 4.0)
    0.25
    """
def umulhi(x: _TensorLike, y: _TensorLike) -> tensor:
    """Returns the upper half of the product of two unsigned integers. Hashes and random number generators use it.

    - x, y: integers of 32 or 64 bits, interpreted as unsigned.

    >>> tl.umulhi(tl.full((1,), 1 << 31, tl.uint32), tl.full((1,), 6, tl.uint32))
    [3]
    """
def fma(x: _TensorLike, y: _TensorLike, z: _TensorLike) -> tensor:
    """Computes x * y + z with one rounding.

    - x, y, z: floats, broadcast to a common shape.

    >>> tl.fma(2.0, 3.0, 1.0)
    7.0
    """
def exp(x: _TensorLike) -> tensor:
    """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
    use `exp2`.

    - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def exp2(x: _TensorLike) -> tensor:
    """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
    use `exp2`.

    - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def log(x: _TensorLike) -> tensor:
    """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def log2(x: _TensorLike) -> tensor:
    """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def sin(x: _TensorLike) -> tensor:
    """Computes the sine or the cosine of an angle in radians.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def cos(x: _TensorLike) -> tensor:
    """Computes the sine or the cosine of an angle in radians.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def sqrt(x: _TensorLike) -> tensor:
    """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
    place. `tl.sqrt_rn` rounds to nearest.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def rsqrt(x: _TensorLike) -> tensor:
    """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
    place. `tl.sqrt_rn` rounds to nearest.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def sqrt_rn(x: _TensorLike) -> tensor:
    """Computes the square root of fp32 values, rounded to nearest on every machine.

    - x: a tile or a scalar of fp32.

    >>> tl.sqrt_rn(2.0)
    1.41421
    """
def erf(x: _TensorLike) -> tensor:
    """Computes the error function. The exact GELU uses it: `0.5 * x * (1 + tl.erf(x * 0.70710678))`.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.erf(tl.arange(0, 2) * 1.0)
    [0.0, 0.842701]
    """
def floor(x: _TensorLike) -> tensor:
    """Rounds down, or up, to an integral value, as a float.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def ceil(x: _TensorLike) -> tensor:
    """Rounds down, or up, to an integral value, as a float.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def extern_elementwise(lib_name: str, lib_path: str, args: Sequence[_TensorLike], arg_type_symbol_dict: Mapping[builtins.tuple[_DType, ...], builtins.tuple[str, _DType]], is_pure: bool) -> tensor:
    """Applies a function of a device library to each element. Kernels usually call `tl.extra.libdevice`, which uses it.

    - lib_name, lib_path: name and file of the library. The functions of libdevice are built in, so the file is ignored.
    - args: tiles or scalars.
    - arg_type_symbol_dict: {(types of the arguments): (name of the function, type of its result)}.
    - is_pure: True if it has no side effects.

    >>> tl.extra.libdevice.tanh(tl.zeros((2,), tl.float32))
    [0.0, 0.0]
    """
@overload
def inline_asm_elementwise(asm: str, constraints: str, args: Sequence[_TensorLike], dtype: _DType, is_pure: bool, pack: int) -> tensor:
    """Applies assembly of the target to each element: PTX on GPUs, x86 in AT&T syntax or AArch64 on CPUs. A kernel for both tests
    `tl.target_info.is_cuda()`. The interpreter and the simulator cannot run assembly.

    - asm: the text. `$0` is the first result.
    - constraints: LLVM's constraints, results first: "=r,r,r".
    - args: tiles, broadcast to a common shape.
    - dtype: the result's type, or a tuple of them.
    - is_pure: True if it has no side effects.
    - pack: the number of adjacent elements per piece of assembly.

    >>> x = tl.arange(0, 4)
    >>> if tl.target_info.is_cuda():
    ...     y = tl.inline_asm_elementwise("add.s32 $0, $1, $1;", "=r,r", [x], tl.int32, True, 1)
    ... else:
    ...     y = x + x
    >>> y
    [0, 2, 4, 6]
    """
@overload
def inline_asm_elementwise(asm: str, constraints: str, args: Sequence[_TensorLike], dtype: Sequence[_DType], is_pure: bool, pack: int) -> builtins.tuple[tensor, ...]:
    """Applies assembly of the target to each element: PTX on GPUs, x86 in AT&T syntax or AArch64 on CPUs. A kernel for both tests
    `tl.target_info.is_cuda()`. The interpreter and the simulator cannot run assembly.

    - asm: the text. `$0` is the first result.
    - constraints: LLVM's constraints, results first: "=r,r,r".
    - args: tiles, broadcast to a common shape.
    - dtype: the result's type, or a tuple of them.
    - is_pure: True if it has no side effects.
    - pack: the number of adjacent elements per piece of assembly.

    >>> x = tl.arange(0, 4)
    >>> if tl.target_info.is_cuda():
    ...     y = tl.inline_asm_elementwise("add.s32 $0, $1, $1;", "=r,r", [x], tl.int32, True, 1)
    ... else:
    ...     y = x + x
    >>> y
    [0, 2, 4, 6]
    """
def load(pointer: tensor, mask: tensor | bool | None = None, other: _TensorLike | None = None, boundary_check: int | Sequence[int] = (), padding_option: Literal['', 'zero', 'nan'] = '', cache_modifier: Literal['', '.ca', '.cg', '.cs', '.cv'] | None = '', eviction_policy: Literal['', 'evict_first', 'evict_last', 'evict_normal'] | None = '', volatile: bool = False) -> tensor:
    """Loads the elements at pointers. The compiler derives the width of the accesses from the arithmetic of the pointers.

    - pointer: a scalar pointer, a tile of pointers (a pointer plus offsets), or a block pointer of `tl.make_block_ptr`.
    - mask: int1, broadcast to the pointer's shape. Where it is false, nothing is loaded. Mask every element that may be outside of the tensor.
    - other: the value of elements where the mask is false. Without it, they are undefined, and a kernel must not use them.
    - boundary_check: for a block pointer: the dimensions in which the block may exceed the tensor.
    - padding_option: for a block pointer: "zero" or "nan", the value outside of the tensor.
    - cache_modifier: a hint for GPUs: ".ca", ".cg", ".cs" or ".cv".
    - eviction_policy: a hint for GPUs: "evict_first" or "evict_last".
    - volatile: True reads memory each time: the load is never merged, moved or removed. A loop that waits for a store of another program, or of the host,
      needs it, or an atomic operation. Loads after the loop are executed after it.

    The result has the shape of the pointer and its element type. A bool in memory is a byte, and becomes int1.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> tl.load(x_ptr + tl.arange(0, 4))
    [0.0, 1.0, 2.0, 3.0]
    >>> offs = tl.arange(0, 4)
    >>> tl.load(x_ptr + offs, mask=offs < 2, other=-1.0)
    [0.0, 1.0, -1.0, -1.0]
    >>> tl.load(x_ptr + offs, other=0.0)
    error: 'other' is given without a mask
    >>> tl.load(x_ptr + offs, mask=offs)
    error: a mask must be of type int1
    """
def store(pointer: tensor, value: _TensorLike, mask: tensor | bool | None = None, boundary_check: int | Sequence[int] = (), cache_modifier: Literal['', '.wb', '.cg', '.cs', '.wt'] | None = '', eviction_policy: Literal['', 'evict_first', 'evict_last', 'evict_normal'] | None = '') -> None:
    """Stores elements at pointers.

    - pointer: a scalar pointer, a tile of pointers, or a block pointer.
    - value: the values. They are broadcast to the shape of the pointer and converted to its element type.
    - mask: int1, broadcast to the pointer's shape. Where it is false, nothing is stored.
    - boundary_check: for a block pointer: the dimensions in which the block may exceed the tensor. Nothing is stored there.
    - cache_modifier: a hint for GPUs: ".wb", ".cg", ".cs" or ".wt".
    - eviction_policy: a hint for GPUs: "evict_first" or "evict_last".

    Within a program, later loads see the stored values. Between programs, only atomic operations define an order.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> offs = tl.arange(0, 4)
    >>> tl.store(x_ptr + offs, offs * offs, mask=offs > 1)
    >>> tl.load(x_ptr + offs)
    [0.0, 1.0, 4.0, 9.0]
    >>> tl.store(offs, 1.0)
    error: tl.store needs a pointer
    """
def make_block_ptr(base: tensor, shape: Sequence[_IntLike], strides: Sequence[_IntLike], offsets: Sequence[_IntLike], block_shape: Sequence[int], order: Sequence[int]) -> tensor:
    """Creates a pointer to a block of a strided tensor. It keeps the extents and strides of the tensor, so `boundary_check` replaces masks. In new kernels, use
    `tl.make_tensor_descriptor`, which does the same and maps to TMA. Triton removed block pointers in 3.9; Tilewright keeps them.

    - base: a pointer to the tensor's first element.
    - shape: its extents.
    - strides: its strides in elements.
    - offsets: the start of the block in elements, int32.
    - block_shape: the block's extents, known at compile time, each a power of two.
    - order: the dimensions from the fastest to the slowest in memory: (1, 0) for row-major.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> block = tl.make_block_ptr(x_ptr, (3, 8), (8, 1), (0, 0), (4, 2), (1, 0))
    >>> tl.load(block, boundary_check=(0,), padding_option="zero")
    [[0.0, 1.0], [8.0, 9.0], [16.0, 17.0], [0.0, 0.0]]
    """
def advance(base: tensor, offsets: Sequence[_IntLike]) -> tensor:
    """Returns a moved block pointer. The argument does not change, so use the result: `block = tl.advance(block, (0, BLOCK_K))`.

    - base: a block pointer.
    - offsets: the number of elements along each dimension.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> block = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 0), (2, 2), (1, 0))
    >>> tl.load(tl.advance(block, (1, 2)))
    [[10.0, 11.0], [18.0, 19.0]]
    """
def make_tensor_descriptor(base: tensor, shape: Sequence[_IntLike], strides: Sequence[_IntLike], block_shape: Sequence[int], padding_option: Literal['', 'zero', 'nan'] = 'zero') -> tensor_descriptor:
    """Creates a descriptor: a tensor in memory together with the shape of the blocks to access. Its `load` and `store` check the bounds of the tensor. On
    Hopper and later GPUs, they are copies by the tensor memory accelerator (TMA).

    - base: a pointer to the tensor's first element.
    - shape: its extents, one to five of them.
    - strides: its strides in elements. The last one is the constant 1.
    - block_shape: the block's extents, known at compile time. The last dimension has at least 16 bytes.
    - padding_option: "zero", the default, or "nan": the value of a load outside of the tensor.

    A kernel on a GPU allocates the scratch memory for descriptors itself. `triton.set_allocator` is accepted and never called.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> desc = tl.make_tensor_descriptor(x_ptr, [3, 8], [8, 1], [4, 4])
    >>> desc.load([0, 4])
    [[4.0, 5.0, 6.0, 7.0], [12.0, 13.0, 14.0, 15.0], [20.0, 21.0, 22.0, 23.0], [0.0, 0.0, 0.0, 0.0]]
    >>> tl.make_tensor_descriptor(x_ptr, [3, 8], [8, 1], [4, 2])
    error: must have at least 16 bytes in the last dimension
    """
def load_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[_IntLike]) -> tensor:
    """Loads the block of a descriptor at element offsets. `desc.load(offsets)` is the same.

    - desc: a tensor descriptor.
    - offsets: one int32 for each dimension. Elements outside of the tensor are zero, or NaN if the descriptor has padding_option="nan".

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> desc = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [1, 4])
    >>> tl.load_tensor_descriptor(desc, [1, 0])
    [[8.0, 9.0, 10.0, 11.0]]
    """
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[_IntLike], value: tensor) -> None:
    """Stores a block. `desc.store(offsets, value)` is the same. Elements outside of the tensor are skipped.

    - desc: a tensor descriptor.
    - offsets: one int32 for each dimension.
    - value: a tile of the descriptor's block shape.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> desc = tl.make_tensor_descriptor(x_ptr, [1, 8], [8, 1], [1, 4])
    >>> tl.store_tensor_descriptor(desc, [0, 0], tl.zeros((1, 4), tl.float32))
    >>> tl.load(x_ptr + tl.arange(0, 8))
    [0.0, 0.0, 0.0, 0.0, 4.0, 5.0, 6.0, 7.0]
    """
def atomic_add(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Adds to memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp16, bf16, fp32 or fp64.
    - val: the value to add. It is broadcast to the shape of the pointer and converted.
    - mask: int1. Where it is false, nothing happens, and the result is undefined.
    - sem: "acq_rel" (the default), "acquire", "release" or "relaxed": the memory order.
    - scope: "gpu" (the default), "cta" for the threads of one program, "sys" for all devices. On CPUs, all are the same.

    The result is the old value. The order of the programs is undefined, so sums of floats can differ by rounding from run to run.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> tl.atomic_add(x_ptr + tl.arange(0, 4), 10.0)
    [0.0, 1.0, 2.0, 3.0]
    >>> tl.load(x_ptr + tl.arange(0, 4))
    [10.0, 11.0, 12.0, 13.0]
    """
def atomic_max(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Stores the larger, or the smaller, of a value and memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp32 or fp64.
    - val: the value to compare with, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_max(i_ptr + tl.arange(0, 4), 2)
    [0, 1, 2, 3]
    >>> tl.load(i_ptr + tl.arange(0, 4))
    [2, 2, 2, 3]
    """
def atomic_min(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Stores the larger, or the smaller, of a value and memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits, or to fp32 or fp64.
    - val: the value to compare with, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_max(i_ptr + tl.arange(0, 4), 2)
    [0, 1, 2, 3]
    >>> tl.load(i_ptr + tl.arange(0, 4))
    [2, 2, 2, 3]
    """
def atomic_and(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Combines the bits of a value with those in memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
    - val: the bits, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
    [0, 1]
    >>> tl.load(i_ptr + tl.arange(0, 2))
    [3, 2]
    >>> tl.atomic_or(x_ptr, 1.0)
    error: tl.atomic_or does not support
    """
def atomic_or(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Combines the bits of a value with those in memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
    - val: the bits, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
    [0, 1]
    >>> tl.load(i_ptr + tl.arange(0, 2))
    [3, 2]
    >>> tl.atomic_or(x_ptr, 1.0)
    error: tl.atomic_or does not support
    """
def atomic_xor(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Combines the bits of a value with those in memory, each element atomically.

    - pointer: a scalar pointer or a tile of pointers to integers of 32 or 64 bits.
    - val: the bits, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value.

    >>> # x_ptr points at the float32 0, 1, ..., 63
    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_xor(i_ptr + tl.arange(0, 2), 3)
    [0, 1]
    >>> tl.load(i_ptr + tl.arange(0, 2))
    [3, 2]
    >>> tl.atomic_or(x_ptr, 1.0)
    error: tl.atomic_or does not support
    """
def atomic_xchg(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Exchanges a value with memory, atomically, and returns the old value.

    - pointer: a scalar pointer or a tile of pointers to types of 32 or 64 bits.
    - val: the new value, broadcast and converted.
    - mask: int1. Where it is false, nothing happens.
    - sem, scope: as for `tl.atomic_add`.

    To release a lock: `tl.atomic_xchg(lock, 0, sem="release")`.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_xchg(i_ptr + 5, 9)
    5
    >>> tl.load(i_ptr + 5)
    9
    """
def atomic_cas(pointer: tensor, cmp: _TensorLike, val: _TensorLike, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Stores a value where memory has an expected value, atomically (compare and swap). To take a lock: `while tl.atomic_cas(lock, 0, 1) == 1: pass`.

    - pointer: a scalar pointer or a tile of pointers to types of 16, 32 or 64 bits.
    - cmp: the expected value.
    - val: the new value where memory equals it.
    - sem, scope: as for `tl.atomic_add`.

    The result is the old value: it equals cmp where val was stored.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_cas(i_ptr + 5, 5, 1)
    5
    >>> tl.atomic_cas(i_ptr + 5, 5, 2)
    1
    """
def dot(input: tensor, other: tensor, acc: tensor | None = None, input_precision: Literal['tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6'] | None = None, allow_tf32: _TensorLike | None = None, max_num_imprecise_acc: int | None = None, out_dtype: _DType | None = None) -> tensor:
    """Multiplies two matrices and adds an accumulator (matmul). On GPUs, it uses tensor cores (MMA instructions). On CPUs, it uses a register-blocked
    micro-kernel, for all block sizes.

    - input: a tile of M x K, with optional batch dimensions before M.
    - other: a tile of K x N, with the same batch dimensions.
    - acc: a tile of M x N, the accumulator. A loop over K uses `acc = tl.dot(a, b, acc)`.
    - input_precision: for fp32 operands: "tf32" (the default on GPUs), "tf32x3", "ieee", "bf16x3" or "bf16x6". CPUs always multiply in fp32.
    - allow_tf32: an older name: False means "ieee". A run-time value counts as True.
    - max_num_imprecise_acc: for fp8 on Hopper: the promotion interval, that is how many products a tensor core accumulates before an fp32 addition.
    - out_dtype: the result's type: tl.float32, the default, or tl.float16 for operands of fp16 and fp8.

    Both operands have one type: fp8, fp16, bf16, fp32, fp64 or int8. The result is fp32, fp64 for fp64 and int32 for int8.

    >>> a = tl.reshape(tl.arange(0, 256), (16, 16)).to(tl.float32)
    >>> tl.sum(tl.dot(a, tl.full((16, 16), 1.0, tl.float32)))
    522240.0
    >>> tl.dot(a, tl.zeros((32, 16), tl.float32))
    error: inner sizes or batches differ
    >>> tl.dot(a, tl.zeros((16, 16), tl.float16))
    error: both operands must have the same type
    """
def dot_scaled(lhs: tensor, lhs_scale: tensor | None, lhs_format: _ScaledFormat, rhs: tensor, rhs_scale: tensor | None, rhs_format: _ScaledFormat, acc: tensor | None = None, fast_math: bool = False, lhs_k_pack: bool = True, rhs_k_pack: bool = True, out_dtype: _DType | None = None) -> tensor:
    """Multiplies two matrices in microscaling formats: 32 adjacent elements along K share one scale (16 for e4m3 scales, as in nvfp4).

    - lhs: a tile of M x K. For e2m1, each byte has two numbers, so it is M x K/2 of uint8.
    - lhs_scale: a tile of M x K/32 of uint8, whose bytes are powers of two (e8m0), or of fp8e4nv. None means no scale.
    - lhs_format: "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "bf16" or "fp16". e2m3 and e3m2 are the low 6 bits of uint8.
    - rhs: a tile of K x N.
    - rhs_scale: a tile of N x K/32: the scales of the right operand are transposed.
    - rhs_format: as lhs_format.
    - acc: a tile of M x N of fp32, the accumulator.
    - fast_math: True ignores NaN scales.
    - lhs_k_pack, rhs_k_pack: False: the two numbers of an e2m1 byte are adjacent along M, or N, instead of K.
    - out_dtype: tl.float32, the default.

    The multiplication uses bf16 or fp16, which represent all of these formats.

    >>> ones = tl.full((32, 32), 1.0, tl.bfloat16)
    >>> twos = tl.full((32, 1), 128, tl.uint8)
    >>> tl.sum(tl.dot_scaled(ones, twos, "bf16", ones, None, "bf16"))
    65536.0
    """
@overload
def reduce(input: _TensorLike, axis: int | None, combine_fn: Callable[..., object], keep_dims: bool = False) -> tensor:
    """Reduces a tile along one axis with a combine function. `tl.sum`, `tl.max` and other reductions use it.

    - input: a tile, or a tuple of tiles of one shape, which are combined together.
    - axis: the axis to reduce. None reduces all elements.
    - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative and
      commutative, because the order is undefined.
    - keep_dims: True keeps the axis with the size 1.

    >>> @triton.jit
    ... def product(a, b):
    ...     return a * b
    >>> tl.reduce(tl.arange(1, 5), 0, product)
    24
    """
@overload
def reduce(input: Sequence[_TensorLike], axis: int | None, combine_fn: Callable[..., object], keep_dims: bool = False) -> builtins.tuple[tensor, ...]:
    """Reduces a tile along one axis with a combine function. `tl.sum`, `tl.max` and other reductions use it.

    - input: a tile, or a tuple of tiles of one shape, which are combined together.
    - axis: the axis to reduce. None reduces all elements.
    - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative and
      commutative, because the order is undefined.
    - keep_dims: True keeps the axis with the size 1.

    >>> @triton.jit
    ... def product(a, b):
    ...     return a * b
    >>> tl.reduce(tl.arange(1, 5), 0, product)
    24
    """
@overload
def associative_scan(input: _TensorLike, axis: int, combine_fn: Callable[..., object], reverse: bool = False) -> tensor:
    """Computes a scan along an axis with a combine function: element i of the result combines elements 0 to i.

    - input: a tile, or a tuple of tiles of one shape, which are combined together.
    - axis: the axis of the scan.
    - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative.
    - reverse: True starts at the end.

    >>> @triton.jit
    ... def larger(a, b):
    ...     return tl.maximum(a, b)
    >>> tl.associative_scan((tl.arange(0, 8) * 3) % 8, 0, larger)
    [0, 3, 6, 6, 6, 7, 7, 7]
    """
@overload
def associative_scan(input: Sequence[_TensorLike], axis: int, combine_fn: Callable[..., object], reverse: bool = False) -> builtins.tuple[tensor, ...]:
    """Computes a scan along an axis with a combine function: element i of the result combines elements 0 to i.

    - input: a tile, or a tuple of tiles of one shape, which are combined together.
    - axis: the axis of the scan.
    - combine_fn: a `@triton.jit` function of two values that returns one. For n tiles, it has 2 n parameters and returns n values. It must be associative.
    - reverse: True starts at the end.

    >>> @triton.jit
    ... def larger(a, b):
    ...     return tl.maximum(a, b)
    >>> tl.associative_scan((tl.arange(0, 8) * 3) % 8, 0, larger)
    [0, 3, 6, 6, 6, 7, 7, 7]
    """
def histogram(input: tensor, num_bins: int, mask: tensor | bool | None = None) -> tensor:
    """Counts how often each of the numbers 0 to num_bins - 1 occurs in a tile.

    - input: a tile of integers of one dimension.
    - num_bins: the number of bins, known at compile time, a power of two.
    - mask: int1 of the same shape. Elements with a false mask do not count.

    The result is a tile of num_bins int32. Elements outside of the range must be masked off.

    >>> tl.histogram(tl.arange(0, 8) // 3, 4)
    [3, 3, 2, 0]
    >>> tl.histogram(tl.arange(0, 8) // 3, 4, mask=tl.arange(0, 8) > 3)
    [0, 2, 2, 0]
    """
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """Gathers elements of a tile along an axis by index. It reads a tile of the program; to gather from memory, use `tl.load` with a tile of pointers.

    - src: a tile.
    - index: a tile of integers. Its other dimensions are those of src. Each index must be within the axis.
    - axis: the axis of the indices.

    >>> tl.gather(tl.arange(0, 4) * 10, tl.flip(tl.arange(0, 4)), 0)
    [30, 20, 10, 0]
    """
def map_elementwise(scalar_fn: Callable[..., _R], *args: _TensorLike, pack: int = 1) -> _R:
    """Applies a scalar function to each element. The function may have branches and loops, and each element executes only its own branch.

    - scalar_fn: a `@triton.jit` function of scalars that returns scalars.
    - args: tiles, broadcast to a common shape.
    - pack: the number of adjacent elements per call. The function has pack parameters for each tile and returns pack values for each result.

    >>> @triton.jit
    ... def collatz(n):
    ...     steps = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         steps += 1
    ...     return steps
    >>> tl.map_elementwise(collatz, tl.arange(1, 9))
    [0, 1, 7, 2, 5, 8, 16, 3]
    """
def multiple_of(input: _TensorLike, values: int | Sequence[int]) -> tensor:
    """Promises that the first of each group of elements is a multiple of a number. On CPUs, the compiler ignores it and uses only the arithmetic. On GPUs, a
    false promise gives wrong results.

    - input: a tile or a scalar of integers or pointers.
    - values: a number, or one per dimension, known at compile time.

    >>> tl.multiple_of(tl.arange(0, 4), 4)
    [0, 1, 2, 3]
    """
def max_contiguous(input: _TensorLike, values: int | Sequence[int]) -> tensor:
    """Promises that this many adjacent elements are consecutive numbers.

    - input: a tile of integers or pointers.
    - values: a number, or one per dimension, known at compile time.

    >>> tl.max_contiguous(tl.arange(0, 4), 4)
    [0, 1, 2, 3]
    """
def max_constancy(input: _TensorLike, values: int | Sequence[int]) -> tensor:
    """Promises that this many adjacent elements are equal.

    - input: a tile.
    - values: a number, or one per dimension, known at compile time.

    >>> tl.max_constancy(tl.zeros((4,), tl.int32), 4)
    [0, 0, 0, 0]
    """
def assume(cond: _TensorLike) -> None:
    """Promises that a condition holds, so that the compiler may use it. If it does not hold, the result is undefined.

    - cond: a scalar of int1.

    >>> tl.assume(tl.num_programs(0) > 0)
    >>> tl.num_programs(0)
    1
    """
def expect_zero(x: _TensorLike, mask: tensor | bool) -> tensor:
    """Returns its argument. In a launch with debug=True, the program ends with an error if the mask is true and the value is not zero.

    - x: a tile.
    - mask: int1: the elements that must be zero.

    >>> tl.expect_zero(tl.arange(0, 4), tl.arange(0, 4) < 1)
    [0, 1, 2, 3]
    """
def debug_barrier() -> None:
    """A barrier for all threads of the program (CTA barrier). Operations on tiles do not need it. Kernels with inline assembly may need it.

    >>> tl.debug_barrier()
    >>> tl.arange(0, 2)
    [0, 1]
    """
def static_print(*values: object, sep: str = ' ', end: str | None = None, file: object | None = None, flush: bool = False) -> None:
    """Prints at compile time, once per compiled version of the kernel: compile-time values, and the types and shapes of run-time values.

    - values: the values to print.
    - sep, end, file, flush: as for Python's print. file and flush have no effect.

    >>> tl.static_print("elements:", tl.arange(0, 4).shape)
    >>> tl.arange(0, 2)
    [0, 1]
    """
def static_assert(cond: _TensorLike, msg: str = '') -> None:
    """Stops the compilation if a condition is false, for example a condition on sizes and types.

    - cond: a compile-time condition.
    - msg: the message.

    >>> x = tl.arange(0, 4)
    >>> tl.static_assert(x.dtype == tl.int32)
    >>> tl.static_assert(x.shape[0] == 8, "needs eight elements")
    error: static assertion failed: needs eight elements
    """
def device_print(prefix: str, *args: _TensorLike, hex: bool = False) -> None:
    """Prints each element at run time, with the program's number and the element's index.

    - prefix: a string, printed first.
    - args: tiles and scalars.
    - hex: True prints hexadecimal numbers.

    All programs print. To print one program, use `if tl.program_id(0) == 0:`.

    >>> tl.device_print("pid", tl.program_id(0))
    >>> tl.arange(0, 2)
    [0, 1]
    """
def device_assert(cond: _TensorLike, msg: str = '', mask: tensor | bool | None = None) -> None:
    """Ends the program if a condition is false, and reports the element and the program. It is compiled only with debug=True at the launch, with
    TRITON_DEBUG=1, or with `--debug` of the command.

    - cond: int1, a tile or a scalar.
    - msg: the message.
    - mask: int1. Elements with a false mask are not checked.

    >>> x = tl.arange(0, 4)
    >>> tl.device_assert(x >= 0, "offsets are not negative")
    >>> x
    [0, 1, 2, 3]
    """
def aggregate_replace(instance: _Aggregate, **fields: object) -> _Aggregate:
    """Returns a copy of an aggregate (`@triton.aggregate`) with other values for some fields.

    - instance: the aggregate.
    - fields: the new values, by name.
    """
@overload
def cdiv(x: int, div: int) -> int:
    """Divides two integers and rounds up: the number of blocks that cover x elements.

    - x: an integer, not negative.
    - div: an integer, positive.

    In host code it is `triton.cdiv`.

    >>> tl.cdiv(tl.program_id(0) + 1000, 128)
    8
    """
@overload
def cdiv(x: tensor, div: _IntLike) -> tensor:
    """Divides two integers and rounds up: the number of blocks that cover x elements.

    - x: an integer, not negative.
    - div: an integer, positive.

    In host code it is `triton.cdiv`.

    >>> tl.cdiv(tl.program_id(0) + 1000, 128)
    8
    """
@overload
def cdiv(x: int, div: tensor) -> tensor:
    """Divides two integers and rounds up: the number of blocks that cover x elements.

    - x: an integer, not negative.
    - div: an integer, positive.

    In host code it is `triton.cdiv`.

    >>> tl.cdiv(tl.program_id(0) + 1000, 128)
    8
    """
def sigmoid(x: _TensorLike) -> tensor:
    """Computes 1 / (1 + exp(-x)).

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sigmoid(tl.zeros((2,), tl.float32))
    [0.5, 0.5]
    """
def softmax(x: _TensorLike, dim: int | None = None, keep_dims: bool | None = None, ieee_rounding: bool = False) -> tensor:
    """Computes exp(x - max(x)) divided by its sum, along a dimension. The results are in [0, 1], and their sum is 1.

    - x: a tile of fp32 or fp64. Set padding elements to -inf.
    - dim: the dimension, or None for the first.
    - keep_dims: accepted for compatibility. The shape always stays.
    - ieee_rounding: True rounds the division as IEEE 754 requires, on GPUs too.

    >>> tl.softmax(tl.zeros((4,), tl.float32))
    [0.25, 0.25, 0.25, 0.25]
    >>> tl.sum(tl.softmax(tl.reshape(tl.arange(0, 8) * 1.0, (2, 4)), dim=1), axis=1)
    [1.0, 1.0]
    """
def swizzle2d(i: _IntLike, j: _IntLike, size_i: _IntLike, size_j: _IntLike, size_g: _IntLike) -> builtins.tuple[tensor, tensor]:
    """Reorders the programs of a grid for the L2 cache: the index (i, j) in row-major order becomes the index in an order by groups of size_g rows. Then
    concurrent programs share operands of a matmul in the L2 cache.

    - i, j: the row and the column of this program's tile.
    - size_i, size_j: the number of rows and columns of tiles.
    - size_g: the number of rows in a group.

    The result is a tuple (i, j).

    >>> i, j = tl.swizzle2d(0, 1, 4, 4, 2)
    >>> i
    1
    >>> j
    0
    """
def atomic_load(pointer: tensor, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> tensor:
    """Loads elements atomically, ordered with the stores of other programs.

    - pointer: a pointer, or a tile of pointers, to integers or floats of 32 or 64 bits. The memory must be writable, because the hardware uses a read-modify-write operation.
    - mask: where it is false, nothing is loaded, and the result is undefined.
    - sem: "acquire", the default, makes the earlier stores of the program that stored the value visible. "relaxed" only loads.
    - scope: as for `tl.atomic_add`.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_load(i_ptr + 3)
    3
    """
def atomic_store(pointer: tensor, val: _TensorLike, mask: tensor | bool | None = None, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None) -> None:
    """Stores elements atomically, ordered with the earlier stores of the program.

    - pointer: a pointer, or a tile of pointers, to integers or floats of 32 or 64 bits.
    - val: the new value. It is converted to the type of the elements.
    - mask: where it is false, nothing is stored.
    - sem: "release", the default, makes the earlier stores of the program visible to an acquire that loads the value. "relaxed" only stores.
    - scope: as for `tl.atomic_add`.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_store(i_ptr + 3, 7)
    >>> tl.load(i_ptr + 3)
    7
    """
def atomic_poll(pointer: tensor, expected_value: _IntLike, sem: Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None = None, scope: Literal['gpu', 'cta', 'sys'] | None = None, timeout_ns: int | None = None) -> tensor:
    """Waits until memory has an expected value. A program may wait for one with a lower number in the launch.

    - pointer: a pointer, or a tile of pointers, to integers. A tile waits for all its elements.
    - expected_value: the value to wait for.
    - sem: "acquire", the default, makes the earlier stores of the other program visible. "relaxed" only loads.
    - scope: as for `tl.atomic_add`.
    - timeout_ns: None, or the longest wait in nanoseconds of a GPU's clock. Memory is read at least once. On CPUs, a limit is an error.

    The result is true, or false after a timeout.

    >>> # i_ptr points at the int32 0, 1, ..., 63
    >>> tl.atomic_poll(i_ptr + 3, 3)
    True
    """
def interleave(a: _TensorLike, b: _TensorLike) -> tensor:
    """Interleaves the elements of two tiles along the last dimension.

    - a, b: tiles of one type and shape.

    >>> tl.interleave(tl.arange(0, 2), tl.arange(2, 4))
    [0, 2, 1, 3]
    """
def sum(input: _TensorLike, axis: int | None = None, keep_dims: bool = False, dtype: _DType | None = None) -> tensor:
    """Sums the elements along an axis, or all elements.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None sums all elements.
    - keep_dims: True keeps the axis with the size 1, so that the result broadcasts against the input.
    - dtype: the type of the accumulation. The default is the input's type, or int32 or uint32 for integers below 32 bits.

    The accumulation of fp16 and bf16 is in their own type: convert to fp32 before a long sum.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.sum(x, axis=1)
    [6, 22]
    >>> tl.sum(x)
    28
    >>> tl.sum(x, axis=0, keep_dims=True)
    [[4, 6, 8, 10]]
    >>> tl.sum(x, axis=2)
    error: invalid axis 2 for 2 dimensions
    """
@overload
def max(input: _TensorLike, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
@overload
def max(input: _TensorLike, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
@overload
def max(input: _TensorLike, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
@overload
def min(input: _TensorLike, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
@overload
def min(input: _TensorLike, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
@overload
def min(input: _TensorLike, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[tensor, tensor]:
    """Returns the largest, or the smallest, element along an axis, or of all elements. `tl.maximum` and `tl.minimum` are different: they compare two tiles.

    - input: a tile of integers or floats.
    - axis: the axis to reduce. None reduces all elements.
    - return_indices: True returns a tuple: the elements, and their indices along the axis as int32.
    - return_indices_tie_break_left: True returns the first index of equal elements. False allows any of them.
    - keep_dims: True keeps the axis with the size 1.

    NaN is ignored if there is a number. bf16 becomes fp32, and integers below 32 bits become int32.

    >>> x = tl.reshape((tl.arange(0, 8) * 3) % 8, (2, 4))
    >>> x
    [[0, 3, 6, 1], [4, 7, 2, 5]]
    >>> tl.max(x, axis=1)
    [6, 7]
    >>> value, index = tl.min(x, axis=1, return_indices=True)
    >>> index
    [0, 2]
    """
def argmax(input: _TensorLike, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Returns the index of the largest, or the smallest, element along an axis.

    - input: a tile of integers or floats.
    - axis: the axis to reduce.
    - tie_break_left: True returns the first index of equal elements. False allows any of them, which is cheaper.
    - keep_dims: True keeps the axis with the size 1.

    The result is int32. Any number wins over NaN.

    >>> tl.argmax((tl.arange(0, 8) * 3) % 8, axis=0)
    5
    >>> tl.argmin(tl.zeros((4,), tl.float32), axis=0)
    0
    """
def argmin(input: _TensorLike, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Returns the index of the largest, or the smallest, element along an axis.

    - input: a tile of integers or floats.
    - axis: the axis to reduce.
    - tie_break_left: True returns the first index of equal elements. False allows any of them, which is cheaper.
    - keep_dims: True keeps the axis with the size 1.

    The result is int32. Any number wins over NaN.

    >>> tl.argmax((tl.arange(0, 8) * 3) % 8, axis=0)
    5
    >>> tl.argmin(tl.zeros((4,), tl.float32), axis=0)
    0
    """
def xor_sum(input: _TensorLike, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """Reduces the elements along an axis with exclusive or.

    - input: a tile of integers.
    - axis: the axis to reduce. None reduces all elements.
    - keep_dims: True keeps the axis with the size 1.

    >>> tl.xor_sum(tl.arange(0, 8) + 1, axis=0)
    8
    >>> tl.xor_sum(tl.zeros((4,), tl.float32))
    error: xor_sum takes integers
    """
def reduce_or(input: _TensorLike, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """Reduces the elements along an axis with bitwise or. For conditions, it returns whether any is true.

    - input: a tile of integers or int1.
    - axis: the axis to reduce. None reduces all elements.
    - keep_dims: True keeps the axis with the size 1.

    >>> tl.reduce_or(tl.arange(0, 4) == 2, axis=0)
    True
    """
def cumsum(input: _TensorLike, axis: int = 0, reverse: bool = False, dtype: _DType | None = None) -> tensor:
    """Computes prefix sums along an axis: element i is the sum of elements 0 to i.

    - input: a tile of integers or floats. bf16 becomes fp32.
    - axis: the axis of the scan, 0 by default.
    - reverse: True sums from each element to the end.
    - dtype: the type of the accumulation. The default is the input's type, or int32 or uint32 for integers below 32 bits.

    >>> tl.cumsum(tl.arange(0, 4))
    [0, 1, 3, 6]
    >>> tl.cumsum(tl.arange(0, 4), reverse=True)
    [6, 6, 5, 3]
    """
def cumprod(input: _TensorLike, axis: int = 0, reverse: bool = False, dtype: _DType | None = None) -> tensor:
    """Computes prefix products along an axis: element i is the product of elements 0 to i.

    - input: a tile of integers or floats. bf16 becomes fp32.
    - axis: the axis of the scan, 0 by default.
    - reverse: True multiplies from each element to the end.
    - dtype: the type to which the elements are converted first.

    >>> tl.cumprod(tl.arange(1, 5))
    [1, 2, 6, 24]
    """
def sort(x: _TensorLike, dim: int | None = None, descending: bool = False) -> tensor:
    """Sorts the elements along the last dimension. No element is lost. NaN comes after all numbers, or first with descending=True.

    - x: a tile of integers or floats.
    - dim: the last dimension, or None for it. Other dimensions cannot be sorted.
    - descending: True starts with the largest.

    >>> tl.sort((tl.arange(0, 8) * 3) % 8)
    [0, 1, 2, 3, 4, 5, 6, 7]
    >>> tl.sort(tl.zeros((4, 4), tl.int32), dim=0)
    error: only the last dimension can be sorted
    """
def sort_impl(x: _TensorLike, k: int | None = None, dim: int | None = None, descending: bool = False) -> tensor:
    """The implementation of `tl.sort` and `tl.topk`.

    - x: a tile of integers or floats.
    - k: the number of elements to return, or None for all.
    - dim: the last dimension, or None for it.
    - descending: True starts with the largest.

    >>> tl.sort_impl((tl.arange(0, 8) * 3) % 8, k=2)
    [0, 1]
    """
def topk(x: _TensorLike, k: int, dim: int | None = None, descending: bool = True) -> tensor:
    """Returns the k largest elements along the last dimension, in order. It is cheaper than a full sort. If k is less than the size, elements of less than
    32 bits become fp32 or int32, as with `tl.max`.

    - x: a tile of integers or floats.
    - k: the number of elements, a power of two, known at compile time.
    - dim: the last dimension, or None for it.
    - descending: False returns the smallest elements, in ascending order.

    >>> tl.topk((tl.arange(0, 8) * 3) % 8, 2)
    [7, 6]
    """
def bitonic_merge(x: _TensorLike, dim: int | None = None, descending: bool = False) -> tensor:
    """Sorts bitonic sequences along the last dimension: they first rise and then fall, or the reverse. It merges two sorted halves, one of them flipped.

    - x: a tile of integers or floats.
    - dim: the last dimension, or None for it.
    - descending: True starts with the largest.

    >>> x = tl.arange(0, 8)
    >>> tl.bitonic_merge(tl.where(x < 4, x, 11 - x))
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
def flip(x: _TensorLike, dim: int | None = None) -> tensor:
    """Reverses the elements along a dimension.

    - x: a tile.
    - dim: the dimension, or None for the last.

    >>> tl.flip(tl.arange(0, 4))
    [3, 2, 1, 0]
    """
def philox_impl(c0: _TensorLike, c1: _TensorLike, c2: _TensorLike, c3: _TensorLike, k0: _IntLike, k1: _IntLike, n_rounds: int = 10) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Runs only the rounds of Philox.

    - c0, c1, c2, c3: counters, unsigned, of 32 or 64 bits.
    - k0, k1: keys of the same type.
    - n_rounds: the number of rounds.

    >>> zero = tl.zeros((1,), tl.uint32)
    >>> a, b, c, d = tl.philox_impl(zero, zero, zero, zero, zero, zero, 10)
    >>> a
    [1713891541]
    """
def philox(seed: _IntLike, c0: _TensorLike, c1: _TensorLike, c2: _TensorLike, c3: _TensorLike, n_rounds: int = 10) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Generates four tiles of random bits from a seed and four counters. The other random functions use it.

    - seed: an integer scalar of up to 64 bits.
    - c0, c1, c2, c3: counters: tiles of integers of 32 or 64 bits.
    - n_rounds: the number of Philox rounds.

    >>> zero = tl.zeros((1,), tl.uint32)
    >>> a, b, c, d = tl.philox(0, zero, zero, zero, zero)
    >>> a
    [1713891541]
    """
def randint4x(seed: _IntLike, offset: _IntLike, n_rounds: int = 10) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Generates four tiles of random 32-bit integers, at the cost of one.

    - seed: an integer scalar.
    - offset: a tile of integers.
    - n_rounds: the number of Philox rounds.

    >>> a, b, c, d = tl.randint4x(7, tl.arange(0, 4))
    >>> a == tl.randint(7, tl.arange(0, 4))
    [True, True, True, True]
    """
def randint(seed: _IntLike, offset: _IntLike, n_rounds: int = 10) -> tensor:
    """Generates random unsigned 32-bit integers.

    - seed: an integer scalar.
    - offset: a tile of integers. Equal seeds and offsets give equal numbers.
    - n_rounds: the number of Philox rounds.

    >>> tl.randint(7, tl.arange(0, 4)) % 1
    [0, 0, 0, 0]
    """
def uint_to_uniform_float(x: _TensorLike) -> tensor:
    """Converts random bits to floats in [0, 1).

    - x: a tile of integers of 32 or 64 bits.

    >>> tl.uint_to_uniform_float(tl.full((1,), 0, tl.uint32))
    [0.0]
    """
def pair_uniform_to_normal(u1: _TensorLike, u2: _TensorLike) -> builtins.tuple[tensor, tensor]:
    """Converts two tiles of uniform floats to two of normal floats (Box-Muller).

    - u1, u2: tiles of fp32 in [0, 1).

    >>> a, b = tl.pair_uniform_to_normal(tl.full((1,), 0.5, tl.float32), tl.full((1,), 0.25, tl.float32))
    >>> b
    [1.17741]
    """
def rand(seed: _IntLike, offset: _IntLike, n_rounds: int = 10) -> tensor:
    """Generates random fp32 numbers in [0, 1) with Philox, from a seed and an offset. It has no state, so a backward pass can regenerate any element.

    - seed: an integer scalar.
    - offset: a tile of integers. Equal seeds and offsets give equal numbers.
    - n_rounds: the number of Philox rounds. Fewer rounds are faster and less random.

    The numbers are the same as Triton's.

    >>> tl.rand(7, tl.arange(0, 4)) < 1.0
    [True, True, True, True]
    """
def rand4x(seed: _IntLike, offsets: Sequence[_IntLike], n_rounds: int = 10) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Generates four tiles of random fp32 numbers in [0, 1), at the cost of one: Philox makes four numbers at a time.

    - seed: an integer scalar.
    - offsets: a tile of integers.
    - n_rounds: the number of Philox rounds.

    >>> a, b, c, d = tl.rand4x(7, tl.arange(0, 4))
    >>> a == tl.rand(7, tl.arange(0, 4))
    [True, True, True, True]
    """
def randn(seed: _IntLike, offset: _IntLike, n_rounds: int = 10) -> tensor:
    """Generates random fp32 numbers with mean 0 and variance 1.

    - seed: an integer scalar.
    - offset: a tile of integers. Equal seeds and offsets give equal numbers.
    - n_rounds: the number of Philox rounds.

    >>> tl.randn(7, tl.arange(0, 4)) == tl.randn(7, tl.arange(0, 4))
    [True, True, True, True]
    """
def randn4x(seed: _IntLike, offset: _IntLike, n_rounds: int = 10) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Generates four tiles of random fp32 numbers with mean 0 and variance 1, at the cost of one.

    - seed: an integer scalar.
    - offset: a tile of integers.
    - n_rounds: the number of Philox rounds.

    >>> a, b, c, d = tl.randn4x(7, tl.arange(0, 4))
    >>> a == tl.randn(7, tl.arange(0, 4))
    [True, True, True, True]
    """

from . import core as core, extra as extra, math as math, random as random, standard as standard, target_info as target_info
