"""Small random programs about index arithmetic, in which equal terms meet again and cancel.

An expression is made of ranges, program numbers and scalars; its operands are often expressions that the program has used before, so that forms
like `i - i % n`, `i % n - i % m` and `(i * n).to(int64) - i.to(int64) * n` are common. It then becomes a load's address, a mask, an operand of
`where`, a number that is converted, an address of a store, or a term of a sum. Scalars are small, negative, or near the ends of their
types, and differ from launch to launch. Loads and stores are masked where an index may be out of bounds. All results are integers, or
floats without rounding, and every engine must give the same bits.
"""

import random

from addresses import Output, kind

ROOM = 1 << 12  # elements of a tensor
END = 1 << 31

SCALARS = {
    "small": [1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 48, 64, 100, 128],
    "other": [1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 96],
    "start": [0, 1, 2, 3, 8, 16, 100, -1, -3, -16, -17, END - 1, END - 16, END - 40, -END, -END + 7, 1 << 30, -(1 << 30) - 3],
    "bound": [0, 1, 7, 16, 31, 33, 64, 100, 1000, -1, -16, END - 1, -END],
    "far": [0, 1, -1, END, -END - 1, END - 5, 1 << 40, 3, 16],
}

# {feature by which programs are counted: words in a program's text that show it}
KINDS = {
    "remainders that cancel": ["% small - ", " - i % ", "cancels"],
    "widened integers": [".to(tl.int64)"],
    "narrow integers": [".to(tl.int8)", ".to(tl.int16)", ".to(tl.uint8)", ".to(tl.uint16)"],
    "unsigned integers": [".to(tl.uint32)"],
    "masks": ["mask="],
    "sums": ["tl.sum("],
    "loops": ["for "],
    "products of indices": ["# i * j"],
    "rows of a flat index": ["# a row"],
    "atomic additions": ["tl.atomic_add("],
}


class Generator:
    may_share = False  # an input and an output of a program that is alone may overlap: on CPUs, where it runs in order

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.names, self.inputs, self.outputs = [], 0, [], []
        self.shape = self.rng.choice([[16], [32], [64], [64], [128], [256], [4, 16], [16, 16], [8, 32], [16, 4], [2, 64], [4, 4, 8], [4, 4, 32]])
        self.count = 1
        for size in self.shape:
            self.count *= size
        self.programs = self.rng.choice([1, 1, 2, 3])
        self.scalars = {name: self.rng.choice(choices) for name, choices in SCALARS.items()}
        self.terms = {"int32": [], "int64": []}

    def chance(self, probability):
        return self.rng.random() < probability

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def line(self, text, depth=1):
        self.lines.append("    " * depth + text)

    def kinds(self):
        """The program's features: those in KINDS."""
        text = "\n".join(self.lines)
        return [name for name, words in KINDS.items() if any(word in text for word in words)]

    def warps(self, otherwise):
        return otherwise

    # ---------------------------------------------------------------- expressions

    def axis(self, d):
        return f"r{d}" if len(self.shape) == 1 else f"r{d}[" + ", ".join(":" if e == d else "None" for e in range(len(self.shape))) + "]"

    def leaf(self):
        d = self.rng.randrange(len(self.shape))
        return self.rng.choice([self.axis(d), self.axis(len(self.shape) - 1), "at", "at", f"(pid * {self.shape[d]} + {self.axis(d)})",
                                f"({self.axis(d)} + start)", "(at + start)"])

    def number(self):
        return self.rng.choice(["small", "other", "small", "start", str(self.rng.choice([1, 2, 3, 4, 8, 16, 100])), "pid"])

    def divisor(self):
        return self.rng.choice(["small", "other", "small", "bound", str(self.rng.choice([2, 3, 4, 8, 16, 32])), f"(({self.rng.choice(['r0', 'at', 'pid', 'small'])} & 7) + 1)"
                                if len(self.shape) == 1 else "other"])

    def term(self, dtype="int32"):
        """An expression that is there already, or a range."""
        if self.terms[dtype] and self.chance(0.75):
            return self.rng.choice(self.terms[dtype][-4:])
        if dtype == "int64":
            return f"{self.term()}.to(tl.int64)"
        return self.leaf()

    def cancelling(self):
        """(text, type) of a difference in which something cancels, at some or at all indices."""
        x, d, e = self.term(), self.divisor(), self.divisor()
        c = self.rng.choice([2, 3, 1 << 8, 1 << 16, 1 << 24, (1 << 27) + 1, 1 << 30])
        narrow = self.rng.choice(["int8", "int16", "uint8", "uint16", "uint32"])
        return self.rng.choice([
            (f"{x} - {x} % {d}", "int32"), (f"{x} % {d} - {x}", "int32"), (f"{x} % {d} - {x} % {e}", "int32"), (f"{x} - ({x} // {d}) * {d}", "int32"),
            (f"({x} - {x} % {d}) // {e}", "int32"), (f"({x} - {x} % {d}) % {e}", "int32"), (f"({x} - {x} % {d}) * {self.number()}", "int32"),
            (f"({x} * {c}).to(tl.int64) - {x}.to(tl.int64) * {c}", "int64"), (f"({x} + start).to(tl.int64) - {x}.to(tl.int64)", "int64"),
            (f"({x} + start).to(tl.int64) - ({x} + bound).to(tl.int64)", "int64"), (f"{x} - {x}.to(tl.{narrow}).to(tl.int32)", "int32"),
            (f"{x}.to(tl.{narrow}).to(tl.int64) - {x}.to(tl.int64)", "int64"), (f"{x} - ({x} >> 2 << 2)", "int32"), (f"{x} ^ ({x} & {self.rng.choice([3, 7, 15])})", "int32"),
            (f"tl.minimum({x}, {self.number()}) - {x}", "int32"), (f"{x} * {self.number()} - {x} * {self.number()}", "int32"),
            (f"({x} + {self.number()}) % {d} - {x} % {d}", "int32"), (f"({x}.to(tl.int64) + far) - far - {x}.to(tl.int64)", "int64"),
        ])

    def plain(self):
        dtype = self.rng.choice(["int32", "int32", "int32", "int64"])
        x, y = self.term(dtype), self.term(dtype)
        n = self.number() if dtype == "int32" or self.chance(0.5) else "far"
        forms = [f"{x} + {y}", f"{x} - {y}", f"{x} * {n}", f"{x} + {n}", f"{n} - {x}", f"{x} // {self.divisor()}", f"{x} % {self.divisor()}",
                 f"{x} & {self.rng.choice([1, 3, 7, 12, 31])}", f"{x} | {y}", f"{x} ^ {self.rng.choice([1, 3, 8])}", f"{x} << {self.rng.randint(0, 5)}", f"{x} >> {self.rng.randint(0, 5)}",
                 f"tl.minimum({x}, {y})", f"tl.maximum({x}, {n})", f"tl.abs({x})", f"tl.where({self.condition()}, {x}, {y})", f"{x} * {y}  # i * j"]
        return self.rng.choice(forms), dtype

    def expression(self, depth=1):
        text, dtype = self.cancelling() if self.chance(0.45) else self.plain()
        name = self.fresh("i")
        if dtype == "int32" and self.chance(0.12):
            narrow = self.rng.choice(["int8", "int16", "uint8", "uint16", "uint32"])
            text = f"({text.partition('  #')[0]}).to(tl.{narrow}).to(tl.int32)"
        text, _, remark = text.partition("  #")
        self.line(f"{name} = ({text}).to(tl.{dtype})" + (f"  #{remark}" if remark else ""), depth)
        self.terms[dtype].append(name)
        return name

    def condition(self):
        dtype = self.rng.choice(["int32", "int32", "int64"])
        x = self.term(dtype)
        compare = self.rng.choice(["<", "<=", ">", ">=", "==", "!=", "!="])
        y = self.term(dtype) if self.chance(0.3) else self.rng.choice(["bound", "small", "0", "4", "16", "start"])
        return f"({x} {compare} {y})"

    # ---------------------------------------------------------------- uses

    def whole(self, text):
        """The text as a tile of the program's shape."""
        return f"tl.broadcast_to({text}, {self.shape_text()})"

    def shape_text(self):
        return "(" + ", ".join(map(str, self.shape)) + ",)"

    def new_input(self, dtype):
        for name, have in self.inputs:
            if have == dtype and self.chance(0.5):
                return name
        name = f"in{len(self.inputs)}"
        self.inputs.append((name, dtype))
        return name

    def load(self, depth=1):
        """A tile of the program's shape from memory."""
        dtype, name = self.rng.choice(["int32", "float32", "int8", "int64", "float16"]), self.fresh("x")
        index = self.expression(depth) if self.chance(0.6) else self.term()
        if self.chance(0.3):
            other = self.expression(depth)
            index = f"({index} + {other})"
        terms = [f"({index} >= 0)", f"({index} < {ROOM})"] + ([self.condition()] if self.chance(0.4) else [])
        self.line(f"{name} = tl.load({self.new_input(dtype)} + {self.whole(index)}, mask={self.whole(self.joined(terms))}, other={self.rng.choice([0, 1])})", depth)
        return name, dtype

    def in_rows(self, depth=1):
        """A tile from memory by the rows and columns of a flat index, mostly without a mask: row * n + column is below ROOM."""
        n = self.rng.choice(["small", "other", "small", "small * 2", "17", "32", "33", "48", "64", "96", "100", "128", "8"])
        m = self.rng.choice(["2", "3", "4", "other"])
        x = self.rng.choice(["at", "at", "(at + 5)", f"(pid * {self.count} + {self.count - 1} - at % {self.count})"])
        row, column, index, name = (self.fresh(prefix) for prefix in ("row", "column", "n", "x"))
        self.line(f"{row} = {x} // ({n})  # a row", depth)
        self.line(f"{column} = {x} % ({n})", depth)
        self.terms["int32"] += [row, column]
        indirect = f"(tl.load({self.new_input('int32')} + {self.whole(row)}) & 3)"
        self.line(f"{index} = " + self.rng.choice([row, f"{indirect} * ({n}) + {column}", f"{indirect} * 512 + {column}", f"{row} * ({n}) + {column}", column, indirect,
                                                   f"{row} // {m} * ({n}) + {column}", f"{x} // (({n}) * {m}) + {column}", f"{row} % 4 * 300 + {column}"]), depth)
        dtype = self.rng.choice(["int32", "float32", "int8", "int64", "float16"])
        mask = f", mask={self.whole(self.row_mask(x))}, other={self.rng.choice([0, 1])}" if self.chance(0.5) else ""
        self.line(f"{name} = tl.load({self.new_input(dtype)} + {self.whole(index)}{mask})", depth)
        if self.chance(0.3):
            self.line(f"{name} = {name} * ({self.whole(column)} + 1).to(tl.{dtype if dtype.startswith('int') else 'float32'})", depth)
            self.line(f"{name} = {name}.to(tl.{dtype})", depth)
        return name, dtype

    def placed_twice(self, depth=1):
        """A tile of two dimensions in two places of three."""
        q, n = self.fresh("q"), self.rng.choice(["small", "8", "17", "32"])
        self.line(f"{q} = (r0[:, None] * {self.rng.choice(['5', '16', '40', 'other'])} + r2[None, :]) {self.rng.choice(['//', '%'])} {n}  # a row", depth)
        return f"{q}[:, None, :] * 100 + {q}[None, :, :]", "int32"

    def row_mask(self, x):
        """A condition; mostly one that holds up to some index."""
        n = self.rng.randint(1, self.count)
        last = len(self.shape) - 1
        return self.rng.choice([self.condition(), f"({x} < {n})", f"(at - pid * {self.count} < {n})", f"({self.axis(last)} < {self.rng.randint(1, self.shape[last])})",
                                f"(({self.axis(0)} < {self.rng.randint(1, self.shape[0])}) & ({self.axis(last)} < {self.rng.randint(1, self.shape[last])}))", f"({x} < {n * 2}) & {self.condition()}"])

    def joined(self, terms):
        return " & ".join(terms)

    def value(self, depth=1):
        form = self.rng.randint(0, 10)
        if form <= 2:
            return self.load(depth)
        if form >= 8:
            return self.placed_twice(depth) if len(self.shape) == 3 and self.chance(0.5) else self.in_rows(depth)
        if form == 3:
            index = self.expression(depth)
            return self.whole(f"{index}.to(tl.float32)"), "float32"
        if form == 4:
            x, dtype = self.load(depth)
            return f"tl.where({self.condition()}, {x}, {self.rng.choice([0, 1])}).to(tl.{dtype})", dtype
        if form == 5:
            axis, name = self.rng.randrange(len(self.shape)), self.fresh("s")
            tile = self.whole(f"{self.expression(depth)}.to(tl.int64)")
            self.line(f"{name} = tl.{self.rng.choice(['sum', 'max', 'min', 'xor_sum'])}({tile}, {axis}, keep_dims=True)", depth)
            return self.whole(name), "int64"
        if form == 6:
            return self.whole(f"{self.expression(depth)}.to(tl.int64)"), "int64"
        return self.whole(self.condition()) + ".to(tl.int32)", "int32"

    def address(self):
        """An address that every element has alone, within the program's part of the output."""
        group = self.rng.choice([2, 4, 8, 16])
        return self.rng.choice(["at", "at", "at", f"at - at % {group} + ({group - 1} - at % {group})", f"(at // {group}) * {group} + at % {group}", f"(at ^ {self.rng.choice([1, 2, 3])})",
                                f"at - at % {group} + (at + 1) % {group}", "at.to(tl.int64) + far - far", f"pid * {self.count} + {self.count - 1} - (at - pid * {self.count})"])

    def store(self):
        value, dtype = self.value()
        name = f"out{len(self.outputs)}"
        self.outputs.append((name, dtype, [Output()]))
        mask = f", mask={self.whole(self.joined([self.condition() for _ in range(self.rng.choice([1, 1, 2]))]))}" if self.chance(0.6) else ""
        if dtype in ("int32", "int64", "float32") and self.chance(0.2):
            address = self.rng.choice([self.address(), "at // 8", "at % 32", "at // 3 * 3 + at % 3", f"at - at % {self.count}"])
            self.line(f"tl.atomic_add({name} + {self.whole(address)}, {value}{mask})")
        else:
            self.line(f"tl.store({name} + {self.address()}, {value}{mask})")

    def loop(self):
        total, i = self.fresh("sum"), self.fresh("k")
        self.line(f"{total} = tl.zeros({self.shape_text()}, tl.int64)")
        second = self.fresh("more") if self.chance(0.6) else None
        if second:
            self.line(f"{second} = tl.zeros({self.shape_text()}, tl.int64)")
        saved = {dtype: list(terms) for dtype, terms in self.terms.items()}
        self.line(f"for {i} in range({self.rng.choice(['3', '(small & 3)', 'pid, 4', '0, small & 31, 8'])}):")
        self.line(f"{self.fresh('i')} = at + {i} * {self.rng.choice(['small', '16', '3'])}", 2)
        self.terms["int32"].append(f"i{self.names}")
        value, dtype = self.in_rows(2) if self.chance(0.5) else self.load(2)
        self.line(f"{total} += {value}.to(tl.{dtype if dtype.startswith('int') else 'int32'})", 2)
        if second:
            value, dtype = self.in_rows(2) if self.chance(0.5) else (value, dtype)
            self.line(f"{second} = " + self.rng.choice([f"{second} + {total} * 3", f"tl.maximum({second}, {total})", f"tl.where({self.row_mask('at')}, {second} + {total}, {second})", f"{second} + {value}.to(tl.int64)"]), 2)
        self.terms = saved
        name = f"out{len(self.outputs)}"
        self.outputs.append((name, "int64", [Output()]))
        self.line(f"tl.store({name} + at, {total})")
        if second:
            self.outputs.append((name := f"out{len(self.outputs)}", "int64", [Output()]))
            self.line(f"tl.store({name} + at, {second})")

    def program(self):
        self.line("pid = tl.program_id(0)")
        for d, size in enumerate(self.shape):
            self.line(f"r{d} = tl.arange(0, {size})")
        strides, stride = [0] * len(self.shape), 1
        order = list(reversed(range(len(self.shape))))
        if self.chance(0.3):
            self.rng.shuffle(order)  # another dimension than the last may lie together in memory
        for d in order:
            strides[d] = stride
            stride *= self.shape[d]
        self.line(f"at = pid * {self.count} + " + " + ".join(f"{self.axis(d)} * {step}" for d, step in enumerate(strides)))
        for _ in range(self.rng.randint(0, 3)):
            self.expression()
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            self.loop() if self.chance(0.2) else self.store()
        names = [name for name, _ in self.inputs] + [name for name, _, _ in self.outputs] + list(self.scalars)
        head = ["import tilewright as triton", "import tilewright.language as tl", "", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
        return "\n".join(head + self.lines) + "\n"

    # ---------------------------------------------------------------- launches

    def other_scalars(self):
        """Other numbers of the same kinds and types."""
        wide = lambda value: not -END <= value < END
        return {name: self.rng.choice([value for value in choices if kind(value) == kind(self.scalars[name]) and wide(value) == wide(self.scalars[name])])
                for name, choices in SCALARS.items()}

    def arrays(self, rng, types):
        """Inputs and outputs."""
        import numpy as np

        def data(dtype, count):
            return (rng.integers(-8, 9, count) / (1 if dtype.startswith("int") else 4)).astype(types[dtype])

        inputs = {name: data(dtype, ROOM) for name, dtype in self.inputs}
        outputs = {name: np.full(self.count * self.programs, -77, types[dtype]) for name, dtype, _ in self.outputs}
        if self.may_share and self.programs == 1 and rng.random() < 0.4:
            pairs = [(i, o) for i, dtype in self.inputs for o, other, _ in self.outputs if dtype == other]
            if pairs:
                i, o = pairs[rng.integers(len(pairs))]
                memory = data(dict(self.inputs)[i], ROOM + 2 * self.count)
                begin = int(rng.integers(0, 2 * self.count))
                inputs[i], outputs[o] = memory[self.count:self.count + ROOM], memory[begin:begin + self.count]
        return inputs, outputs
