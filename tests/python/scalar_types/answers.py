#!/usr/bin/env python3
"""Writes the table of table.py as a stock Triton answers it. Run it with a Python that has that Triton; no GPU is needed.

    python tests/python/scalar_types/answers.py [JOBS] > tests/python/scalar_types/triton_3.9.txt

Nothing is compiled. A builtin of our own asks the front end, while it reads a kernel, for the type of each operation.
"""

import ast
import importlib.util
import multiprocessing
import os
import sys
import tempfile
import warnings

from table import DTYPES, POINTERS, Table, allOperations, cellsOf

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend

SHORT = {str(getattr(tl, name)): short for short, name in DTYPES.items()}
asked, answers = [], {}


def answer(generator, expression, operands, pointers, tiles):
    scope = {"tl": tl}
    for name, operand in zip("xyz", operands):
        scope[name] = tiles[operand] if operand in tiles else tl.constexpr(eval(operand))
    scope["p"], scope["c"] = pointers.get(operands[0]), tiles["i1"]
    generator.lscope.clear()
    generator.lscope.update(scope)
    result = generator.visit(ast.parse(expression, mode="eval").body)
    if result is None or isinstance(result, tl.constexpr) and result.value is None:
        return "ok"
    if isinstance(result, tl.constexpr):
        return "const"
    return "ok" if result.dtype == tl.void else SHORT[str(result.dtype)]


@tl.core.builtin
def probe(pointers, tiles, _semantic=None, _generator=None):
    builder, scope = _semantic.builder, dict(_generator.lscope)
    for expression, operands in asked:
        point = builder.get_insertion_point()
        try:
            named = [dict(zip(DTYPES, each.values if hasattr(each, "values") else each)) for each in (pointers, tiles)]
            answers[expression, operands] = answer(_generator, expression, operands, *named)
        except Exception:
            answers[expression, operands] = "."
        builder.restore_insertion_point(point)
    _generator.lscope.clear()
    _generator.lscope.update(scope)


HEAD = ["@triton.jit", f"def kernel({', '.join('p_' + short for short in DTYPES)}, {', '.join('s_' + short for short in DTYPES)}):", "    at = tl.arange(0, 16)"]
BODY = [f"    q_{short} = p_{short} + at" for short in DTYPES] + [f"    t_{short} = tl.broadcast_to(s_{short}, (16,))" for short in DTYPES]


def frontEnd(kernel, cells):
    """Fills `answers` for the cells; false where the IR that they make together is invalid."""
    asked[:] = cells
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"sanitize_overflow": False})
    names = {short: POINTERS.get(short, short) for short in DTYPES}
    signature = {**{f"p_{short}": "*" + names[short] for short in DTYPES}, **{f"s_{short}": names[short] for short in DTYPES}}
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    try:
        ASTSource(kernel, signature).make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    except RuntimeError:
        return False
    return True


def settle(kernel, cells):
    """Asks for all cells, then for those alone that were accepted: a cell whose IR is invalid is refused."""
    frontEnd(kernel, cells)
    accepted = [cell for cell in cells if answers[cell] != "."]
    if not accepted or frontEnd(kernel, accepted):
        return
    if len(accepted) == 1:
        answers[accepted[0]] = "."
        return
    half = len(accepted) // 2
    settle(kernel, accepted[:half])
    settle(kernel, accepted[half:])


CHUNK = 128


def answersOf(expression):
    """The answers for all operands of an operation; what MLIR says of invalid IR is not shown."""
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    call = f"    probe(({', '.join('q_' + short for short in DTYPES)}), ({', '.join('t_' + short for short in DTYPES)}))"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.py")
        with open(path, "w") as file:
            lines = ["import triton", "import triton.language as tl", "from answers import probe", "", "", *HEAD, *BODY, call]
            file.write("\n".join(lines) + "\n")
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cells = [(expression, operands) for operands in cellsOf(expression)]
        for first in range(0, len(cells), CHUNK):
            settle(module.kernel, cells[first : first + CHUNK])
    return {cell: answers[cell] for cell in cells}


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else os.cpu_count()
    results = {}
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for found in pool.imap_unordered(answers.answersOf, allOperations()):
            results |= found
    Table(triton.__version__, results).write(sys.stdout)


if __name__ == "__main__":
    import answers  # the processes of the pool know this file by that name

    main()
