"""The table of result types: what its operations and operands are, how it is written and read. answers.py makes it, test_scalar_types.py checks it."""

import itertools
from dataclasses import dataclass

DTYPES = {
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "e5": "float8e5", "e4": "float8e4nv", "b15": "float8e4b15", "f16": "float16", "bf": "bfloat16", "f32": "float32",
    "f64": "float64",
}  # fmt: skip
POINTERS = {"e5": "fp8e5", "e4": "fp8e4nv", "b15": "fp8e4b15", "f16": "fp16", "bf": "bf16", "f32": "fp32", "f64": "fp64"}
NUMBERS = [
    "True", "False", "0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "300", "40000", "2147483647", "2147483648", "-2147483649",
    "4294967296", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "0.0", "0.5", "-1.0", "0.1", "70000.0", "1e-40",
    "1e39", 'float("inf")', 'float("nan")',
]  # fmt: skip

OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="]
UNARY = ["-x", "~x", "not x", "tl.to_tensor(x)"] + [
    f"tl.{name}(x)"
    for name in ("abs", "exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "sqrt_rn", "rsqrt", "erf", "floor", "ceil", "sigmoid", "softmax",
                 "zeros_like")
] + [
    f"tl.{name}(x, 0)" for name in ("sum", "max", "min", "argmax", "xor_sum", "reduce_or", "cumsum", "cumprod")
] + ["tl.max(x, 0, return_indices=True)[0]", "tl.sum(x, 0, dtype=tl.float32)", "tl.sort(x)"]  # fmt: skip
BINARY = [
    f"tl.{name}(x, y)" for name in ("add", "sub", "mul", "minimum", "maximum", "fdiv", "div_rn", "umulhi", "cdiv")
] + ["tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)", "tl.fdiv(x, y, ieee_rounding=True)", "tl.where(c, x, y)"]
# The first operand is a tile of the type that memory has.
MEMORY = ["tl.full((16,), y, x.dtype)", "tl.cast(y, x.dtype)", "tl.store(p, y)", "tl.load(p, c, y)"] + [
    f"tl.atomic_{name}(p, y)" for name in ("add", "xchg", "max", "min", "and", "or", "xor")
] + ["tl.atomic_cas(p, y, y)"]  # fmt: skip
TERNARY = ["tl.clamp(x, y, z)", "tl.fma(x, y, z)"]
TERNARY_KINDS = ["i1", "i8", "u8", "i32", "u64", "e5", "f16", "bf", "f32", "f64", "True", "-1", "300", "0.5", "1e39"]


def kindsOf(expression):
    """The kinds of each operand of an operation, in order: short names of types, and numbers."""
    everything = list(DTYPES) + NUMBERS
    if expression in TERNARY:
        return [TERNARY_KINDS] * 3
    if expression in UNARY:
        return [[kind for kind in everything if kind in DTYPES or expression.startswith("tl.")]]
    if expression in MEMORY:
        return [list(DTYPES), everything]
    return [everything, everything]


def cellsOf(expression):
    """All operands of an operation, row by row. Operators of two numbers are Python's own, and left out."""
    builtin = expression.startswith("tl.")
    for operands in itertools.product(*kindsOf(expression)):
        if builtin or any(operand in DTYPES for operand in operands):
            yield operands


def allOperations():
    return UNARY + [f"x {op} y" for op in OPERATORS] + BINARY + MEMORY + TERNARY


def pack(cells):
    """["i8", "i8", "."] as "i8*2 ."."""
    return " ".join(f"{cell}*{count}" if count > 1 else cell for cell, count in ((c, len(list(g))) for c, g in itertools.groupby(cells)))


def unpack(text):
    for part in text.split():
        cell, _, count = part.partition("*")
        yield from [cell] * int(count or 1)


@dataclass
class Table:
    version: str
    results: dict  # (expression, operands) -> the result's type, "const" for a number, "ok" for no result, "." for a refusal

    def write(self, out):
        print(f"# Types that the front end of Triton {self.version} gives results; '.': it refuses the operation. See table.py.", file=out)
        groups = {}
        for expression in allOperations():
            rows = {}
            for operands in cellsOf(expression):
                rows.setdefault(operands[:-1], []).append(self.results[expression, operands])
            lines = {}
            for row, cells in rows.items():
                lines.setdefault(pack(cells), []).append(" ".join(row))
            text = "\n".join(f"  {', '.join(names)} : {cells}" for cells, names in lines.items())
            groups.setdefault(text, []).append(expression)
        for text, expressions in groups.items():
            print(*expressions, sep="\n", file=out)
            print(text, file=out)

    @staticmethod
    def read(lines):
        table, expressions, afterRows = Table(next(lines).split("Triton ")[1].split()[0], {}), [], True
        for line in lines:
            if not line.startswith("  "):
                expressions = [line.strip()] if afterRows else expressions + [line.strip()]
                afterRows = False
                continue
            afterRows = True
            names, _, cells = line.partition(" : ")
            for name, expression in itertools.product(names.split(","), expressions):
                row = tuple(name.split())
                last = [operands[-1] for operands in cellsOf(expression) if operands[:-1] == row]
                for operand, cell in zip(last, unpack(cells), strict=True):
                    table.results[expression, row + (operand,)] = cell
        return table
