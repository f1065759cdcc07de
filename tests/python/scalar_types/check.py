#!/usr/bin/env python3
"""Compares the front end with a table (table.py): prints each operation whose result has another type, or that is refused, or accepted, against it,
and for which no rule of ALLOWED gives a reason.

    PYTHONPATH=build/python TILEWRIGHT_TRITON_VERSION=3.9.0 python tests/python/scalar_types/check.py tests/python/scalar_types/triton_3.9.txt
"""

import importlib.util
import os
import re
import sys
import tempfile

from table import DTYPES, TERNARY, Table, allOperations, cellsOf

import tilewright as triton
from tilewright._filecheck import run_parser

CHUNK = 200  # operations of a kernel

# What differs on purpose: a pattern of operations, one of what happens instead of the table's answer, the reason.
NUMBER = r"\((?:-?[\d.]\S*|True|False|float\(\S+\))\)"
ALLOWED = [
    (r".*_b15\b.*", "accepted", "arithmetic and conversions of fp8e4b15 are those of fp16"),
    (r"tl.cast\(._b15, .*", ".*: another type", "Triton's conversion of fp8e4b15 ends at fp16; this one goes on to the type asked for"),
    (r"not .*", "accepted", "the truth of a number is whether it differs from 0"),
    (rf"tl.(zeros_like|cdiv)\({NUMBER}.*", "accepted", "numbers stand for scalars"),
    (rf"tl.cdiv\({NUMBER}, {NUMBER}\)", ".*out of range for 64 bits", "numbers have at most 64 bits"),
    (r"tl.(div_rn|umulhi)\(.*", "accepted", "the operands are first brought to one type, as an operator's are"),
    (rf"tl.(div_rn|sqrt_rn)\({NUMBER}.*", ".* takes fp32, not fp64", "numbers that are fp64 by themselves are treated as fp64 tiles, which both refuse"),
    (rf"tl.umulhi\({NUMBER}, {NUMBER}\)", ".* takes integers of 32 or 64 bits, not int1", "of bools there is no upper half"),
    (r"tl.full\(\(16,\), ._\w+, .*", "accepted", "the value may be a scalar or a tile that broadcasts"),
    (rf"tl.full\(\(16,\), {NUMBER}, .*", "accepted", "the number is converted to the type asked for"),
    (rf"tl.(cast|store|load)\((.*_\w+|{NUMBER}).*", "accepted", "any number converts to any type, fp8 to and from integers included"),
    (r"tl.atomic_\w+\(.*", "accepted", "the value is converted to the type in memory, as tl.store's is"),
    (r"tl.atomic_(and|or|xor)\(p_f(32|64), .*", ".*does not support fp(32|64)", "a float has no bitwise operators"),
]  # fmt: skip


def text(expression, operands, kind):
    """The operation on names of a kernel's tiles (kind t) or, for what is to the right, scalars (kind s)."""
    names = {"c": "t_i1", "p": f"p_{operands[0]}"}
    for i, (name, operand) in enumerate(zip("xyz", operands)):
        names[name] = f"{kind if i else 't'}_{operand}" if operand in DTYPES else f"({operand})"
    return re.sub(r"(?<![\w.])[xyzcp](?![\w(])", lambda match: names.get(match.group(), match.group()), expression)


def prologue(lines):
    used = set(re.findall(r"\b([tsp])_(\w+?)\b", "\n".join(lines)))
    for kind, short in sorted(used):
        tile = f"tl.zeros((16,), tl.{DTYPES[short]})"
        yield f"{kind}_{short} = " + {
            "t": tile, "s": f"tl.zeros((1,), tl.{DTYPES[short]}).item()",
            "p": f"tl.zeros((16,), tl.int64).to(tl.pointer_type(tl.{DTYPES[short]}))"}[kind]  # fmt: skip


def kernels(bodies, folder, name):
    """A kernel of each list of statements."""
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write("import tilewright as triton\nimport tilewright.language as tl\n")
        for number, lines in enumerate(bodies):
            file.write(f"\n\n@triton.jit\ndef kernel{number}():\n" + "".join(f"    {line}\n" for line in [*prologue(lines), *lines]))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return [getattr(module, f"kernel{number}") for number in range(len(bodies))]


def refusal(kernel):
    """The front end's message; None where it takes the kernel."""
    try:
        run_parser(kernel)
    except triton.CompilationError as error:
        return str(error).splitlines()[0]


def expecting(expression, operands, cell, kind):
    operation = text(expression, operands, kind)
    if cell in DTYPES:
        return [f'tl.static_assert(({operation}).dtype == tl.{DTYPES[cell]}, "another type")']
    return [operation if cell == "ok" else f"r = {operation}"]


def differences(table):
    """(operation, what the table says, what happens instead)"""
    for count, expression in enumerate(allOperations()):
        taken, refused = [], []
        for operands in cellsOf(expression):
            cell = table.results[expression, operands]
            scalars = len(operands) == 2 and expression not in TERNARY and operands[1] in DTYPES
            for kind in "ts" if scalars and operands[0] in DTYPES and "store" not in expression else "t":
                (refused if cell == "." else taken).append((operands, cell, kind))
        with tempfile.TemporaryDirectory() as folder:
            chunks = [taken[i : i + CHUNK] for i in range(0, len(taken), CHUNK)]
            bodies = [[line for one in chunk for line in expecting(expression, *one)] for chunk in chunks]
            suspects = [one for chunk, kernel in zip(chunks, kernels(bodies, folder, f"taken{count}")) if refusal(kernel) for one in chunk]
            alone = kernels([expecting(expression, *one) for one in suspects], folder, f"alone{count}")
            for (operands, cell, kind), kernel in zip(suspects, alone):
                if why := refusal(kernel):
                    yield text(expression, operands, kind), cell, why
            alone = kernels([[f"r = {text(expression, operands, kind)}"] for operands, _, kind in refused], folder, f"refused{count}")
            for (operands, cell, kind), kernel in zip(refused, alone):
                if refusal(kernel) is None:
                    yield text(expression, operands, kind), cell, "accepted"


def main():
    with open(sys.argv[1]) as file:
        table = Table.read(file)
    assert table.version == triton.triton_version, f"the table is that of {table.version}, the language {triton.triton_version}"
    used = set()
    for operation, cell, why in differences(table):
        rule = next((rule for rule in ALLOWED if re.fullmatch(rule[0], operation) and re.fullmatch(rule[1], why)), None)
        used.add(rule)
        if not rule:
            print(f"{operation} : {cell} : {why}")
    for rule in ALLOWED:
        if rule not in used:
            print(f"nothing differs any more as the list says: {rule}")


if __name__ == "__main__":
    main()
