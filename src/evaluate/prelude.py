# The part of the language's library that is written in the language: reductions and scans by their combine functions, sorting networks,
# random numbers. A kernel that calls tl.softmax gets the function of that name from this file, compiled like one of its own functions.
import triton
import triton.language as tl


# ---- helpers at compile time


@triton.constexpr_function
def _log2(n):
    bits = 0
    while n > 1:
        n = n >> 1
        bits = bits + 1
    return bits


# Generated helpers call it. In this compiler a constant is always its value.
@triton.jit
def _unwrap_if_constexpr(x):
    return x


@triton.constexpr_function
def _next_power(n):
    return 2**_log2(2 * n - 1)


@triton.constexpr_function
def _has_powers(shape):
    for size in shape:
        if size != _next_power(size):
            return False
    return True


@triton.constexpr_function
def _sum_type(dtype, wanted):
    if wanted is not None:
        return wanted
    if dtype.is_int() and dtype.primitive_bitwidth < 32:
        return tl.int32 if dtype.is_int_signed() else tl.uint32
    return dtype


@triton.constexpr_function
def _order_type(dtype):
    if dtype.primitive_bitwidth >= 32:
        return dtype
    return tl.float32 if dtype.is_floating() else tl.int32


@triton.constexpr_function
def _bits_type(dtype):
    bits = dtype.primitive_bitwidth
    if bits == 1:
        return tl.int1
    if bits == 8:
        return tl.int8
    if bits == 16:
        return tl.int16
    return tl.int32 if bits == 32 else tl.int64


@triton.constexpr_function
def _axis(dim, rank):
    if dim is None:
        return rank - 1
    return dim + rank if dim < 0 else dim


# ---- arithmetic


@triton.jit
def cdiv(x, div):
    return (x + (div - 1)) // div


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


# The shape does not depend on keep_dims: without the dimension a square tile would be divided by the sums of other rows.
@triton.jit
def softmax(x, dim=None, keep_dims=None, ieee_rounding=False):
    axis: tl.constexpr = 0 if dim is None else dim
    shifted = x - max(x, axis, keep_dims=True)
    weights = tl.exp(shifted)
    total = sum(weights, axis, keep_dims=True)
    return tl.fdiv(weights, total, ieee_rounding)


@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    linear = i * size_j + j
    group_elements = size_g * size_j
    group = linear // group_elements
    first_i = group * size_g
    rows = tl.minimum(size_i - first_i, size_g)
    linear = linear % group_elements
    return first_i + linear % rows, linear // rows


@triton.jit
def interleave(a, b):
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    else:
        return tl.reshape(pairs, pairs.shape[:-2] + [2 * pairs.shape[-2]])


# ---- reading and writing at once: integers and floats by their bits, with the operations that machines have for these


@triton.jit
def _bits_at(pointer, name: tl.constexpr):
    tl.static_assert(pointer.dtype.is_ptr() and (pointer.dtype.element_ty.is_int() or pointer.dtype.element_ty.is_floating())
                     and pointer.dtype.element_ty.primitive_bitwidth >= 32, name + " takes pointers to integers or floats of 32 or 64 bits")
    return pointer.to(tl.pointer_type(tl.int32 if pointer.dtype.element_ty.primitive_bitwidth == 32 else tl.int64), bitcast=True)


@triton.jit
def atomic_load(pointer, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    order: tl.constexpr = "acquire" if sem is None else sem
    tl.static_assert(order == "acquire" or order == "relaxed", "atomic_load only reads: its order is 'acquire' or 'relaxed'")
    bits = tl.atomic_or(_bits_at(pointer, "atomic_load"), 0, mask=mask, sem=order, scope=scope)
    return bits.to(pointer.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_store(pointer, val, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    order: tl.constexpr = "release" if sem is None else sem
    tl.static_assert(order == "release" or order == "relaxed", "atomic_store only writes: its order is 'release' or 'relaxed'")
    place = _bits_at(pointer, "atomic_store")
    value = tl.to_tensor(val).to(pointer.dtype.element_ty)
    tl.atomic_xchg(place, value.to(place.dtype.element_ty, bitcast=True), mask=mask, sem=order, scope=scope)


# ---- waiting


@triton.jit
def _poll(pointer, expected, sem: tl.constexpr, scope: tl.constexpr):
    return tl.atomic_cas(pointer, expected, expected, sem=sem, scope=scope) == expected


# A tile of addresses is loaded again only for elements whose expected value was not found yet.
@triton.jit
def _poll_rest(pointer, expected, found, sem: tl.constexpr, scope: tl.constexpr):
    missing = not found
    return found or (missing and tl.atomic_or(pointer, 0, mask=missing, sem=sem, scope=scope) == expected)


@triton.jit
def _all(found):
    return min(found.to(tl.int32)) == 1


# One number for all threads of a program: each thread reads its own clock, and the result is the latest.
@triton.jit
def _nanoseconds():
    threads = tl.arange(0, tl.extra.cuda.num_threads())
    return tl.max(tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l,r", [threads], dtype=tl.int64, is_pure=False, pack=1), 0)


@triton.jit
def _poll_tile(pointer, expected, sem: tl.constexpr, scope: tl.constexpr, timeout_ns):
    pointer, expected = tl.broadcast(pointer, expected)
    found = tl.atomic_or(pointer, 0, sem=sem, scope=scope) == expected
    if timeout_ns is None:
        while not _all(found):
            found = _poll_rest(pointer, expected, found, sem, scope)
    else:
        begin = _nanoseconds()
        while not _all(found) and _nanoseconds() - begin < timeout_ns:
            found = _poll_rest(pointer, expected, found, sem, scope)
    return found


@triton.jit
def _poll_one(pointer, expected, sem: tl.constexpr, scope: tl.constexpr, timeout_ns):
    found = _poll(pointer, expected, sem, scope)
    if timeout_ns is None:
        while not found:
            found = _poll(pointer, expected, sem, scope)
    else:
        begin = _nanoseconds()
        while not found and _nanoseconds() - begin < timeout_ns:
            found = _poll(pointer, expected, sem, scope)
    return found


@triton.jit
def atomic_poll(pointer, expected_value, sem: tl.constexpr = None, scope: tl.constexpr = None, timeout_ns=None):
    order: tl.constexpr = "acquire" if sem is None else sem
    tl.static_assert(pointer.dtype.is_ptr() and pointer.dtype.element_ty.is_int(), "atomic_poll waits at addresses of integers")
    tl.static_assert(order == "acquire" or order == "relaxed", "atomic_poll only reads: its order is 'acquire' or 'relaxed'")
    tl.static_assert(timeout_ns is None or tl.target_info.is_cuda(), "timeout_ns of atomic_poll is measured by a GPU's clock, and this is compiled for a CPU")
    expected = tl.to_tensor(expected_value).to(pointer.dtype.element_ty)
    if pointer.type.is_block():
        return _poll_tile(pointer, expected, order, scope, timeout_ns)
    else:
        return _poll_one(pointer, expected, order, scope, timeout_ns)


# ---- reductions


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def _multiply(a, b):
    return a * b


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def _exclusive_or(a, b):
    return a ^ b


@triton.jit
def _bitwise_or(a, b):
    return a | b


# The order of values for argmax and argmin. A NaN sorts after every number, so the result does not depend on the order in which lanes are combined.


@triton.jit
def _beats(better, value1, value2):
    if value1.dtype.is_floating():
        return better or (value1 == value1 and value2 != value2)
    else:
        return better


@triton.jit
def _ties(value1, value2):
    if value1.dtype.is_floating():
        return value1 == value2 or (value1 != value1 and value2 != value2)
    else:
        return value1 == value2


@triton.jit
def _larger_first(value1, index1, value2, index2):
    wins = _beats(value1 > value2, value1, value2) or (_ties(value1, value2) and index1 < index2)
    return tl.where(wins, value1, value2), tl.where(wins, index1, index2)


@triton.jit
def _larger_any(value1, index1, value2, index2):
    wins = _beats(value1 > value2, value1, value2)
    return tl.where(wins, value1, value2), tl.where(wins, index1, index2)


@triton.jit
def _smaller_first(value1, index1, value2, index2):
    wins = _beats(value1 < value2, value1, value2) or (_ties(value1, value2) and index1 < index2)
    return tl.where(wins, value1, value2), tl.where(wins, index1, index2)


@triton.jit
def _smaller_any(value1, index1, value2, index2):
    wins = _beats(value1 < value2, value1, value2)
    return tl.where(wins, value1, value2), tl.where(wins, index1, index2)


@triton.jit
def sum(input, axis=None, keep_dims=False, dtype: tl.constexpr = None):
    out_dtype: tl.constexpr = _sum_type(input.dtype, dtype)
    return tl.reduce(input.to(out_dtype), axis, _add, keep_dims=keep_dims)


@triton.jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    input = tl._promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(input, axis, _larger_first, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(input, axis, _larger_any, keep_dims=keep_dims)
    else:
        return tl.reduce(input.to(_order_type(input.dtype)), axis, _larger, keep_dims=keep_dims)


@triton.jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    input = tl._promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(input, axis, _smaller_first, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(input, axis, _smaller_any, keep_dims=keep_dims)
    else:
        return tl.reduce(input.to(_order_type(input.dtype)), axis, _smaller, keep_dims=keep_dims)


@triton.jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    _, index = max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@triton.jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    _, index = min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@triton.jit
def xor_sum(input, axis=None, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "xor_sum takes integers")
    return tl.reduce(input, axis, _exclusive_or, keep_dims=keep_dims)


@triton.jit
def reduce_or(input, axis=None, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "reduce_or takes integers")
    return tl.reduce(input, axis, _bitwise_or, keep_dims=keep_dims)


# ---- scans


@triton.jit
def cumsum(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    input = tl._promote_bfloat16_to_float32(input)
    out_dtype: tl.constexpr = _sum_type(input.dtype, dtype)
    return tl.associative_scan(input.to(out_dtype), axis, _add, reverse)


@triton.jit
def cumprod(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    # Up to 3.8, whose bf16 becomes fp32, narrow integers keep their type.
    is_old: tl.constexpr = tl._promote_bfloat16_to_float32(tl.full((1,), 0.0, tl.bfloat16)).dtype == tl.float32
    if is_old and dtype is None:
        input = tl._promote_bfloat16_to_float32(input)
    else:
        out_dtype: tl.constexpr = _sum_type(input.dtype, dtype)
        input = input.to(out_dtype)
    return tl.associative_scan(input, axis, _multiply, reverse)


# ---- sorting: bitonic networks on a hypercube of as many dimensions of size 2 as the tile has index bits


@triton.jit
def _index_bit(rank: tl.constexpr, bit: tl.constexpr):
    return tl.reshape(tl.arange(0, 2), [1] * (rank - bit - 1) + [2] + [1] * bit)


@triton.jit
def _exchange(x, flip, bit: tl.constexpr):
    rank: tl.constexpr = _log2(x.numel)
    bits = x.to(_bits_type(x.dtype), bitcast=True)
    partner = bits ^ xor_sum(bits, rank - 1 - bit, True)
    y = partner.to(x.dtype, bitcast=True)
    upper = _index_bit(rank, bit)
    return tl.where((x > y) != (flip ^ upper), y, x)


# order: 0 rising, 1 falling, 2 rising and falling alternately
@triton.jit
def _merge_hypercube(x, stage: tl.constexpr, order: tl.constexpr):
    if order == 2:
        flip = _index_bit(_log2(x.numel), stage)
    else:
        flip = order
    for i in tl.static_range(stage):
        x = _exchange(x, flip, stage - 1 - i)
    return x


@triton.jit
def _sort_network(x, k: tl.constexpr, descending: tl.constexpr):
    log_n: tl.constexpr = _log2(x.shape[len(x.shape) - 1])
    log_k: tl.constexpr = _log2(k)
    rank: tl.constexpr = _log2(x.numel)
    falling: tl.constexpr = 1 if descending else 0
    h = tl.reshape(x, [2] * rank if rank > 0 else [1])
    for i in tl.static_range(1, log_k + 1):
        h = _merge_hypercube(h, i, 2 if i < log_n else falling)
    for i in tl.static_range(log_k + 1, log_n + 1):
        if descending:
            h = tl.reduce(h, _log2(h.numel) - 1 - log_k, _larger)
        else:
            h = tl.reduce(h, _log2(h.numel) - 1 - log_k, _smaller)
        h = _merge_hypercube(h.to(x.dtype), log_k, 2 if i < log_n else falling)
    return tl.reshape(h, x.shape[:-1] + [k])


# Floats are sorted as integers in the same order: -NaN does not exist, then -inf ... -0.0, 0.0 ... inf, NaN. Equal integers have equal bits, so
# an exchange never loses a value.


@triton.constexpr_function
def _infinity_bits(dtype):
    if dtype == tl.float16:
        return 0x7c00
    if dtype == tl.bfloat16:
        return 0x7f80
    if dtype == tl.float32:
        return 0x7f800000
    if dtype == tl.float64:
        return 0x7ff0000000000000
    if dtype == tl.float8e5:
        return 0x7c
    return 0x7e if dtype == tl.float8e4nv else 0x7f  # the largest number; float8e4b15 has no NaN


@triton.constexpr_function
def _has_one_nan(dtype):
    return dtype == tl.float8e4b8 or dtype == tl.float8e5b16


@triton.jit
def _sort_key(x):
    largest: tl.constexpr = _bits_type(x.dtype).get_int_max_value()
    sign: tl.constexpr = x.dtype.primitive_bitwidth - 1
    bits = x.to(_bits_type(x.dtype), bitcast=True)
    if x.dtype != tl.float8e4b15:
        magnitude = bits & largest
        bits = tl.where(magnitude > _infinity_bits(x.dtype), magnitude, bits)
    return bits ^ ((bits >> sign) & largest)


@triton.jit
def _from_sort_key(key, dtype: tl.constexpr):
    bits = key ^ ((key >> (dtype.primitive_bitwidth - 1)) & key.dtype.get_int_max_value())
    return bits.to(dtype, bitcast=True)


# CPUs use one operation (tl._sort), which computes the same result as the network.
@triton.jit
def sort_impl(x, k: tl.constexpr = None, dim: tl.constexpr = None, descending: tl.constexpr = False):
    axis: tl.constexpr = _axis(dim, len(x.shape))
    tl.static_assert(axis == len(x.shape) - 1, "only the last dimension can be sorted")
    wanted: tl.constexpr = x.shape[axis] if k is None else k
    if wanted == x.shape[axis]:
        return _sorted(x, wanted, descending)
    else:
        return _sorted(x, wanted, descending).to(_order_type(x.dtype))  # as max has it, which leaves some out


@triton.jit
def _sorted(x, k: tl.constexpr, descending: tl.constexpr):
    if not x.dtype.is_floating():
        return _first_sorted(x, k, descending)
    elif _has_one_nan(x.dtype):  # in the place of -0.0; as fp16, which holds all its numbers
        return _sorted(x.to(tl.float16), k, descending).to(x.dtype)
    else:
        return _from_sort_key(_first_sorted(_sort_key(x), k, descending), x.dtype)


@triton.jit
def _first_sorted(x, k: tl.constexpr, descending: tl.constexpr):
    if not _has_powers(x.shape + [k]):
        return _sort_any_size(x, k, descending)
    return tl._sort(x, k, descending, _sort_network)


# Tiles of any size: the network sorts one whose sizes are powers of two. The padding sorts after the elements.


@triton.jit
def _picked(x, index, axis: tl.constexpr):
    rank: tl.constexpr = len(x.shape)
    shape: tl.constexpr = x.shape[:axis] + [index.shape[0]] + x.shape[axis + 1:]
    index = tl.reshape(index, [1] * axis + [index.shape[0]] + [1] * (rank - axis - 1))
    return tl.gather(x, tl.broadcast_to(index, shape), axis)


@triton.jit
def _resized(x, axis: tl.constexpr, size: tl.constexpr):
    return _picked(x, tl.minimum(tl.arange(0, size), x.shape[axis] - 1), axis)


@triton.jit
def _sort_any_size(x, k: tl.constexpr, descending: tl.constexpr):
    n: tl.constexpr = x.shape[-1]
    rows: tl.constexpr = x.numel // n
    wide = _resized(_resized(tl.reshape(x, [rows, n]), 0, _next_power(rows)), 1, _next_power(n))
    is_valid_element = tl.arange(0, _next_power(n)) < n
    wide = tl.where(is_valid_element[None, :], wide, x.dtype.get_int_min_value() if descending else x.dtype.get_int_max_value())
    wide = _first_sorted(wide, _next_power(k), descending)
    return tl.reshape(_resized(_resized(wide, 0, rows), 1, k), x.shape[:-1] + [k])


@triton.jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    return sort_impl(x, dim=dim, descending=descending)


@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True):
    tl._check_topk(x, k)
    return sort_impl(x, k=k, dim=dim, descending=descending)


@triton.jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    axis: tl.constexpr = _axis(dim, len(x.shape))
    tl.static_assert(axis == len(x.shape) - 1, "only the last dimension can be merged")
    return _merged(x, descending)


@triton.jit
def _merged(x, descending: tl.constexpr):
    if x.dtype.is_floating() and _has_one_nan(x.dtype):
        return _merged(x.to(tl.float16), descending).to(x.dtype)
    elif x.dtype.is_floating():
        return _from_sort_key(_merged(_sort_key(x), descending), x.dtype)
    elif not _has_powers(x.shape):
        return _sort_any_size(x, x.shape[len(x.shape) - 1], descending)
    else:
        falling: tl.constexpr = 1 if descending else 0
        h = tl.reshape(x, [2] * _log2(x.numel))
        h = _merge_hypercube(h, _log2(x.shape[len(x.shape) - 1]), falling)
        return tl.reshape(h, x.shape)


@triton.jit
def flip(x, dim=None):
    axis: tl.constexpr = _axis(dim, len(x.shape))
    tl.static_assert(0 <= axis, "flip: there is no such dimension")
    tl.static_assert(axis < len(x.shape), "flip: there is no such dimension")
    if not _has_powers(x.shape):
        return _picked(x, x.shape[axis] - 1 - tl.arange(0, x.shape[axis]), axis)
    steps: tl.constexpr = _log2(x.shape[axis])
    bits = x.to(_bits_type(x.dtype), bitcast=True)
    y = tl.reshape(bits, x.shape[:axis] + [2] * steps + x.shape[axis + 1:])
    for i in tl.static_range(steps):
        y = y ^ xor_sum(y, axis + i, True)
    return tl.reshape(y, x.shape).to(x.dtype, bitcast=True)


# ---- random numbers: Philox-4x32-10 and Philox-4x64-10


@triton.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    wide: tl.constexpr = c0.dtype.primitive_bitwidth == 64
    step0: tl.constexpr = 0x9E3779B97F4A7C15 if wide else 0x9E3779B9
    step1: tl.constexpr = 0xBB67AE8584CAA73B if wide else 0xBB67AE85
    factor0: tl.constexpr = 0xD2E7470EE14C6C93 if wide else 0xD2511F53
    factor1: tl.constexpr = 0xCA5A826395121157 if wide else 0xCD9E8D57
    for _ in tl.static_range(n_rounds):
        a = factor0
        b = factor1
        old0, old2 = c0, c2
        c0 = tl.umulhi(b, old2) ^ c1 ^ k0
        c2 = tl.umulhi(a, old0) ^ c3 ^ k1
        c1 = tl.mul(b, old2, sanitize_overflow=False)
        c3 = tl.mul(a, old0, sanitize_overflow=False)
        k0 = tl.add(k0, step0, sanitize_overflow=False)
        k1 = tl.add(k1, step1, sanitize_overflow=False)
    return c0, c1, c2, c3


@triton.jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed is an integer")
    seed = seed.to(tl.uint64)
    c0 = tl.to_tensor(c0)
    c1 = tl.to_tensor(c1)
    c2 = tl.to_tensor(c2)
    c3 = tl.to_tensor(c3)
    if c0.dtype.primitive_bitwidth == 32:
        dtype: tl.constexpr = tl.uint32
        key1 = ((seed >> 32) & 0xffffffff).to(tl.uint32)
        key0 = (seed & 0xffffffff).to(tl.uint32)
    else:
        tl.static_assert(c0.dtype.primitive_bitwidth == 64, "philox counts in 32 or 64 bits")
        dtype: tl.constexpr = tl.uint64
        key1 = tl.full((1, ), 0, dtype=tl.uint64)
        key0 = seed
    c0 = c0.to(dtype, bitcast=True)
    c1 = c1.to(dtype, bitcast=True)
    c2 = c2.to(dtype, bitcast=True)
    c3 = c3.to(dtype, bitcast=True)
    return philox_impl(c0, c1, c2, c3, key0, key1, n_rounds)


@triton.jit
def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@triton.jit
def randint(seed, offset, n_rounds: tl.constexpr = 10):
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@triton.jit
def uint_to_uniform_float(x):
    if x.dtype.primitive_bitwidth == 32:
        x = x.to(tl.int32, bitcast=True)
        scale = 4.6566127342e-10
    else:
        tl.static_assert(x.dtype.primitive_bitwidth == 64, "uint_to_uniform_float takes 32 or 64 bits")
        x = x.to(tl.int64, bitcast=True)
        scale = 1.0842020432385337e-19
    x = tl.where(x < 0, -x - 1, x)
    return x * scale


@triton.jit
def pair_uniform_to_normal(u1, u2):
    u1 = tl.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = tl.sqrt(-2.0 * tl.log(u1))
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def rand(seed, offset, n_rounds: tl.constexpr = 10):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    i1, i2, i3, i4 = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(i1), uint_to_uniform_float(i2), uint_to_uniform_float(i3), uint_to_uniform_float(i4)


@triton.jit
def randn(seed, offset, n_rounds: tl.constexpr = 10):
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))
    return first


@triton.jit
def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
