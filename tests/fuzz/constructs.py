"""Rarer statements of random programs: sorting, tuples through reductions and scans, helpers, descriptors.

Each function takes the generator (programs.py), writes lines, and leaves its result as a tile of the program's shape. All results are exact:
integers, or floats without rounding.
"""

# Functions at the head of every program. Combinations are associative, and those of reductions commutative, because machines may regroup them.
HELPERS = """
@triton.jit
def both(a0, a1, b0, b1):
    return a0 + b0, tl.maximum(a1, b1)


@triton.jit
def best(a0, a1, b0, b1):
    first = (a0 > b0) | ((a0 == b0) & (a1 < b1))
    return tl.where(first, a0, b0), tl.where(first, a1, b1)


@triton.jit
def affine(a0, a1, b0, b1):
    return a0 * b0, a1 * b0 + b1


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def either(a, b, first: tl.constexpr, step=3):
    if first:
        return a + step
    return b ^ step


@triton.jit
def mixed(a, b, n):
    if n > 1:
        c = a + b
    else:
        c = a - b
    return c, tl.minimum(c, b)


@triton.jit
def folded(x, n):
    for i in range(n):
        x = x * 3 + i
    return x


@triton.jit
def of_pair(a0, a1, b0, b1):
    return a1 - b0, a0 ^ b1


@triton.jit
def steps(x, y):
    n = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = x - 1
        n += 1
    if y < 0:
        n = -n
    return n
"""

WORDS = ["int32", "int32", "int64"]


def exact_tile(g, *dtypes):
    return g.pick(lambda t: t.exact and t.dtype in dtypes)


def word(g):
    """(text of a tile of 32-bit or 64-bit integers, their type)."""
    dtype = g.rng.choice(WORDS)
    return g.integer(dtype), dtype


def last(g, text):
    return f"tl.broadcast_to({text}, {g.shape_text()})"


def sort(g):
    tile = exact_tile(g, "int32", "int64", "int8", "uint16", "uint32", "float32", "float16")
    if tile:
        g.add(f"tl.sort({tile.name}, descending={g.chance(0.5)})", tile.dtype, tile.size)


def topk(g):
    tile = exact_tile(g, "int32", "uint8", "int64", "float32")
    if not tile or g.shape[-1] < 2:
        return
    k = g.rng.choice([k for k in (1, 2, 4, 8) if k <= g.shape[-1]])
    found = f"tl.topk({tile.name}, {k})"
    text = f"tl.min({found}, {g.rank - 1}, keep_dims=True)" if g.chance(0.5) else f"tl.max({found}, {g.rank - 1}, keep_dims=True)"
    g.add(f"{last(g, text)}.to(tl.{tile.dtype})", tile.dtype, tile.size)


def indices(g):
    tile = exact_tile(g, "int32", "int64", "float32")
    if not tile:
        return
    axis, value, place = g.rng.randrange(g.rank), g.fresh("m"), g.fresh("w")
    keep = f"{tile.name}, {axis}, return_indices=True"
    g.line(f"{value}, {place} = tl.{g.rng.choice(['max', 'min'])}({keep})")
    g.add(f"{g.spread(value, axis)}.to(tl.{tile.dtype})", tile.dtype, tile.size)
    g.add(f"{g.spread(place, axis)}.to(tl.int32)", "int32")


def reduce_pair(g):
    (a, dtype), axis, combine = word(g), g.rng.randrange(g.rank), g.rng.choice(["both", "best"])
    # `best` needs an index that breaks every tie.
    b = g.integer("int32") if combine == "both" else "at"
    x, y = g.fresh("p"), g.fresh("q")
    g.line(f"{x}, {y} = tl.reduce(({a}, {b}), {axis}, {combine})")
    g.add(f"{g.spread(x, axis)} ^ {g.spread(y, axis)}.to(tl.{dtype})", dtype)


def scan_pair(g):
    (a, dtype), axis = word(g), g.rng.randrange(g.rank)
    x, y = g.fresh("p"), g.fresh("q")
    g.line(f"{x}, {y} = tl.associative_scan(({a}, {g.integer(dtype)}), {axis}, {g.rng.choice(['affine', 'both'])}, reverse={g.chance(0.5)})")
    g.add(f"{x} - {y}", dtype)


def scan_multiply(g):
    a, dtype = word(g)
    axis = g.rng.randrange(g.rank)
    if g.chance(0.5):
        g.add(f"tl.cumprod({a}, {axis})", dtype)
    else:
        g.add(f"tl.associative_scan({a}, {axis}, times, reverse={g.chance(0.5)})", dtype)


def interleave(g):
    a, dtype = word(g)
    low, high, wide = g.fresh("lo"), g.fresh("hi"), g.fresh("wide")
    g.line(f"{wide} = tl.interleave({a}, {g.integer(dtype)})")
    g.line(f"{low}, {high} = tl.split(tl.reshape({wide}, {g.shape_text()[:-2]}, 2)))")
    g.add(f"{low} * 5 - {high}", dtype)


def call(g):
    a, dtype = word(g)
    b, form = g.integer(dtype), g.rng.randint(0, 4)
    if form == 0:
        g.add(f"either({a}, {b}, {g.chance(0.5)}{', step=5' if g.chance(0.5) else ''})", dtype)
    elif form == 1:
        x, y = g.fresh("p"), g.fresh("q")
        g.line(f"{x}, {y} = mixed({a}, {b}, {g.rng.choice(['iterations', 'low', '2', 'n0'])})")
        g.add(f"{x} ^ {y}", dtype)
    elif form == 2:
        g.add(f"folded({a}, {g.rng.choice(['iterations', '2', 'low & 3'])})", dtype)
    elif form == 3 and g.shape[-1] % 8 == 0:
        g.add(f"tl.map_elementwise(of_pair, {a}, {b}, pack=2)[0]", dtype)
    else:
        g.add(f"tl.map_elementwise(steps, ({g.integer('int32')} & 63), {g.integer('int32')})", "int32")


def scalar_of(g):
    """The text of a scalar that depends on the data."""
    tile = exact_tile(g, "int32")
    return f"tl.{g.rng.choice(['max', 'min', 'xor_sum'])}(tl.reshape({tile.name}, ({g.count},)), 0)" if tile else "low"


def data_branch(g):
    a, dtype = word(g)
    name, kept = g.fresh("s"), g.fresh("kept")
    g.line(f"{name} = {scalar_of(g)}")
    g.line(f"{kept} = {a} + 1")
    form = g.rng.randint(0, 2)
    if form == 0:
        g.line(f"if {name} > {g.rng.choice(['0', 'iterations', '50', 'n0'])}" + g.rng.choice(["", " and iterations > 1", " or low > 0"]) + ":")
        g.line(f"    {kept} = {kept} * 2 - {g.integer(dtype)}")
    elif form == 1:
        g.line(f"for {g.fresh('i')} in range({name} & 3):")
        g.line(f"    {kept} = {kept} * 3 + {name}")
    else:
        left = g.fresh("left")
        g.line(f"{left} = {name} & 3")
        g.line(f"while {left} > 0:")
        g.line(f"    {kept} = {kept} ^ ({g.integer(dtype)} + {left})")
        g.line(f"    {left} -= 1")
    g.add(f"({kept} ^ {name}.to(tl.{dtype})).to(tl.{dtype})" if name else kept, dtype)


def counted_loop(g):
    """A loop over a range, in one of the ways of writing it."""
    a, dtype = word(g)
    name, i = g.fresh("acc"), g.fresh("i")
    g.line(f"{name} = {a} * 1")
    span = g.rng.choice(["range(iterations, 0, -1)", "range(low, iterations)", "tl.range(0, iterations, num_stages=3)", "range(0, iterations * 3, 2)", "range(pid, 4, 3)",
                         "tl.range(0, iterations, loop_unroll_factor=2)", "tl.static_range(3, 0, -1)", "tl.range(1, iterations + 1, flatten=True)"])
    g.line(f"for {i} in {span}:")
    source = g.new_input("int32")
    g.line(f"    {name} += tl.load({source} + {g.rng.choice(['at', 'back'])} + ({i} + 3) * {g.rng.choice([1, 4, 16])}).to(tl.{dtype})")
    if g.chance(0.5):
        g.line(f"    {name} = {name} ^ ({g.integer(dtype)} + {i})")
    g.add(f"{name} + 0", dtype)


def descriptor(g):
    """Accesses through a descriptor: elements outside the tensor are read as zeros, and not written."""
    dtype = g.rng.choice(["int32", "int32", "float32", "int16", "float16", "uint8"])
    bytes_of = {"int32": 4, "float32": 4, "int16": 2, "float16": 2, "uint8": 1}[dtype]
    if g.shape[-1] * bytes_of < 16:
        return
    writes = g.chance(0.4)
    tensor = g.new_output(dtype) if writes else g.new_input(dtype)
    # Each program owns a part of the tensor: the first dimension has one block for each.
    extents = [g.rng.choice([size, size, max(1, size - 1), size // 2 + 1]) for size in g.shape]
    strides, stride = [], 1
    for size in reversed(g.shape):
        strides.insert(0, stride)
        stride *= max(size, 16 // bytes_of) if stride == 1 else size
    name = g.fresh("d")
    g.line(f"{name} = tl.make_tensor_descriptor({tensor} + pid * {g.count}, {extents}, {strides}, {g.shape})")
    offsets = [g.rng.choice([0, 0, 0, 1, size // 2]) * (d + 1 < g.rank or bytes_of >= 4) for d, size in enumerate(g.shape)]
    offsets[-1] = offsets[-1] // 4 * 4 if not writes else 0
    if not writes:
        value = f"{name}.load({offsets})"
        g.add(value, dtype, 2.0)
        return
    tile = exact_tile(g, dtype)
    if tile:
        g.outputs[-1][2].append(tile)
    value = tile.name if tile else f"tl.full({g.shape_text()}, 1, tl.{dtype})"
    g.line(f"{name}.store({offsets}, {value})")


def block_pointer(g):
    dtype = g.rng.choice(["int32", "float32", "int8", "float16"])
    extents = [g.rng.choice([str(size), str(size), f"n{d}", str(max(1, size - 1))]) for d, size in enumerate(g.shape)]
    strides = [g.stride(d) for d in range(g.rank)]
    order = list(range(g.rank))[::-1]
    name = g.fresh("b")
    source = g.new_input(dtype)
    g.line(f"{name} = tl.make_block_ptr({source} + pid * {g.count}, ({', '.join(extents)},), {tuple(strides)}, {tuple([0] * g.rank)}, {tuple(g.shape)}, {tuple(order)})")
    if g.chance(0.5):
        g.line(f"{name} = tl.advance({name}, {tuple(g.rng.choice([0, 1, 2]) for _ in g.shape)})")
    g.add(f"tl.load({name}, boundary_check={tuple(range(g.rank))}, padding_option='zero')", dtype, 2.0)


def short_float(g):
    """Conversion to a short float and back: every engine rounds in the same way."""
    tile = exact_tile(g, "float32", "float16", "bfloat16")
    if tile and tile.size < 100:
        kind = g.rng.choice(["float8e5", "float8e4nv", "bfloat16", "float16"])
        g.add(f"{tile.name}.to(tl.{kind}).to(tl.{tile.dtype})", tile.dtype, tile.size * 1.25)


def whole_float(g):
    tile = exact_tile(g, "float32")
    if tile:
        g.add(g.rng.choice([f"tl.floor({tile.name})", f"tl.ceil({tile.name})", f"tl.clamp({tile.name}, -0.5, 0.75)",
                            f"tl.where({tile.name} > 0, {tile.name}, -{tile.name})"]), "float32", tile.size + 1)


def bits(g):
    """A bitcast to another type."""
    a, dtype = word(g)
    unsigned, short = {"int32": ("uint32", "int16"), "int64": ("uint64", "int32")}[dtype]
    g.add(g.rng.choice([f"({a}.to(tl.{unsigned}, bitcast=True) >> 3).to(tl.{dtype}, bitcast=True)", f"{a}.to(tl.{short}).to(tl.{dtype})",
                        f"({a}.to(tl.{unsigned}, bitcast=True) // 7).to(tl.{dtype})", f"({a}.to(tl.{unsigned}, bitcast=True) % 10).to(tl.{dtype})",
                        f"{a} // ((({g.integer(dtype)} & 7) + 1) * -1)", f"{a} % ((({g.integer(dtype)} & 7) + 1) * -1)",
                        f"tl.cdiv({a} & 1023, 7)", f"tl.umulhi({a}.to(tl.{unsigned}, bitcast=True), {a}.to(tl.{unsigned}, bitcast=True)).to(tl.{dtype}, bitcast=True)"]), dtype)


def random_bits(g):
    g.add(f"tl.randint({g.rng.randint(0, 9)}, {g.rng.choice(['at', 'r0', 'back']) if g.rank == 1 else 'at'}).to(tl.int32)", "int32")


def exchange(g):
    """Atomics, each on an element of its own; the old values are used."""
    name, old = g.new_output("int32"), g.fresh("old")
    if g.chance(0.5):
        g.line(f"{old} = tl.atomic_cas({name} + at, {g.integer('int32')}, {g.integer('int32')})")
    else:
        g.line(f"{old} = tl.atomic_xchg({name} + at, {g.integer('int32')})")
    g.add(f"{old} ^ 1", "int32")


def masked_histogram(g):
    tile = exact_tile(g, "int32")
    if tile is None or g.count < 2:
        return
    bins, name = g.rng.choice([4, 16, 32]), g.fresh("h")
    flat = lambda text: f"tl.reshape({text}, ({g.count},))"
    g.line(f"{name} = tl.histogram({flat(tile.name)} & {bins - 1}, {bins}, mask={flat(g.condition())})")
    g.add(f"{tile.name} + tl.sum({name} * tl.arange(0, {bins}), 0)", "int32")


def swizzle(g):
    if g.rank != 2:
        return
    i, j = g.fresh("i"), g.fresh("j")
    rows, columns = g.shape
    g.line(f"{i}, {j} = tl.swizzle2d(r0[:, None] + 0 * r1[None, :], r1[None, :] + 0 * r0[:, None], {rows}, {columns}, {g.rng.choice([1, 2, 4])})")
    g.add(f"{i} * {columns} + {j}", "int32")


def scaled_operand(g, kind, transposed):
    """A tile of codes of a format, from any integers of the program; with e2m1, two in a byte. Their numbers have four significant bits."""
    kept, added = {"e2m1": ("0xff", "0"), "e4m3": ("0x87", "0x38"), "e5m2": ("0x83", "0x3c")}[kind]
    text = f"(({g.integer('int32')} & {kept}) | {added}).to(tl.uint8)"
    return f"tl.permute({text}, (1, 0))" if transposed else text


def dot_scaled(g):
    """A square of numbers in microscaling formats. Numbers times scales are exact in bf16, and so are the sums in fp32."""
    if g.rank != 2 or min(g.shape) < 16 or g.shape[1] < 32:
        return
    rows, columns = g.shape
    kinds = g.rng.choice([("e2m1", "e2m1"), ("e2m1", "e2m1"), ("e4m3", "e5m2"), ("e4m3", "e4m3")])
    depth = columns * (2 if kinds[0] == "e2m1" else 1)
    group = g.rng.choice([16, 32]) if kinds[0] == "e2m1" else 32
    scales = []
    for step in g.rng.sample([1, 3, 5, 7], 2):
        number = f"(tl.arange(0, {rows})[:, None] * {step} + tl.arange(0, {depth // group})[None, :]) & 3"
        scales.append(f"({number}).to(tl.float8e4nv)" if group == 16 else f"(({number}) + 126).to(tl.uint8)")
    if group == 32:
        scales = [scale if g.chance(0.8) else "None" for scale in scales]
    name, (a, b) = g.fresh("d"), (scaled_operand(g, kind, side) for side, kind in enumerate(kinds))
    g.line(f"{name} = tl.dot_scaled({a}, {scales[0]}, '{kinds[0]}', {b}, {scales[1]}, '{kinds[1]}')")
    g.add(last(g, f"tl.sum(({name} * 256).to(tl.int64) * tl.arange(1, {rows + 1})[None, :], 1, keep_dims=True)") + ".to(tl.int32)", "int32")


CONSTRUCTS = [sort, topk, indices, reduce_pair, scan_pair, scan_multiply, interleave, call, call, data_branch, data_branch, counted_loop, counted_loop,
              descriptor, descriptor, block_pointer, short_float, whole_float, bits, bits, random_bits, exchange, masked_histogram, swizzle, dot_scaled]
