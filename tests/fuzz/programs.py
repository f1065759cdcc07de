"""Random tile programs.

A program is a list of lines over tiles of one shape; operations that change the shape (reductions, reshapes, joins, products) return
to it within its line, so that any value can be the operand of any operation. Integers must agree exactly. Every float carries
a bound of its size and of its rounding error, by which results are compared; conditions are made of exact values only.
"""

import math
import random

from constructs import CONSTRUCTS, HELPERS

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SHORT = ["float8e5", "float8e4nv"]
# Bits of operands with block scales, and scales. Numbers times scales, and sums of these, are exact in fp32.
CODES = {"e2m1": lambda x: x, "e4m3": lambda x: x & 0x87 | 0x38, "e5m2": lambda x: x & 0x83 | 0x3C, "e2m3": lambda x: x,
         "e3m2": lambda x: x & 0xE3 | 0x0C, "e8m0": lambda x: x % 3 + 126, "ue4m3": lambda x: (x & 7) * 0.25}
EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "float64": 2e-6}
PROGRAMS = 2


def rounding(dtype, count):
    """The relative rounding error of a sum. In a short type, a long sum that is added up one by one stops growing."""
    epsilon = EPSILON.get(dtype, 0)
    return epsilon * max(1, 8 * count * epsilon)


class Tile:
    def __init__(self, name, dtype, size=0.0, error=0.0, exact=True):
        self.name, self.dtype, self.size, self.error, self.exact = name, dtype, size, error, exact
        self.is_equal = False  # all elements are made from the same scalars

    @property
    def is_float(self):
        return self.dtype in FLOATS


class Generator:
    def __init__(self, seed, products=False, any_size=False, scaled=False):
        self.rng, self.products, self.any_size, self.scaled = random.Random(seed), products or scaled, any_size, scaled
        self.lines, self.depth, self.names = [], 1, 0
        self.tiles, self.conditions, self.inputs, self.outputs = [], [], [], []
        self.slots = []  # the tiles that the loops and branches around the current statement carry
        while True:
            rank = self.rng.choice([1, 1, 2, 2, 2, 2, 3])
            self.shape = [self.rng.choice([1, 2, 4, 8, 16, 16, 32, 64, 128] if rank < 3 else [1, 2, 4, 8, 16]) for _ in range(rank)]
            if rank == 1 and self.rng.random() < 0.5:
                self.shape = [self.rng.choice([128, 256, 512, 1024])]
            if rank == 2 and self.rng.random() < 0.3:
                self.shape[1] = self.shape[0]
            if self.any_size:
                self.shape = [self.rng.choice([size, max(1, size - self.rng.randint(0, size // 2)), size * 3 // 4 or 1]) for size in self.shape]
            self.count = 1
            for size in self.shape:
                self.count *= size
            if self.products:
                self.shape = [self.rng.choice([16, 32, 64, 64, 128, 128, 256]) for _ in range(2)]
                if self.any_size:
                    self.shape = [self.rng.choice([size, size - self.rng.randint(1, size // 2)]) for size in self.shape]
                if self.rng.random() < 0.2:
                    self.shape = [self.rng.choice([1, 2, 4])] + [self.rng.choice([16, 32, 64]) for _ in range(2)]
                self.count = math.prod(self.shape)
            if scaled:
                self.shape = list(self.rng.choice([(256, 128), (256, 128), (256, 64), (256, 256), (512, 128), (128, 128), (128, 64), (64, 256), (64, 128)]))
                self.count = math.prod(self.shape)
            if scaled or self.count <= (16384 if self.products else 4096):
                break
        self.bounds = [self.rng.choice([size, size, max(size - 1, 0), size // 2, self.rng.randint(0, size), 0 if self.rng.random() < 0.3 else size,
                                        size + 3]) for size in self.shape]
        self.scalars = {f"n{d}": bound for d, bound in enumerate(self.bounds)}
        self.scalars["iterations"] = self.rng.choice([0, 1, 2, 3, 3, 4])
        self.scalars["low"] = self.rng.choice([0, 0, 1, 2, -3])
        self.scalars["wrap"] = self.rng.choice([self.count, self.count + 7, max(1, self.count - 3), max(1, self.count // 2), self.count * PROGRAMS + 1])

    # ---------------------------------------------------------------- names and lines

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def chance(self, probability):
        return self.rng.random() < probability

    def add(self, expression, dtype, size=0.0, error=0.0, exact=True):
        tile = Tile(self.fresh(), dtype, size, error, exact)
        self.line(f"{tile.name} = {expression}")
        self.tiles.append(tile)
        return tile

    @property
    def rank(self):
        return len(self.shape)

    def shape_text(self):
        return "(" + ", ".join(map(str, self.shape)) + ",)"

    def axis_text(self, name, d):
        return name if self.rank == 1 else f"{name}[" + ", ".join(":" if e == d else "None" for e in range(self.rank)) + "]"

    # ---------------------------------------------------------------- picking operands

    def pick(self, test=lambda tile: True):
        found = [tile for tile in self.tiles if test(tile)]
        if not found:
            return None
        return self.rng.choice(found[-6:] if self.chance(0.7) else found)

    def integer(self, dtype):
        tile = self.pick(lambda t: t.dtype == dtype)
        if tile and self.chance(0.7):
            return tile.name
        tile = self.pick(lambda t: not t.is_float)
        if tile is None:
            return f"tl.full({self.shape_text()}, {self.rng.randint(0, 100)}, tl.{dtype})"
        return tile.name if tile.dtype == dtype else f"{tile.name}.to(tl.{dtype})"

    def floating(self, dtype):
        """(text, size, error, exactness) of an operand."""
        tile = self.pick(lambda t: t.dtype == dtype and t.size < 1e3)
        if tile and self.chance(0.8):
            return tile.name, tile.size, tile.error, tile.exact
        tile = self.pick(lambda t: t.is_float and t.size < 1e3)
        if tile and self.chance(0.5):
            return f"{tile.name}.to(tl.{dtype})", tile.size, tile.error + EPSILON[dtype] * tile.size, tile.exact and tile.size <= 2
        whole = self.pick(lambda t: not t.is_float)
        if whole:
            return f"({whole.name} & 7).to(tl.{dtype})", 7.0, 0.0, True
        return f"tl.full({self.shape_text()}, 0.5, tl.{dtype})", 0.5, 0.0, True

    def condition(self):
        if self.conditions and self.chance(0.5):
            return self.rng.choice(self.conditions)
        return self.mask() if self.chance(0.5) else self.comparison()

    def comparison(self):
        compare = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        tile = self.pick(lambda t: t.exact)
        if tile is None:
            return self.mask()
        if tile.is_float:
            return f"({tile.name} {compare} {self.rng.choice([-0.25, 0.0, 0.5])})"
        other = self.integer(tile.dtype) if self.chance(0.5) else str(self.rng.randint(0, 90))
        return f"({tile.name} {compare} {other})"

    def mask(self):
        terms = []
        for d in range(self.rank):
            axis = self.axis_text(f"r{d}", d)
            form = self.rng.randint(0, 11)
            if form <= 3:
                terms.append(f"({axis} < n{d})")
            elif form == 4:
                terms.append(f"({axis} >= low)")
            elif form == 5:
                terms.append(f"(n{d} > {axis})")
            elif form == 6:
                terms.append(f"({axis} <= n{d})")
            elif form == 7:
                terms.append(f"({axis} - 2 < n{d})")
            elif form == 8:
                terms.append(f"({axis}.to(tl.uint32) < tl.cast(n{d}, tl.uint32))")
        if self.chance(0.15):
            terms.append(f"(pid < {self.rng.randint(0, 2)})")
        if self.chance(0.15):
            terms.append(f"(low >= {self.rng.randint(0, 2)})")
        if self.chance(0.15):
            terms.append(f"((at % wrap) < {self.rng.randint(1, self.count)})")
        if self.chance(0.1):
            terms.append("((at & 3) != 1)")
        if self.rank >= 2 and self.shape[0] == self.shape[1] and self.chance(0.2):
            terms.append(f"({self.axis_text('r0', 0)} {self.rng.choice(['<', '>='])} {self.axis_text('r1', 1)})")
        if not terms:
            terms = [f"({self.axis_text('r0', 0)} < n0)"]
        join = " | " if self.chance(0.05) else " & "
        text = join.join(terms)
        return f"tl.broadcast_to({text}, {self.shape_text()})"

    # ---------------------------------------------------------------- memory

    def new_input(self, dtype):
        for name, have in self.inputs:
            if have == dtype and self.chance(0.6):
                return name
        name = f"in{len(self.inputs)}"
        self.inputs.append((name, dtype))
        return name

    def new_output(self, dtype):
        name = f"out{len(self.outputs)}"
        self.outputs.append((name, dtype, []))
        return name

    def offsets(self):
        form = self.rng.randint(0, 9)
        if form <= 4:
            return "at"
        if form == 5:
            return f"((at + {self.rng.randint(0, 9)}) % wrap)"
        if form == 6:
            return f"(at // {self.rng.choice([2, 3, 4])})"
        if form == 7:
            return "back"
        if form == 8 and self.rank >= 2:
            return "+".join(f"({self.axis_text(f'((r{d} + pid * {self.shape[d]}) % (n{d} + 1))', d)}) * {self.rng.choice([1, 3, 8])}" for d in range(self.rank))
        return "at * 2"

    def make_load(self):
        dtype = self.rng.choice(INTEGERS + ["int32"] * 6 + FLOATS + ["float32"] * 3 + SHORT + ["int1"])
        source = self.new_input(dtype)
        address = f"{source} + {self.offsets()}"
        whole = self.pick(lambda t: t.dtype in ("int32", "int64", "int8", "uint16"))
        if whole and self.chance(0.2):
            address = f"{source} + ({whole.name}.to(tl.int32) & {self.count - 1})"
        if self.chance(0.06):
            address = f"tl.where({self.condition()}, {source} + at, {source} + back)"
        guard = ""
        if self.chance(0.5):
            # Elements outside the mask are defined, because the sanitizer checks them.
            value = "0" if dtype == "int1" or self.chance(0.5) else "1" if dtype not in FLOATS + SHORT else "0.5"
            guard = f", mask={self.condition()}, other={value}"
        text = f"tl.load({address}{guard})"
        if dtype == "int1":
            name = self.fresh("c")
            self.line(f"{name} = {text} != 0")
            self.conditions.append(name)
        elif dtype in SHORT:
            self.add(f"{text}.to(tl.float32)", "float32", 2.0)
        elif dtype in FLOATS:
            self.add(text, dtype, 2.0)
        else:
            self.add(text, dtype)

    def make_broadcast_load(self):
        d = self.rng.randrange(self.rank)
        dtype = self.rng.choice(["int32", "int16", "float32", "float16"])
        name, source = self.fresh("row"), self.new_input(dtype)
        guard = f", mask=r{d} < n{d}, other=0" if self.chance(0.5) else ""
        self.line(f"{name} = tl.load({source} + r{d}{guard})")
        expression = f"tl.broadcast_to({self.axis_text(name, d)}, {self.shape_text()})"
        if self.rank >= 2 and self.chance(0.5):
            e = (d + 1) % self.rank
            if self.shape[d] == self.shape[e]:
                expression = f"tl.broadcast_to({self.axis_text(name, d)} + {self.axis_text(name, e)}, {self.shape_text()})"
        self.add(expression, dtype, 4.0)

    def store_to(self, name, tile, address="at"):
        guard = f", mask={self.condition()}" if self.chance(0.6) else ""
        self.line(f"tl.store({name} + {address}, {tile.name}{guard})")

    def make_store(self):
        tile = self.pick()
        if tile is None:
            return
        name = self.new_output(tile.dtype)
        self.outputs[-1][2].append(tile)
        self.store_to(name, tile, self.rng.choice(["at", "at", "at", "back", "at * 2"]))

    def make_memory_iteration(self):
        """Writes to memory that it has read, and reads it again."""
        dtype = self.rng.choice(["int32", "int32", "float32", "float16", "int8"])
        name = self.new_output(dtype)
        marks = self.outputs[-1][2]
        addresses = ["at", "back"]
        text = f"tl.load({name} + {self.rng.choice(addresses)})"
        before = self.add(text, dtype, 2.0)
        value = self.integer(dtype) if dtype.startswith("int") else None
        if value is None:
            value, size, error, exact = self.floating(dtype)
        else:
            size = error = 0.0
            exact = True
        size, error = max(size, 2.0), error
        mix = self.rng.choice([before.name, value, f"tl.where({self.condition()}, {before.name}, {value})", f"tl.minimum({before.name}, {value})"])
        after = self.add(mix, dtype, size, error, exact)
        marks.append(after)
        self.line(f"tl.store({name} + {self.rng.choice(addresses)}, {after.name}" + (f", mask={self.condition()})" if self.chance(0.4) else ")"))
        self.line("tl.debug_barrier()")
        if self.chance(0.6):
            self.add(f"tl.load({name} + {self.rng.choice(addresses)})", dtype, size, error, exact)

    def make_atomic(self):
        dtype = self.rng.choice(["int32", "int64", "uint32"])
        operation = self.rng.choice(["add", "max", "min", "and", "or", "xor"])
        name = self.new_output(dtype)
        value = self.integer(dtype)
        if self.chance(0.3):
            before = f"{self.fresh('old')} = tl.atomic_{operation}({name} + at, {value})"
            self.line(before)
            self.tiles.append(Tile(before.split(" ")[0], dtype))
            return
        spots = self.rng.choice(["at", f"(({self.integer('int32')}) & 15)", "at // 4"])
        guard = f", mask={self.condition()}" if self.chance(0.5) else ""
        self.line(f"tl.atomic_{operation}({name} + {spots}, {value}{guard})")

    # ---------------------------------------------------------------- tiles from tiles

    def make_integer(self):
        dtype = self.rng.choice(INTEGERS + ["int32"] * 6)
        a, b = self.integer(dtype), self.integer(dtype)
        forms = [f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} & {b}", f"{a} | {b}", f"{a} ^ {b}", f"{a} << ({b} & 7)", f"{a} >> ({b} & 7)",
                 f"{a} // (({b} & 7) + 1)", f"{a} % (({b} & 7) + 1)", f"tl.minimum({a}, {b})", f"tl.maximum({a}, {b})",
                 f"tl.where({self.condition()}, {a}, {b})", f"~({a})", f"{a} + pid.to(tl.{dtype})",
                 f"{a} * {self.rng.randint(2, 9)} + {self.rng.randint(0, 9)}", f"{a} + ({self.condition()}).to(tl.{dtype})"]
        if dtype == "int32":
            forms += [f"{a} + {self.axis_text('r0', 0)}", f"{a} ^ at", f"tl.umulhi({a}.to(tl.uint32), {b}.to(tl.uint32)).to(tl.int32)", f"tl.abs({a})"]
        self.add(f"({self.rng.choice(forms)}).to(tl.{dtype})", dtype)

    def make_float(self):
        dtype = self.rng.choice(FLOATS + ["float32"] * 3)
        a, sa, ea, xa = self.floating(dtype)
        b, sb, eb, xb = self.floating(dtype)
        eps = EPSILON[dtype]
        form = self.rng.randint(0, 9)
        if form <= 1:
            self.add(f"{a} {self.rng.choice('+-')} {b}", dtype, sa + sb, ea + eb + eps * (sa + sb), False)
        elif form == 2 and sa * sb < 1e3:
            self.add(f"{a} * {b}", dtype, sa * sb, sa * eb + sb * ea + ea * eb + eps * sa * sb, False)
        elif form == 3:
            self.add(f"tl.{self.rng.choice(['minimum', 'maximum'])}({a}, {b}).to(tl.{dtype})", dtype, max(sa, sb), max(ea, eb), xa and xb)
        elif form == 4:
            self.add(f"tl.where({self.condition()}, {a}, {b})", dtype, max(sa, sb), max(ea, eb), xa and xb)
        elif form == 5:
            self.add(f"({a} / (tl.abs({b}) + 1)).to(tl.{dtype})", dtype, sa, ea + sa * eb + 3 * eps * (sa + 1) * (sb + 1), False)
        elif form == 6 and dtype in ("float32", "float64"):
            function, gain = self.rng.choice([("exp(tl.minimum({}, 1.0))", 3), ("sqrt(tl.abs({}) + 1)", 1), ("sin({})", 1), ("sigmoid({})", 1),
                                              ("log(tl.abs({}) + 1)", 1), ("exp2(tl.minimum({}, 1.0))", 3)])
            self.add("tl." + function.format(a), dtype, max(3.0, sa), gain * ea + 16 * eps * (sa + 1), False)
        elif form == 7:
            self.add(f"-{a}", dtype, sa, ea, xa)
        elif form == 8 and xa and sa <= 100 and self.chance(0.6):
            whole = self.rng.choice(["int8", "int16", "int32", "int64"])
            self.add(f"{a}.to(tl.{whole})", whole)
        else:
            self.add(f"tl.abs({a})", dtype, sa, ea, xa)

    def spread(self, text, axis):
        """The text of a reduced tile, broadcast to the full shape."""
        if self.rank > 1:
            text = f"tl.expand_dims({text}, {axis})"
        return f"tl.broadcast_to({text}, {self.shape_text()})"

    def make_reduction(self):
        axis = self.rng.randrange(self.rank)
        n = self.shape[axis]
        tile = self.pick(lambda t: t.size * n < 2e3)
        if tile is None:
            return
        kinds = ["max", "min", "sum"]
        if not tile.is_float:
            kinds += ["xor_sum"] if not tile.dtype.startswith("u") else []
        if tile.exact and tile.dtype in ("int32", "float32", "int64"):
            kinds += ["argmax", "argmin"]
        kind = self.rng.choice(kinds)
        source = tile.name
        if self.chance(0.3):
            source = f"tl.where({self.condition()}, {source}, 0)"
        size, error, exact = tile.size, tile.error, tile.exact
        if kind == "sum":
            size, error, exact = size * n, error * n + rounding(tile.dtype, n) * size * n, False
        if kind.startswith("arg"):
            self.add(f"{self.spread(f'tl.{kind}({source}, {axis})', axis)}.to(tl.int32)", "int32")
            return
        if self.chance(0.2) and tile.dtype in ("int32", "int64"):
            name = self.fresh("s")
            self.line(f"{name} = tl.{'sum' if kind == 'xor_sum' else kind}({source})")
            self.add(f"{tile.name} ^ {name}.to(tl.{tile.dtype})", tile.dtype)
            return
        self.add(f"{self.spread(f'tl.{kind}({source}, {axis})', axis)}.to(tl.{tile.dtype})", tile.dtype, size, error, exact or not tile.is_float)

    def make_scan(self):
        axis = self.rng.randrange(self.rank)
        n = self.shape[axis]
        tile = self.pick(lambda t: t.size * n < 2e3)
        if tile is None:
            return
        reverse = f", reverse={self.chance(0.5)}"
        if self.chance(0.5) and tile.dtype != "bfloat16": # the maximum of bfloat16 is fp32
            self.add(f"tl.associative_scan({tile.name}, {axis}, larger{reverse})", tile.dtype, tile.size, tile.error, tile.exact)
        else:
            self.add(f"tl.cumsum({tile.name}, {axis}{reverse}).to(tl.{tile.dtype})", tile.dtype, tile.size * n,
                     tile.error * n + rounding(tile.dtype, n) * tile.size * n, not tile.is_float)

    def moved(self, name):
        """The text of the same elements in another order."""
        form = self.rng.randint(0, 4)
        if form == 0 and self.rank == 2 and self.shape[0] == self.shape[1]:
            return f"tl.trans({name})"
        if form == 1 and self.count % 2 == 0:
            return f"tl.reshape(tl.trans(tl.reshape({name}, ({self.count // 2}, 2))), {self.shape_text()})"
        if form == 2 and self.rank == 3 and self.shape[0] == self.shape[2]:
            return f"tl.permute({name}, (2, 1, 0))"
        if form == 3 and self.shape[0] >= 2:
            return f"tl.flip({name}, {self.rng.randrange(self.rank)})" if self.chance(0.3) else f"tl.gather({name}, tl.broadcast_to({self.axis_text(f'({self.shape[0] - 1} - r0)', 0)}, {self.shape_text()}), 0)"
        columns = self.rng.choice([c for c in (1, 2, 4, 8, 16) if self.count % c == 0])
        return f"tl.reshape(tl.trans(tl.reshape({name}, ({self.count // columns}, {columns}))), {self.shape_text()})"

    def make_move(self):
        tile = self.pick()
        if tile is None:
            return
        form = self.rng.randint(0, 5)
        if form <= 1:
            self.add(self.moved(tile.name), tile.dtype, tile.size, tile.error, tile.exact)
        elif form == 2:
            other = self.pick(lambda t: t.dtype == tile.dtype)
            first, second, joined = self.fresh("lo"), self.fresh("hi"), f"tl.join({tile.name}, {other.name})"
            self.line(f"{first}, {second} = tl.split({joined})")
            for name, t in ((first, tile), (second, other)):
                self.tiles.append(Tile(name, t.dtype, t.size, t.error, t.exact))
        elif form == 3 and self.count % 2 == 0:
            first, second = self.fresh("lo"), self.fresh("hi")
            self.line(f"{first}, {second} = tl.split(tl.reshape({tile.name}, ({self.count // 2}, 2)))")
            both = f"tl.join({second}, {first})" if self.chance(0.6) else f"tl.cat({second}, {first}, can_reorder=False)"
            self.add(f"tl.reshape({both}, {self.shape_text()})", tile.dtype, tile.size, tile.error, tile.exact)
        elif form == 4 and self.rank >= 2:
            order = list(range(self.rank))
            self.rng.shuffle(order)
            inverse = tuple(order.index(d) for d in range(self.rank))
            name = self.fresh("p")
            self.line(f"{name} = tl.permute({tile.name}, {tuple(order)})")
            if tile.is_float:
                self.line(f"{name} = tl.maximum({name}, {name}).to(tl.{tile.dtype})")
            elif self.chance(0.5):
                self.line(f"{name} = {name} ^ tl.sum({name}.to(tl.int32), {self.rng.randrange(self.rank)}, keep_dims=True).to(tl.{tile.dtype})")
            self.add(f"tl.permute({name}, {inverse})", tile.dtype, tile.size, tile.error, tile.exact)
        else:
            index = self.pick(lambda t: t.dtype in ("int32", "int64"))
            axis = self.rng.randrange(self.rank)
            if index:
                self.add(f"tl.gather({tile.name}, ({index.name} & {self.shape[axis] - 1}), {axis})", tile.dtype, tile.size, tile.error, tile.exact)

    def make_dot(self):
        if self.rank == 1 or min(self.shape[-2:]) < 16:
            return
        batch = (0, 2, 1) if self.rank == 3 else (1, 0)
        if self.chance(0.4):
            a, b = self.integer("int8"), self.integer("int8")
            square = f"tl.dot({a}, tl.permute({b}, {batch}))"
            self.add(f"tl.dot(({square}).to(tl.int8), {a})", "int32")
            return
        dtype = self.rng.choice(["float32", "float16", "bfloat16"])
        a, sa, ea, _ = self.floating(dtype)
        b, sb, eb, _ = self.floating(dtype)
        k = self.shape[-1]
        size, error = sa * sb * k, k * (sa * eb + sb * ea + ea * eb) + EPSILON["float32"] * k * sa * sb
        if size > 2e3:
            return
        m = self.shape[-2]
        scale = 1 / max(1.0, size)
        square = f"(tl.dot({a}, tl.permute({b}, {batch}), input_precision='ieee') * {scale!r}).to(tl.{dtype})"
        square_error = error * scale + 2 * EPSILON[dtype]
        c, sc, ec, _ = self.floating("float32")
        self.add(f"tl.dot({square}, {b}, {c}, input_precision='ieee')", "float32", sc + m * sb,
                 ec + m * (square_error * sb + eb + square_error * eb) + EPSILON["float32"] * (m * sb + sc), False)

    def make_matmul_loop(self):
        """A product as in usual kernels: a loop over the inner dimension, with blocks of both operands from memory."""
        if self.rank == 1 or min(self.shape[-2:]) < 16 or self.depth > 1:
            return
        *batch, m, n = self.shape
        dtype = self.rng.choice(["float16", "float16", "bfloat16", "float32", "int8"] + SHORT)
        depth = self.rng.choice([16, 32, 64])
        iterations = self.rng.choice([1, 2, 3, 4])
        room = self.count * PROGRAMS * 2 + 4096
        if math.prod(batch) * max(m, n) * depth * iterations > room:
            return
        a, b = self.new_input(dtype), self.new_input(dtype)
        name, inner = self.fresh("sum"), self.fresh("k")
        transposed = [self.chance(0.3), self.chance(0.3)]  # whether A is stored as [K, M], and B as [N, K]

        def block(source, rows, columns, along, is_transposed, bound, inner=inner):
            """The text of a load of [batch, rows, columns]; `along` is the dimension of K: 1 the columns, 0 the rows."""
            size = [*batch, rows, columns]
            at = [self.axis_text(f"tl.arange(0, {extent})", d) for d, extent in enumerate(size)]
            inside, across = len(batch) + along, len(batch) + 1 - along
            at[inside] = f"({inner} * {depth} + {at[inside]})"
            whole = depth * iterations
            strides = [(whole, 1), (1, rows)][is_transposed] if along == 1 else [(columns, 1), (1, whole)][is_transposed]
            strides = ([whole * size[across]] if batch else []) + list(strides)
            place = " + ".join(f"{index} * {stride}" for index, stride in zip(at, strides))
            terms = []
            if self.chance(0.5):
                terms.append(f"({at[across]} < {bound})")
            if self.chance(0.5):
                terms.append(f"({at[inside]} < {self.rng.choice(['wrap', 'low', str(whole - 3), str(whole)])})")
            mask = f", mask={' & '.join(terms)}, other=0" if terms else ""
            return f"tl.load({source} + {place}{mask})"

        def operands(inner):
            return (block(a, m, depth, 1, transposed[0], f"n{len(batch)}", inner), block(b, depth, n, 0, transposed[1], f"n{len(batch) + 1}", inner))

        total = "int32" if dtype == "int8" else "float32"
        self.line(f"{name} = tl.zeros({tuple(self.shape)}, tl.{total})")
        times = self.rng.choice([str(iterations), f"tl.minimum(iterations, {iterations})"])
        precision = f"input_precision='{self.rng.choice(['ieee', 'tf32'])}'"
        self.line(f"for {inner} in range({times}):")
        self.line(f"    {name} = tl.dot({', '.join(operands(inner))}, {name}, {precision})")
        if self.chance(0.4):
            name = self.make_sums(name, total, operands, times, precision)
            iterations *= 8
        if total == "int32":
            self.add(f"{name} + 0", total)
            return
        size = 4.0 * depth * iterations
        out = self.rng.choice(["float32", "float16"])
        self.add(f"({name} * {1 / size!r}).to(tl.{out})", out, 1.0, EPSILON[out], False)

    def make_sums(self, first, total, operands, times, precision):
        """A second loop, in which dots add to a sum from outside of it, to a carried one that they do not return, or to one sum twice."""
        sum, x, y, inner = self.fresh("sum"), self.fresh("x"), self.fresh("y"), self.fresh("k")
        one, other = self.fresh("one"), self.fresh("other")

        def dot(c):
            return f"tl.dot({x}, {y}, {c}, {precision})"

        form = self.rng.choice(["outside", "twice", "swapped", "previous", "replaced"])
        self.line(f"{sum} = tl.zeros({tuple(self.shape)}, tl.{total})")
        if form in ("swapped", "previous", "replaced"):
            self.line(f"{one} = {first}")
            self.line(f"{other} = {self.rng.choice([first, sum])}")
        self.line(f"for {inner} in range({times}):")
        left, right = operands(inner)
        self.line(f"    {x} = {left}")
        self.line(f"    {y} = {right}")
        body = {
            "outside": [f"{sum} += {dot(first)}"],
            "twice": [f"{one} = {dot(first)}", f"{other} = {dot(self.rng.choice([one, first]))}", f"{sum} += {dot(one)} - {other}"],
            "swapped": [f"{one}, {other} = {dot(other)}, {one if self.chance(0.5) else dot(one)}"],
            "previous": [f"{other} = {dot(sum)}", f"{sum} = {dot(one)}", f"{one} = {other}"],
            "replaced": [f"{sum} += {dot(one)}", f"{one} = {other}"],
        }[form]
        for text in body:
            self.line("    " + text)
        if form == "twice":
            return sum
        self.line(f"{sum} = {sum} + {one if form != 'outside' else first}" + (f" - {other}" if form == "swapped" else ""))
        return sum

    def make_scaled_loop(self):
        """A loop of products with block scales, which are in memory in rows, or in the order of tensor memory."""
        (m, n), depth = self.shape, self.rng.choice([128, 128, 256])
        *kinds, group = self.rng.choice([("e2m1", "e2m1", 16), ("e2m1", "e2m1", 16), ("e2m1", "e2m1", 32), ("e4m3", "e4m3", 32), ("e4m3", "e5m2", 32), ("e4m3", "e2m1", 32), ("e2m1", "e4m3", 32),
                                          ("e2m3", "e3m2", 32), ("e3m2", "e2m1", 32), ("e5m2", "e2m3", 32)])
        room = (self.count * PROGRAMS * 2 + 4096) // (max(m, n) * depth)
        iterations, inner, total = min(room, self.rng.choice([1, 2, 3, 5])), self.fresh("k"), self.fresh("sum")
        is_ordered, is_masked = self.chance(0.8), self.chance(0.3)

        along_k = [kind != "e2m1" or self.chance(0.8) for kind in kinds]

        def numbers(kind, rows, is_along_k):
            width = depth // 2 if kind == "e2m1" and is_along_k else depth
            mask = f", mask=tl.arange(0, {rows})[:, None] < n{0 if rows == m else 1}, other=0" if is_masked and is_along_k else ""
            rows //= 1 if is_along_k else 2
            along = f"{inner} * {width} + tl.arange(0, {width})"
            if (kind != "e2m1" or not is_along_k) and self.chance(0.3):  # a column is contiguous
                return f"tl.load({self.new_input(kind)} + tl.arange(0, {rows})[:, None] + ({along})[None, :] * {rows}{mask})"
            return f"tl.load({self.new_input(kind)} + tl.arange(0, {rows})[:, None] * {width * iterations} + ({along})[None, :]{mask})"

        def scales(rows):
            source, groups = self.new_input("ue4m3" if group == 16 else "e8m0"), depth // group
            if not is_ordered or rows < 128 or groups < 4:
                return f"tl.load({source} + tl.arange(0, {rows})[:, None] * {groups * iterations} + ({inner} * {groups} + tl.arange(0, {groups}))[None, :])"
            blocks, words = rows // 128, groups // 4
            block = f"tl.arange(0, {blocks})[:, None, None, None] * {words * iterations} + ({inner} * {words} + tl.arange(0, {words}))[None, :, None, None]"
            tile = f"tl.load({source} + ({block}) * 512 + tl.arange(0, 32)[None, None, :, None] * 16 + tl.arange(0, 16)[None, None, None, :])"
            return f"{tile}.reshape({blocks}, {words}, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape({rows}, {groups})"

        self.line(f"{total} = tl.zeros(({m}, {n}), tl.float32)")
        self.line(f"for {inner} in range({self.rng.choice([str(iterations), f'tl.minimum(iterations, {iterations})'])}):")
        self.line(f"    {total} = tl.dot_scaled({numbers(kinds[0], m, along_k[0])}, {scales(m)}, '{kinds[0]}', {numbers(kinds[1], n, along_k[1])}.T, {scales(n)}, '{kinds[1]}', {total}, lhs_k_pack={along_k[0]}, rhs_k_pack={along_k[1]})")
        largest = {"e2m1": 6.0, "e2m3": 7.5, "e3m2": 1.75, "e4m3": 1.875, "e5m2": 1.75}
        size = largest[kinds[0]] * largest[kinds[1]] * 4 * depth * iterations
        out = self.rng.choice(["float32", "float16"])
        self.add(f"({total} * {1 / size!r}).to(tl.{out})", out, 1.0, EPSILON[out], False)

    def make_histogram(self):
        tile = self.pick(lambda t: t.dtype == "int32")
        if tile is None or self.count < 2:
            return
        bins = self.rng.choice([2, 8, 16])
        name = self.fresh("h")
        self.line(f"{name} = tl.histogram(tl.reshape({tile.name}, ({self.count},)) & {bins - 1}, {bins})")
        self.add(f"{tile.name} ^ tl.max({name}, 0)", "int32")

    def make_construct(self):
        if not self.any_size:
            self.rng.choice(CONSTRUCTS)(self)

    # ---------------------------------------------------------------- control flow

    def update(self, slots):
        """New values for the carried tiles, computed from the block's own tiles."""
        texts = []
        for slot in slots:
            if (slot.is_equal or not slot.is_float) and self.chance(0.7 if slot.is_equal else 0.2):
                texts.append(self.equal_move(slot, slots))
            elif slot.is_float:
                x, sx, ex, _ = self.floating(slot.dtype)
                if sx > 8 or ex > slot.error + 1e-2:
                    x = slot.name
                form = self.rng.randint(0, 4)
                peer = self.rng.choice([s for s in slots if s.dtype == slot.dtype])
                texts.append([f"{slot.name} * 0.5 + {x} * 0.25", f"tl.where({self.condition()}, {slot.name}, {x})", f"tl.minimum({peer.name}, {x})",
                              self.moved(peer.name), f"{slot.name} * 0.5 + {self.moved(peer.name)} * 0.5"][form])
            else:
                a, b = self.integer(slot.dtype), self.integer(slot.dtype)
                peer = self.rng.choice([s for s in slots if s.dtype == slot.dtype]).name
                axis = self.rng.randrange(self.rank)
                texts.append(self.rng.choice([f"{slot.name} + {a}", f"{a} ^ {b}", peer, f"{peer} + {self.moved(slot.name)}", self.moved(peer), f"{slot.name} * 3 - {peer}",
                                              f"{a} - {self.spread(f'tl.max({slot.name}, {axis})', axis)}", f"tl.where({self.condition()}, {peer}, {a})"]))
        return [f"({text}).to(tl.{slot.dtype})" for text, slot in zip(texts, slots)]

    def equal_move(self, slot, slots):
        """Changes all elements of a tile by the same scalars."""
        if slot.is_float:
            peer = self.rng.choice([s.name for s in slots if s.is_equal and s.dtype == slot.dtype])
            return self.rng.choice([f"{slot.name} * 0.5 + 1", f"{peer}", f"{slot.name} * 0.5 + {peer} * 0.25", f"tl.full({self.shape_text()}, 2, tl.{slot.dtype})"])
        step = self.rng.choice(["3", "low", "iterations", "pid", "(pid + 1) * low"])
        peer = self.rng.choice([s.name for s in slots if s.is_equal and not s.is_float] or [step])
        return self.rng.choice([f"{slot.name} + {step}", f"{slot.name} - {step}", f"{slot.name} + {peer}", f"{slot.name} + {peer} - 5"])

    def assign(self, slots):
        texts = self.update(slots)
        if self.chance(0.5) and len(slots) > 1:
            self.line(", ".join(s.name for s in slots) + " = " + ", ".join(texts))
        else:
            for slot, text in zip(slots, texts):
                self.line(f"{slot.name} = {text}")

    def carried(self):
        slots = []
        for _ in range(self.rng.choice([1, 1, 2, 2, 3])):
            if self.slots and self.chance(0.4):
                outer = self.rng.choice(self.slots)
                slots += [outer] if outer not in slots else []
                continue
            dtype = self.rng.choice(["int32", "int32", "int32", "int8", "int64", "uint16", "float32", "float32", "float16"])
            if self.chance(0.25):
                start = self.rng.choice(["2", "1"] if dtype.startswith("f") else ["2", "low", "pid"])
                slots.append(self.add(f"tl.zeros({self.shape_text()}, tl.{dtype}) + {start}", dtype, 8.0, 0.05, not dtype.startswith("f")))
                self.line(f"{slots[-1].name} = {slots[-1].name}.to(tl.{dtype})")
                slots[-1].is_equal = True
            elif dtype.startswith("f"):
                x, size, error, _ = self.floating(dtype)
                if size > 8:
                    x, error = f"tl.full({self.shape_text()}, 0.5, tl.{dtype})", 0.0
                slots.append(self.add(f"{x} * 1", dtype, 8.0, 4 * error + 400 * EPSILON[dtype] + 0.05, False))
            else:
                slots.append(self.add(f"{self.integer(dtype)} ^ {self.rng.randint(0, 9)}", dtype))
        return slots

    def body(self, slots, statements):
        outer, self.slots = self.slots, self.slots + [slot for slot in slots if slot not in self.slots]
        for _ in range(self.rng.randint(0, statements)):
            self.statement()
        self.slots = outer
        if slots:
            self.assign(slots)

    def make_loop(self):
        if self.depth > 2:
            return
        slots = self.carried()
        count, form = self.fresh("i"), self.rng.randint(0, 5)
        if form == 0:
            self.line(f"{count} = 0")
            self.line(f"while {count} < iterations:")
        elif form == 1:
            self.line(f"for {count} in tl.static_range(2):")
        elif form == 2:
            self.line(f"for {count} in range(pid, iterations):")
        else:
            self.line(f"for {count} in range(iterations):")
        saved = list(self.tiles), list(self.conditions)
        self.depth += 1
        self.body(slots, 3)
        if self.chance(0.3):
            self.assign(slots)
        if form == 0:
            self.line(f"{count} += 1")
        self.depth -= 1
        self.tiles, self.conditions = saved

    def make_branch(self):
        if self.depth > 2:
            return
        slots = self.carried()
        self.line("if " + self.rng.choice(["pid == 0", "low > 0", "iterations > 2", "n0 > 4"]) + ":")
        for side in range(2):
            saved = list(self.tiles), list(self.conditions)
            self.depth += 1
            self.body(slots, 2)
            self.depth -= 1
            self.tiles, self.conditions = saved
            if side == 1 or self.chance(0.5):
                return
            self.line("else:")

    def statement(self):
        weights = {self.make_load: 5, self.make_broadcast_load: 2, self.make_integer: 6, self.make_float: 5, self.make_reduction: 4, self.make_scan: 1.5,
                   self.make_move: 4, self.make_dot: 2, self.make_matmul_loop: 1, self.make_histogram: 0.4, self.make_atomic: 0.8, self.make_memory_iteration: 1.2, self.make_store: 1.5, self.make_construct: 12}
        if self.depth <= 2:
            weights |= {self.make_loop: 2, self.make_branch: 1}
        self.rng.choices(list(weights), list(weights.values()))[0]()

    # ---------------------------------------------------------------- the whole program

    def program(self):
        self.line("pid = tl.program_id(0)")
        for d, size in enumerate(self.shape):
            self.line(f"r{d} = tl.arange(0, {size})")
        place = " + ".join(f"{self.axis_text(f'r{d}', d)} * {self.stride(d)}" for d in range(self.rank))
        self.line(f"at = pid * {self.count} + {place}")
        self.line(f"back = pid * {self.count} + {self.count - 1} - ({place})")
        self.make_load()
        if self.products:
            self.make_scaled_loop() if self.scaled else self.make_matmul_loop()
        for _ in range(self.rng.randint(0, 1 if self.scaled else 3) if self.products else self.rng.randint(2, 12)):
            self.statement()
        if self.chance(0.1):
            self.line(f"if {self.rng.choice(['pid == 1', 'low > 0'])}:")
            self.line("    return")
        for tile in self.rng.sample(self.tiles, min(len(self.tiles), 3)) + self.tiles[-2:]:
            name = self.new_output(tile.dtype)
            self.outputs[-1][2].append(tile)
            self.store_to(name, tile)
        names = [name for name, _ in self.inputs] + [name for name, _, _ in self.outputs] + list(self.scalars)
        head = ["import tilewright as triton", "import tilewright.language as tl", "", "", "@triton.jit", "def larger(a, b):", "    return tl.maximum(a, b)",
                "", *HELPERS.splitlines(), "", "", f"@triton.jit{'(any_size=True)' if self.any_size else ''}", f"def kernel({', '.join(names)}):"]
        return "\n".join(head + self.lines) + "\n"

    def stride(self, d):
        result = 1
        for size in self.shape[d + 1:]:
            result *= size
        return result
