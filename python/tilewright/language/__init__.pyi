# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any

class dtype:
    name: str
    primitive_bitwidth: int
    itemsize: int
    def __init__(self, name: str) -> None: ...
    def is_floating(self) -> bool: ...
    def is_int(self) -> bool: ...
    def is_int_signed(self) -> bool: ...
    def is_int_unsigned(self) -> bool: ...
    def is_bool(self) -> bool: ...
    def is_ptr(self) -> bool: ...
    def is_fp8(self) -> bool: ...
    def __getattr__(self, name: str) -> Any: ...

class pointer_type(dtype):
    element_ty: dtype
    def __init__(self, element_ty: dtype, address_space: int = ..., const: bool = ...) -> None: ...

class block_type(dtype):
    def __init__(self, element_ty: dtype, shape: Any) -> None: ...

class constexpr(Any):
    """A value known at compile time: as the annotation of a parameter, or around a constant."""
    value: Any
    def __init__(self, value: Any) -> None: ...

class const:
    """The annotation of a pointer that a kernel does not write through."""

class tensor_descriptor(Any):
    """A tensor in memory, of which blocks are loaded and stored."""
    def load(self, offsets: Any) -> tensor: ...
    def store(self, offsets: Any, value: Any) -> None: ...

class range:
    """A loop with options; `for i in tl.range(...)`."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ..., num_stages: Any = ..., loop_unroll_factor: Any = ..., disallow_acc_multi_buffer: bool = ...,
                 flatten: bool = ..., warp_specialize: bool = ..., disable_licm: bool = ..., early_exit: bool = ...) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...

class static_range:
    """A loop that is unrolled."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ...) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...

class condition(Any):
    """The condition of a while loop with options."""
    def __init__(self, arg1: Any, disable_licm: bool = ..., early_exit: bool = ...) -> None: ...

class tensor:
    """A tile, or a scalar, of a running kernel."""
    dtype: dtype
    type: Any
    shape: Any
    numel: Any
    T: tensor
    def to(self, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor: ...
    def __getitem__(self, index: Any) -> tensor: ...
    def __neg__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    def __bool__(self) -> bool: ...
    def __index__(self) -> int: ...
    def __add__(self, other: Any) -> tensor: ...
    def __radd__(self, other: Any) -> tensor: ...
    def __sub__(self, other: Any) -> tensor: ...
    def __rsub__(self, other: Any) -> tensor: ...
    def __mul__(self, other: Any) -> tensor: ...
    def __rmul__(self, other: Any) -> tensor: ...
    def __truediv__(self, other: Any) -> tensor: ...
    def __rtruediv__(self, other: Any) -> tensor: ...
    def __floordiv__(self, other: Any) -> tensor: ...
    def __rfloordiv__(self, other: Any) -> tensor: ...
    def __mod__(self, other: Any) -> tensor: ...
    def __rmod__(self, other: Any) -> tensor: ...
    def __pow__(self, other: Any) -> tensor: ...
    def __rpow__(self, other: Any) -> tensor: ...
    def __lshift__(self, other: Any) -> tensor: ...
    def __rlshift__(self, other: Any) -> tensor: ...
    def __rshift__(self, other: Any) -> tensor: ...
    def __rrshift__(self, other: Any) -> tensor: ...
    def __and__(self, other: Any) -> tensor: ...
    def __rand__(self, other: Any) -> tensor: ...
    def __xor__(self, other: Any) -> tensor: ...
    def __rxor__(self, other: Any) -> tensor: ...
    def __or__(self, other: Any) -> tensor: ...
    def __ror__(self, other: Any) -> tensor: ...
    def __matmul__(self, other: Any) -> tensor: ...
    def __rmatmul__(self, other: Any) -> tensor: ...
    def __lt__(self, other: Any) -> tensor: ...
    def __le__(self, other: Any) -> tensor: ...
    def __gt__(self, other: Any) -> tensor: ...
    def __ge__(self, other: Any) -> tensor: ...
    def __eq__(self, other: Any) -> tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> tensor: ...  # type: ignore[override]
    def cast(self, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor:
        """The same values as another type, or with bitcast the same bits."""
    def broadcast(self, other: Any) -> tensor:
        """Both tiles in their common shape."""
    def broadcast_to(self, *shape: Any) -> tensor:
        """Dimensions of size 1 repeated up to a shape."""
    def expand_dims(self, axis: Any) -> tensor:
        """New dimensions of size 1."""
    def squeeze(self, dim: Any) -> tensor:
        """A dimension of size 1 taken away."""
    def unsqueeze(self, dim: Any) -> tensor:
        """A new dimension of size 1."""
    def reshape(self, *shape: Any, can_reorder: Any = ...) -> tensor:
        """The same elements, row by row, in another shape."""
    def view(self, *shape: Any) -> tensor:
        """The same elements in another shape, in any order."""
    def ravel(self, can_reorder: Any = ...) -> tensor:
        """All elements in one dimension."""
    def trans(self, *dims: Any) -> tensor:
        """Dimensions in another order; without dims, the two of a matrix swapped."""
    def permute(self, *dims: Any) -> tensor:
        """Dimensions in another order."""
    def cat(self, other: Any, can_reorder: Any = ..., dim: Any = ...) -> tensor:
        """One tile behind the other along a dimension."""
    def item(self) -> tensor:
        """The one element of a tile as a scalar."""
    def add(self, y: Any, sanitize_overflow: Any = ...) -> tensor:
        """X + y."""
    def sub(self, y: Any, sanitize_overflow: Any = ...) -> tensor:
        """X - y."""
    def mul(self, y: Any, sanitize_overflow: Any = ...) -> tensor:
        """X * y."""
    def minimum(self, y: Any, propagate_nan: Any = ...) -> tensor:
        """The smaller of two, element by element."""
    def maximum(self, y: Any, propagate_nan: Any = ...) -> tensor:
        """The larger of two, element by element."""
    def clamp(self, min: Any, max: Any, propagate_nan: Any = ...) -> tensor:
        """X, but not below min nor above max."""
    def abs(self) -> tensor:
        """Absolute value."""
    def fdiv(self, y: Any, ieee_rounding: Any = ...) -> tensor:
        """Float division."""
    def div_rn(self, y: Any) -> tensor:
        """Fp32 division, rounded to nearest."""
    def umulhi(self, y: Any) -> tensor:
        """The upper half of an unsigned product."""
    def fma(self, y: Any, z: Any) -> tensor:
        """X * y + z."""
    def exp(self) -> tensor:
        """E to the power x."""
    def exp2(self) -> tensor:
        """2 to the power x."""
    def log(self) -> tensor:
        """Natural logarithm."""
    def log2(self) -> tensor:
        """Logarithm to base 2."""
    def sin(self) -> tensor:
        """Sine."""
    def cos(self) -> tensor:
        """Cosine."""
    def sqrt(self) -> tensor:
        """Square root."""
    def rsqrt(self) -> tensor:
        """1 / square root."""
    def sqrt_rn(self) -> tensor:
        """Fp32 square root, rounded to nearest."""
    def erf(self) -> tensor:
        """Error function."""
    def floor(self) -> tensor:
        """The next integral value below."""
    def ceil(self) -> tensor:
        """The next integral value above."""
    def dot(self, other: Any, acc: Any = ..., input_precision: Any = ..., allow_tf32: Any = ..., max_num_imprecise_acc: Any = ..., out_dtype: Any = ...) -> tensor:
        """Matrix product, added to acc."""
    def reduce(self, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> Any:
        """Tiles combined along an axis by a jit function."""
    def associative_scan(self, axis: Any, combine_fn: Any, reverse: Any = ...) -> Any:
        """Running combination along an axis by a jit function."""
    def histogram(self, num_bins: Any, mask: Any = ...) -> tensor:
        """How often each of 0 ... num_bins - 1 occurs."""
    def multiple_of(self, values: Any) -> tensor:
        """Promise: the first of each group of elements is a multiple."""
    def max_contiguous(self, values: Any) -> tensor:
        """Promise: so many elements in a row rise by one."""
    def max_constancy(self, values: Any) -> tensor:
        """Promise: so many elements in a row are equal."""
    def expect_zero(self, mask: Any) -> tensor:
        """X; with debug on, the program ends where the mask holds and x is not zero."""
    def _reduce_with_indices(self, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> tensor:
        """Reduce of a tile together with each element's index."""
    def _sort(self, k: Any, descending: Any, network: Any) -> tensor:
        """The first k elements of each line along the last dimension, in order."""
    def cdiv(self, div: Any) -> tensor:
        """X / div, rounded up; of integers."""
    def sigmoid(self) -> tensor:
        """1 / (1 + exp(-x))."""
    def softmax(self, dim: Any = ..., keep_dims: Any = ..., ieee_rounding: Any = ...) -> tensor:
        """Exp(x - max) / sum of these along a dimension; without one, the first."""
    def sum(self, axis: Any = ..., keep_dims: Any = ..., dtype: Any = ...) -> tensor:
        """The sum along an axis, or of all elements; integers below 32 bits are summed in 32."""
    def max(self, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
        """The largest element along an axis, or of all; with return_indices its index as well, of equals the first."""
    def min(self, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
        """The smallest element along an axis, or of all; with return_indices its index as well, of equals the first."""
    def argmax(self, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
        """The index of the largest element along an axis; of equals the first, unless tie_break_left is False."""
    def argmin(self, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
        """The index of the smallest element along an axis; of equals the first, unless tie_break_left is False."""
    def xor_sum(self, axis: Any = ..., keep_dims: Any = ...) -> tensor:
        """All elements along an axis combined by ^; of integers."""
    def reduce_or(self, axis: Any = ..., keep_dims: Any = ...) -> tensor:
        """All elements along an axis combined by |; of integers."""
    def cumsum(self, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
        """Sums of all elements up to each along an axis; reverse: from each to the end."""
    def cumprod(self, axis: Any = ..., reverse: Any = ...) -> tensor:
        """Products of all elements up to each along an axis; reverse: from each to the end."""
    def sort(self, dim: Any = ..., descending: Any = ...) -> tensor:
        """The elements in order along the last dimension."""
    def sort_impl(self, k: Any = ..., dim: Any = ..., descending: Any = ...) -> tensor:
        """What sort and topk are made of: with k, the first k of them."""
    def topk(self, k: Any, dim: Any = ..., descending: Any = ...) -> tensor:
        """The k largest elements along the last dimension, in order; descending=False: the smallest. k is a power of two."""
    def bitonic_merge(self, dim: Any = ..., descending: Any = ...) -> tensor:
        """Sorts along the last dimension what first rises and then falls."""
    def flip(self, dim: Any = ...) -> tensor:
        """The elements in reverse along a dimension; without one, the last."""
    def uint_to_uniform_float(self) -> tensor:
        """Random bits as floats in [0, 1)."""

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

class PropagateNan:
    NONE: Any
    ALL: Any

def program_id(axis: Any) -> tensor:
    """Which program this is along axis 0, 1 or 2 of the grid."""
def num_programs(axis: Any) -> tensor:
    """How many programs there are along axis 0, 1 or 2 of the grid."""
def arange(start: Any, end: Any) -> tensor:
    """Start, start + 1, ..., end - 1 as int32; the length is a power of two."""
def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """A tile with one value everywhere."""
def zeros(shape: Any, dtype: Any) -> tensor:
    """A tile of zeros."""
def zeros_like(input: Any) -> tensor:
    """A tile of zeros with the shape and type of another."""
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor:
    """The same values as another type, or with bitcast the same bits."""
def to_tensor(x: Any) -> tensor:
    """A number as a run-time value."""
def broadcast(input: Any, other: Any) -> tensor:
    """Both tiles in their common shape."""
def broadcast_to(input: Any, *shape: Any) -> tensor:
    """Dimensions of size 1 repeated up to a shape."""
def expand_dims(input: Any, axis: Any) -> tensor:
    """New dimensions of size 1."""
def squeeze(x: Any, dim: Any) -> tensor:
    """A dimension of size 1 taken away."""
def unsqueeze(x: Any, dim: Any) -> tensor:
    """A new dimension of size 1."""
def reshape(input: Any, *shape: Any, can_reorder: Any = ...) -> tensor:
    """The same elements, row by row, in another shape."""
def view(input: Any, *shape: Any) -> tensor:
    """The same elements in another shape, in any order."""
def ravel(x: Any, can_reorder: Any = ...) -> tensor:
    """All elements in one dimension."""
def trans(input: Any, *dims: Any) -> tensor:
    """Dimensions in another order; without dims, the two of a matrix swapped."""
def permute(input: Any, *dims: Any) -> tensor:
    """Dimensions in another order."""
def cat(input: Any, other: Any, can_reorder: Any = ..., dim: Any = ...) -> tensor:
    """One tile behind the other along a dimension."""
def join(a: Any, b: Any) -> tensor:
    """Two tiles side by side in a new last dimension."""
def split(a: Any) -> Any:
    """The two halves of a last dimension of size 2."""
def item(input: Any) -> tensor:
    """The one element of a tile as a scalar."""
def where(condition: Any, x: Any, y: Any) -> tensor:
    """X where the condition is true, y elsewhere; both are computed."""
def add(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """X + y."""
def sub(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """X - y."""
def mul(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """X * y."""
def minimum(x: Any, y: Any, propagate_nan: Any = ...) -> tensor:
    """The smaller of two, element by element."""
def maximum(x: Any, y: Any, propagate_nan: Any = ...) -> tensor:
    """The larger of two, element by element."""
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = ...) -> tensor:
    """X, but not below min nor above max."""
def abs(x: Any) -> tensor:
    """Absolute value."""
def fdiv(x: Any, y: Any, ieee_rounding: Any = ...) -> tensor:
    """Float division."""
def div_rn(x: Any, y: Any) -> tensor:
    """Fp32 division, rounded to nearest."""
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of an unsigned product."""
def fma(x: Any, y: Any, z: Any) -> tensor:
    """X * y + z."""
def exp(x: Any) -> tensor:
    """E to the power x."""
def exp2(x: Any) -> tensor:
    """2 to the power x."""
def log(x: Any) -> tensor:
    """Natural logarithm."""
def log2(x: Any) -> tensor:
    """Logarithm to base 2."""
def sin(x: Any) -> tensor:
    """Sine."""
def cos(x: Any) -> tensor:
    """Cosine."""
def sqrt(x: Any) -> tensor:
    """Square root."""
def rsqrt(x: Any) -> tensor:
    """1 / square root."""
def sqrt_rn(x: Any) -> tensor:
    """Fp32 square root, rounded to nearest."""
def erf(x: Any) -> tensor:
    """Error function."""
def floor(x: Any) -> tensor:
    """The next integral value below."""
def ceil(x: Any) -> tensor:
    """The next integral value above."""
def extern_elementwise(lib_name: Any, lib_path: Any, args: Any, arg_type_symbol_dict: Any, is_pure: Any) -> tensor:
    """A function of a device library on each element."""
def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> tensor:
    """Target assembly on each element."""
def load(pointer: Any, mask: Any = ..., other: Any = ..., boundary_check: Any = ..., padding_option: Any = ..., cache_modifier: Any = ..., eviction_policy: Any = ..., volatile: Any = ...) -> tensor:
    """Elements at pointers; where the mask is false, other or any value."""
def store(pointer: Any, value: Any, mask: Any = ..., boundary_check: Any = ..., cache_modifier: Any = ..., eviction_policy: Any = ...) -> None:
    """Elements to pointers, where the mask is true."""
def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> tensor:
    """A pointer to a block of a strided tensor."""
def advance(base: Any, offsets: Any) -> tensor:
    """A block pointer moved by offsets in elements."""
def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = ...) -> tensor:
    """A strided tensor with the shape of the blocks taken from it."""
def load_tensor_descriptor(desc: Any, offsets: Any) -> tensor:
    """The block of a descriptor at element offsets."""
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> tensor:
    """A block to element offsets of a descriptor."""
def atomic_add(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Add to memory at once; the result is what was there."""
def atomic_max(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Maximum with memory at once; the result is what was there."""
def atomic_min(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Minimum with memory at once; the result is what was there."""
def atomic_and(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Bitwise and with memory at once; the result is what was there."""
def atomic_or(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Bitwise or with memory at once; the result is what was there."""
def atomic_xor(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Exclusive or with memory at once; the result is what was there."""
def atomic_xchg(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Write at once; the result is what was there."""
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = ..., scope: Any = ...) -> tensor:
    """Write where memory equals cmp; the result is what was there."""
def dot(input: Any, other: Any, acc: Any = ..., input_precision: Any = ..., allow_tf32: Any = ..., max_num_imprecise_acc: Any = ..., out_dtype: Any = ...) -> tensor:
    """Matrix product, added to acc."""
def dot_scaled(lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any, acc: Any = ..., fast_math: Any = ..., lhs_k_pack: Any = ..., rhs_k_pack: Any = ..., out_dtype: Any = ...) -> tensor:
    """Matrix product of operands in microscaling formats, added to acc."""
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> Any:
    """Tiles combined along an axis by a jit function."""
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = ...) -> Any:
    """Running combination along an axis by a jit function."""
def histogram(input: Any, num_bins: Any, mask: Any = ...) -> tensor:
    """How often each of 0 ... num_bins - 1 occurs."""
def gather(src: Any, index: Any, axis: Any) -> tensor:
    """Elements picked along an axis by index."""
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = ...) -> tensor:
    """A jit function on each element, with control flow of its own."""
def multiple_of(input: Any, values: Any) -> tensor:
    """Promise: the first of each group of elements is a multiple."""
def max_contiguous(input: Any, values: Any) -> tensor:
    """Promise: so many elements in a row rise by one."""
def max_constancy(input: Any, values: Any) -> tensor:
    """Promise: so many elements in a row are equal."""
def assume(cond: Any) -> None:
    """Promise: the condition holds."""
def expect_zero(x: Any, mask: Any) -> tensor:
    """X; with debug on, the program ends where the mask holds and x is not zero."""
def debug_barrier() -> None:
    """All threads of the program meet."""
def static_print(*values: Any, sep: Any = ..., end: Any = ..., file: Any = ..., flush: Any = ...) -> None:
    """Print while compiling."""
def static_assert(cond: Any, msg: Any = ...) -> None:
    """Stop compiling if the condition is false."""
def device_print(prefix: Any, *args: Any, hex: Any = ...) -> None:
    """Print each element while running."""
def device_assert(cond: Any, msg: Any = ..., mask: Any = ...) -> None:
    """With debug on, end the program if an element is false."""
def _reduce_with_indices(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> tensor:
    """Reduce of a tile together with each element's index."""
def _sort(input: Any, k: Any, descending: Any, network: Any) -> tensor:
    """The first k elements of each line along the last dimension, in order."""
def _promote_bfloat16_to_float32(t: Any) -> tensor:
    """Bf16 as fp32, other types as they are."""
def tuple(args: Any) -> tensor:
    """Several values as one."""
def constexpr_type(value: Any) -> tensor:
    """The type of one constant."""
def tuple_type(types: Any, fields: Any = ...) -> tensor:
    """The type of a tuple."""
def aggregate_replace(instance: Any, *fields: Any) -> tensor:
    """An aggregate with other values for some of its fields."""
def cdiv(x: Any, div: Any) -> tensor:
    """X / div, rounded up; of integers."""
def sigmoid(x: Any) -> tensor:
    """1 / (1 + exp(-x))."""
def softmax(x: Any, dim: Any = ..., keep_dims: Any = ..., ieee_rounding: Any = ...) -> tensor:
    """Exp(x - max) / sum of these along a dimension; without one, the first."""
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tensor:
    """Place (i, j) of a grid walked row by row becomes the place of a walk in groups of size_g rows, which keeps operands of products in a GPU's cache."""
def atomic_poll(pointer: Any, expected: Any, sem: Any = ..., scope: Any = ..., timeout_ns: Any = ...) -> tensor:
    """Waits until memory equals expected; the result is true."""
def interleave(a: Any, b: Any) -> tensor:
    """A[0], b[0], a[1], b[1], ... along the last dimension."""
def sum(input: Any, axis: Any = ..., keep_dims: Any = ..., dtype: Any = ...) -> tensor:
    """The sum along an axis, or of all elements; integers below 32 bits are summed in 32."""
def max(input: Any, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
    """The largest element along an axis, or of all; with return_indices its index as well, of equals the first."""
def min(input: Any, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
    """The smallest element along an axis, or of all; with return_indices its index as well, of equals the first."""
def argmax(input: Any, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
    """The index of the largest element along an axis; of equals the first, unless tie_break_left is False."""
def argmin(input: Any, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
    """The index of the smallest element along an axis; of equals the first, unless tie_break_left is False."""
def xor_sum(input: Any, axis: Any = ..., keep_dims: Any = ...) -> tensor:
    """All elements along an axis combined by ^; of integers."""
def reduce_or(input: Any, axis: Any = ..., keep_dims: Any = ...) -> tensor:
    """All elements along an axis combined by |; of integers."""
def cumsum(input: Any, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
    """Sums of all elements up to each along an axis; reverse: from each to the end."""
def cumprod(input: Any, axis: Any = ..., reverse: Any = ...) -> tensor:
    """Products of all elements up to each along an axis; reverse: from each to the end."""
def sort(x: Any, dim: Any = ..., descending: Any = ...) -> tensor:
    """The elements in order along the last dimension."""
def sort_impl(x: Any, k: Any = ..., dim: Any = ..., descending: Any = ...) -> tensor:
    """What sort and topk are made of: with k, the first k of them."""
def topk(x: Any, k: Any, dim: Any = ..., descending: Any = ...) -> tensor:
    """The k largest elements along the last dimension, in order; descending=False: the smallest. k is a power of two."""
def bitonic_merge(x: Any, dim: Any = ..., descending: Any = ...) -> tensor:
    """Sorts along the last dimension what first rises and then falls."""
def flip(x: Any, dim: Any = ...) -> tensor:
    """The elements in reverse along a dimension; without one, the last."""
def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = ...) -> tensor:
    """Rounds of Philox on four counters with two keys: four tiles of random bits."""
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ...) -> tensor:
    """Four tiles of random bits for a seed and four counters."""
def randint4x(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Four tiles of random 32-bit integers for a scalar seed and a tile of offsets, at the cost of one."""
def randint(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Random 32-bit integers for a scalar seed and a tile of offsets; equal ones give equal numbers."""
def uint_to_uniform_float(x: Any) -> tensor:
    """Random bits as floats in [0, 1)."""
def pair_uniform_to_normal(u1: Any, u2: Any) -> tensor:
    """Two tiles of uniform floats as two of normal ones (Box-Muller)."""
def rand(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Random float32 in [0, 1) for a scalar seed and a tile of offsets; equal ones give equal numbers."""
def rand4x(seed: Any, offsets: Any, n_rounds: Any = ...) -> tensor:
    """Four tiles of random float32 in [0, 1), at the cost of one."""
def randn(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Random float32 of mean 0 and variance 1 for a scalar seed and a tile of offsets."""
def randn4x(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Four tiles of random float32 of mean 0 and variance 1, at the cost of one."""

TRITON_MAX_TENSOR_NUMEL: int

from . import core as core, extra as extra, math as math, random as random, standard as standard, target_info as target_info
