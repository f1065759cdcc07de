"""Small random programs about addresses, which violate everything that an address analysis might assume.

Rows and columns come from ranges, scalars and memory; they are shifted below zero, wrap around in narrow types, go backwards, modulo, beyond 2^31 and
back. Masks have lower and upper bounds, and every access is in bounds where its mask is true. Each element of an output is stored by one
program at most. Values are quarters of small whole numbers, so that sums and products are exact and every engine must give the same bits.

Most tiles are small, since larger ones take longer and have no other kinds of addresses. Some programs test only GPUs:
products that ask for a warp of its own for copies, and programs of two blocks. `kinds` lists the features of a program, so that a run can
count how often each was tested.

A program is launched several times, with other numbers and other memory: its scalars stay of the kind for which the kernel is compiled (1, a
multiple of 16, any other), so that one compilation serves all launches. Two arguments may be overlapping views of one memory; if there
is only one program, a tensor that it reads and one that it writes may overlap, too. A tensor of bytes may be larger than 2^32; only small parts of it
are real memory.
"""

import functools
import mmap
import random

ROOM = 1 << 15  # elements of a tensor
WIDE, WIDE_STEP = 1 << 33, 1 << 25  # elements of the wide tensor, of which ROOM elements at every WIDE_STEP are real memory

SCALARS = {
    "shift": [-64, -32, -16, -16, -3, -1, 0, 1, 16, 32, 48],
    "lift": [-32, -16, -5, 0, 0, 2, 16],
    "M": [1, 15, 16, 33, 64, 96, 100, 128],
    "N": [1, 16, 17, 32, 60, 64, 128],
    "iterations": [0, 1, 2, 3, 4],
    "wrap": [1, 7, 16, 24, 64, 1 << 20],
    "far": [1 << 31, 1 << 33, -(1 << 32)],
}


# {feature by which programs are counted: words in a program's text that show it}
KINDS = {
    "negative strides": ["* back", " - 1 - ("],
    "narrow or unsigned indices": ["tl.int8)", "tl.uint8)", "tl.int16)", "tl.uint32)"],
    "loaded indices": ["tl.load(in0 + tl.arange", "tl.load(in1 + tl.arange", "tl.load(in2 + tl.arange", "+ pid)"],
    "modulo": [" % "],
    "beyond 2^31": ["+ far - far", str(WIDE_STEP)],
    "products": ["tl.dot("],
    "while loops": ["while "],
    "atomics": ["tl.atomic_"],
    "warp roles asked": ["warp_specialize=True"],
}


def kind(value):
    """The kind of a scalar's value, by which kernels are specialized."""
    return value == 1, value % 16 == 0


class Output:
    """The allowed error of an output's elements, in the form of the other generator's tiles."""

    size = error = 0.0


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.names, self.inputs, self.outputs = [], 0, [], []
        self.unsigned = set()
        self.programs = self.rng.choice([1, 2, 3, 5])
        # A warp of its own for copies is asked of programs with two warpgroups that multiply, 64 rows each.
        self.roles = self.chance(0.15)
        self.rows = 128 if self.roles else self.rng.choices([16, 32, 64], [5, 3, 2])[0]
        self.columns = self.rng.choices([16, 32, 64, 128], [6, 3, 1, 0.5])[0]
        self.ctas = 2 if not self.roles and self.chance(0.1) else 1
        self.count = self.rows * self.columns
        self.shape = [self.rows, self.columns]
        self.programs = min(self.programs, ROOM // self.count)
        self.scalars = {name: self.rng.choice(choices) for name, choices in SCALARS.items()}
        self.scalars["stride"] = self.rng.choice([128, 128, 160, 192, self.scalars["N"] + 7 if self.scalars["N"] < 120 else 144])
        self.scalars["back"] = -self.scalars["stride"]
        self.wide = None  # the input with WIDE elements
        self.overlaps = False

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def line(self, text, depth=1):
        self.lines.append("    " * depth + text)

    def chance(self, probability):
        return self.rng.random() < probability

    def new_input(self, dtype):
        for name, have in self.inputs:
            if have == dtype and name != self.wide and self.chance(0.5):
                return name
        name = f"in{len(self.inputs)}"
        self.inputs.append((name, dtype))
        return name

    def kinds(self):
        """The program's features: those in KINDS, and a few that its text does not show."""
        text = "\n".join(self.lines)
        found = [name for name, words in KINDS.items() if any(word in text for word in words)]
        return found + [name for name, has in [("two blocks a program", self.ctas > 1), ("views that overlap", self.overlaps)] if has]

    def warps(self, otherwise):
        return 8 if self.roles else otherwise

    def index(self, size, depth, iteration=None):
        """A vector of `size` integers, most of them near the valid indices of a tensor."""
        vector = f"tl.arange(0, {size})"
        start = self.rng.choice(["", f"pid * {size} + ", f"pid * {size} + ", f"{iteration} * {size} + " if iteration else ""])
        form, name = self.rng.randint(0, 3 if self.roles else 14), self.fresh("i")
        if form <= 3:
            text = f"{start}{vector} + {self.rng.choice(['shift', 'lift', '0', '-16', 'shift'])}"
        elif form == 4:
            text = f"({start}{vector} + {self.rng.choice(['shift', 'lift', '0'])}) % {self.rng.choice(['M', 'N', 'wrap'])}"
        elif form == 5:
            text = f"({vector} * {self.rng.choice([1, 3, 4])}).to(tl.int8).to(tl.int32) + lift"
        elif form == 6:
            text = f"({vector}.to(tl.uint8) + {self.rng.choice([16, 200, 240])}).to(tl.uint8).to(tl.int32) + shift"
        elif form == 7:
            text = f"({vector}.to(tl.int16) * {self.rng.choice([1, 2000])}).to({self.rng.choice(['tl.int32', 'tl.int64'])})"
        elif form == 8:
            text = f"tl.load({self.new_input('int32')} + {vector}) + {self.rng.choice(['lift', '0', vector])}"
        elif form == 9:
            text = f"{start}{vector} + tl.load({self.new_input('int32')} + pid)"
        elif form == 10:
            text = f"{self.rng.choice(['M', 'N'])} - 1 - ({start}{vector})"
        elif form == 11:
            text = f"({start}{vector}).to(tl.int64) + far - far"
        elif form == 12:
            text = f"({start}{vector} + shift) // {self.rng.choice([1, 2, 3])}"
        elif form == 13:
            text = f"{vector}.to(tl.uint32) + tl.cast({self.rng.choice([0, 16, 48])}, tl.uint32)"
        else:
            text = f"tl.where({vector} < {size // 2}, {vector} + shift, {vector} - lift)"
        if form == 13:
            self.unsigned.add(name)
        self.line(f"{name} = {text}", depth)
        return name

    def bounds(self, index, bound):
        """Terms of a mask for 0 <= index < bound, in one of the ways in which authors write it."""
        form = self.rng.randint(0, 3)
        if form == 0 or index.split("[")[0] in self.unsigned:  # unsigned numbers cannot be compared with -1
            return [f"({index} >= 0)", f"({index} < {bound})"]
        if form == 1:
            return [f"({bound} > {index})", f"(0 <= {index})"]
        if form == 2:
            return [f"({index} > -1)", f"({index} <= {bound} - 1)"]
        return [f"(({index} >= 0) & ({index} < {bound}))"]

    def wide_input(self):
        """The name of the tensor whose offsets do not fit in 32 bits."""
        if not self.wide:
            self.wide = f"in{len(self.inputs)}"
            self.inputs.append((self.wide, "int8"))
        return self.wide

    def load(self, dtype, rows, columns, depth, iteration=None):
        """The name of a [rows, columns] tile of values from memory."""
        wide = dtype == "int8" and self.chance(0.2)
        source, tile = self.wide_input() if wide else self.new_input(dtype), self.fresh("x")
        names = self.index(rows, depth, iteration), self.index(columns, depth, iteration)
        row, column = f"{names[0]}[:, None]", f"{names[1]}[None, :]"
        terms = self.bounds(row, "M") + self.bounds(column, "N")
        # A negative index must not become unsigned.
        row, column = (text + ".to(tl.int64)" if name in self.unsigned else text for name, text in zip(names, (row, column)))
        self.rng.shuffle(terms)
        form = 4 if self.roles else self.rng.randint(0, 4)
        if wide:
            place = self.rng.choice([f"{row}.to(tl.int64) * stride + {column} + {self.rng.choice([0, 64, 128]) * WIDE_STEP}",
                                     f"{row}.to(tl.int64) * {WIDE_STEP} + {column}", f"{column}.to(tl.int64) * {WIDE_STEP} + {row} + 64"])
        elif form == 0:
            place = f"(M - 1) * stride + {row} * back + {column}"
        elif form == 1:  # the other way round in memory
            place = f"{column} * stride + {row}"
        elif form == 2 and self.chance(0.5):
            place = f"{row} * stride + {column} + shift"
            terms += [f"({row} * stride + {column} + shift >= 0)"]
        elif form == 3:
            place = f"{row}.to(tl.int64) * stride + {column} + far - far"
        else:
            place = f"{row} * stride + {column}"
        other = "0" if self.roles else self.rng.choice(["0", "0", "1"])
        self.line(f"{tile} = tl.load({source} + {place}, mask={' & '.join(terms)}, other={other})", depth)
        return tile

    def make_store(self, tile, dtype):
        name = f"out{len(self.outputs)}"
        self.outputs.append((name, dtype, [Output()]))
        row, column = "(pid * ROWS + r0)[:, None]", "r1[None, :]"
        terms = []
        offset = ""
        form = self.rng.randint(0, 3)
        if form == 0:
            offset = " + shift"
            terms = [f"({column} + shift >= 0)", f"({column} + shift < COLUMNS)"]
        elif form == 1:
            offset = " + lift * COLUMNS"
            terms = [f"({row} + lift >= 0)", f"({row} + lift < {self.rng.choice(['M', 'ROWS'])})"]
        place = f"{row} * COLUMNS + {column}" if form != 2 else f"({self.programs} * ROWS - 1 - {row}) * COLUMNS + {column}"
        if self.chance(0.4):
            terms.append(self.rng.choice([f"({row} < M)", f"({column} < N)", f"({row} >= lift)", f"({column} >= shift)"]))
        mask = f", mask={' & '.join(terms)}" if terms else ""
        if dtype in ("int32", "int64", "float32") and self.chance(0.25):
            self.make_atomics(name, dtype, place, offset, tile, mask)
        else:
            self.line(f"tl.store({name} + {place}{offset}, {tile}{mask})")

    def make_atomics(self, name, dtype, place, offset, tile, mask):
        """Changes an output's elements by atomics, and reads them again, after other threads of the program may have changed them."""
        order = self.rng.choice(["relaxed", "relaxed", "acq_rel", "release"])
        for _ in range(self.rng.choice([1, 1, 2])):
            operation = self.rng.choice(["add", "max", "min"])
            self.line(f"tl.atomic_{operation}({name} + {place}{offset}, {tile}{mask}, sem='{order}')")
        if offset or self.chance(0.3):
            return
        back, out = self.fresh("y"), f"out{len(self.outputs)}"
        self.outputs.append((out, dtype, [Output()]))
        self.line(f"{back} = tl.load({name} + {place.replace('r0', '(ROWS - 1 - r0)')})")
        self.line(f"tl.store({out} + {place}, {back})")

    def make_loop(self, total, body):
        iteration, form = self.fresh("k"), self.rng.randint(0, 3)
        if form == 0:
            self.line(f"{iteration} = 0")
            self.line(f"while {iteration} < iterations:")
        elif form == 1:
            self.line(f"for {iteration} in range(iterations, 0, -1):")
        else:
            self.line(f"for {iteration} in range({self.rng.choice(['iterations', 'iterations', '2'])}):")
        self.line(f"{total} = {body(iteration)}", 2)
        if form == 0:
            self.line(f"{iteration} += 1", 2)

    def make_matmul(self):
        dtype = self.rng.choice(["float16", "float16", "bfloat16", "float8e4nv"])
        depth = self.rng.choices([32, 64] if dtype == "float8e4nv" else [16, 32, 64], [2, 1] if dtype == "float8e4nv" else [2, 2, 1])[0]
        total = self.fresh("sum")
        self.line(f"{total} = tl.zeros((ROWS, COLUMNS), tl.float32)")

        def body(iteration):
            a = self.load(dtype, self.rows, depth, 2, iteration)
            b = self.load(dtype, depth, self.columns, 2, iteration)
            return f"tl.dot({a}, {b}, {total})"

        self.make_loop(total, body)
        self.make_store(total, "float32")

    def make_roles(self):
        """A product that asks for a warp of its own for its copies; or two products, the second one of the first one's result, as in attention."""
        dtype, depth, total, iteration = self.rng.choice(["float16", "bfloat16"]), self.rng.choice([16, 32, 64]), self.fresh("sum"), self.fresh("k")
        chained = self.columns <= 64 and depth <= 32 and dtype == "float16"
        first = self.load(dtype, self.rows, depth, 1) if chained else None
        self.line(f"{total} = tl.zeros((ROWS, COLUMNS), tl.float32)")
        self.line(f"for {iteration} in tl.range(0, iterations, warp_specialize=True):")
        if chained:
            scores = f"tl.dot({first}, {self.load(dtype, depth, 32, 2, iteration)})"
            self.line(f"    {total} = tl.dot(tl.maximum({scores}, 0).to(tl.float16), {self.load(dtype, 32, self.columns, 2, iteration)}, {total})")
        else:
            a = self.load(dtype, self.rows, depth, 2, iteration)
            self.line(f"    {total} = tl.dot({a}, {self.load(dtype, depth, self.columns, 2, iteration)}, {total})")
        self.make_store(total, "float32")

    def make_copy(self):
        dtype = self.rng.choice(["int32", "float32", "float16", "int8", "int64"])
        tile = self.load(dtype, self.rows, self.columns, 1)
        if self.chance(0.3):
            other = self.load(dtype, self.rows, self.columns, 1)
            tile = f"{tile} + {other}"
        self.make_store(tile, dtype)

    def make_sum_loop(self):
        total = self.fresh("sum")
        self.line(f"{total} = tl.zeros((ROWS, COLUMNS), tl.float32)")
        dtype = self.rng.choice(["float32", "float16", "int32"])
        self.make_loop(total, lambda iteration: f"{total} + {self.load(dtype, self.rows, self.columns, 2, iteration)}" + (".to(tl.float32)" if dtype == "int32" else ""))
        self.make_store(total, "float32")

    def program(self):
        self.line("pid = tl.program_id(0)")
        self.line("r0 = tl.arange(0, ROWS)")
        self.line("r1 = tl.arange(0, COLUMNS)")
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            (self.make_roles if self.roles else self.rng.choices([self.make_copy, self.make_matmul, self.make_sum_loop], [3, 2, 1])[0])()
        names = [name for name, _ in self.inputs] + [name for name, _, _ in self.outputs] + list(self.scalars)
        head = ["import tilewright as triton", "import tilewright.language as tl", "", "", f"ROWS: tl.constexpr = {self.rows}",
                f"COLUMNS: tl.constexpr = {self.columns}", "", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
        return "\n".join(head + self.lines) + "\n"

    # ---------------------------------------------------------------- launches

    def other_scalars(self):
        """Other numbers of the same kinds."""
        scalars = {name: self.rng.choice([value for value in choices if kind(value) == kind(self.scalars[name])]) for name, choices in SCALARS.items()}
        return scalars | {name: self.scalars[name] for name in ("stride", "back")}

    def arrays(self, rng, types):
        """Inputs and outputs."""
        inputs, outputs = {}, {}
        for name, dtype in self.inputs:
            peers = [other for other, have in self.inputs if have == dtype and other in inputs and other != self.wide]
            if name == self.wide:
                inputs[name] = wide_memory()
            elif peers and rng.random() < 0.5:
                memory, self.overlaps = data(dtype, types[dtype], rng), True
                inputs[name] = memory
                inputs[peers[0]] = memory[16:]
            else:
                inputs[name] = data(dtype, types[dtype], rng)
        for name, dtype, _ in self.outputs:
            peers = [other for other, have in self.inputs if have == dtype and other != self.wide and len(inputs[other]) == ROOM]
            if self.programs == 1 and peers and rng.random() < 0.5:
                shift = int(rng.choice([0, 16, self.columns, 1024]))
                memory, self.overlaps = data(dtype, types[dtype], rng, ROOM + shift), True
                ends = memory[shift:], memory[:ROOM]
                outputs[name], inputs[peers[0]] = ends if rng.random() < 0.5 else ends[::-1]
            else:
                outputs[name] = data(dtype, types[dtype], rng)
        return inputs, outputs


@functools.cache
def pool(dtype, type):
    """Elements from which tensors are made; integers are also used as indices."""
    import numpy as np

    rng, count = np.random.default_rng(len(dtype)), 16 * ROOM
    if dtype.startswith("int"):
        return rng.integers(-8, 40, count).astype(type)
    if dtype == "float8e4nv":
        return (rng.integers(-2, 3, count).astype(np.float32) / 2).astype(type)
    return (rng.integers(-4, 5, count) / 4).astype(type)


def data(dtype, type, rng, count=ROOM):
    start = int(rng.integers(0, 14 * ROOM))
    return pool(dtype, type)[start:start + count].copy()


@functools.cache
def wide_memory():
    """Address space that becomes real memory where it is written."""
    import numpy as np

    memory = np.frombuffer(mmap.mmap(-1, WIDE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000), np.int8)  # MAP_NORESERVE
    rng = np.random.default_rng(0)
    for start in range(0, 129 * WIDE_STEP, WIDE_STEP):
        memory[start:start + ROOM] = data("int8", np.int8, rng)
    memory.flags.writeable = False
    return memory
