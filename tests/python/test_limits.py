"""Inputs of unusual size and depth, to the command and to launches: they work, or are refused in words."""

import os
import pathlib
import resource
import subprocess
import sys

import pytest

import tilewright as triton

COMMAND = pathlib.Path(triton.__file__).absolute().parents[2] / "bin" / "tilewright"
needs_command = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built next to the package")
HEAD = "import triton\nimport triton.language as tl\n"
STORE = HEAD + "@triton.jit\ndef k(x):\n    tl.store(x, 1)\n"


def compiled(folder, text, signature, emit="ttir", **environment):
    (folder / "k.py").write_text(text)
    return subprocess.run([str(COMMAND), "compile", "k.py", "--signature", signature, "--emit", emit, "-o", "-"], cwd=folder,
                          capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


@needs_command
@pytest.mark.parametrize("word", ["*" * 30000 + "i32", "*k" * 30000 + "i32", "* " * 30000 + "i32", "*" * 33 + "i32"])
def test_pointers_to_pointers_have_a_limit(tmp_path, word):
    done = compiled(tmp_path, STORE, word)
    assert done.returncode == 1 and "is neither a type nor a constant" in done.stderr


@needs_command
def test_some_levels_of_pointers_are_fine(tmp_path):
    text = HEAD + "@triton.jit\ndef k(x):\n    tl.store(tl.load(tl.load(x)), 1)\n"
    assert compiled(tmp_path, text, "***i32").returncode == 0


@needs_command
def test_types_that_a_kernel_nests(tmp_path):
    text = HEAD + """@triton.jit
def k(x):
    t: tl.constexpr = tl.int32
    for i in tl.static_range(40):
        t = tl.pointer_type(t)
    tl.store(x, 1)
"""
    done = compiled(tmp_path, text, "*i32")
    assert done.returncode == 1 and "levels of pointers" in done.stderr


@needs_command
def test_a_sum_of_many_lines(tmp_path):
    text = HEAD + "@triton.jit\ndef k(x, n):\n    a = n\n" + "".join(f"    a = a + {i % 7 + 1}\n" for i in range(20000)) + "    tl.store(x, a)\n"
    done = compiled(tmp_path, text, "*i32, i32")
    assert done.returncode == 0 and f"arith.constant {sum(i % 7 + 1 for i in range(20000))} : i32" in done.stdout


@needs_command
def test_many_parameters_and_a_long_tuple(tmp_path):
    """What the kernel does not use costs no instruction."""
    parameters = ", ".join(f"p{i}: tl.int32" for i in range(4000))
    text = HEAD + f"@triton.jit\ndef k(x, {parameters}):\n    tl.store(x, p0 + p3999)\n"
    of_parameters = compiled(tmp_path, text, "*i32", "asm")
    text = HEAD + "@triton.jit\ndef k(x, t):\n    tl.store(x, t[0] + t[19999])\n"
    of_a_tuple = compiled(tmp_path, text, "*i32, (" + "i32, " * 20000 + ")", "asm")
    for done in (of_parameters, of_a_tuple):
        assert done.returncode == 0 and "mov" in done.stdout and len(done.stdout.splitlines()) < 500


@needs_command
def test_a_file_of_three_gigabytes(tmp_path):
    with open(tmp_path / "big.py", "wb") as file:
        file.truncate(3 << 30)
    done = compiled(tmp_path, HEAD + "from big import Q\n@triton.jit\ndef k(x):\n    tl.store(x, Q)\n", "*i32")
    assert done.returncode == 1 and "cannot read" in done.stderr and "it is larger than 256 MiB" in done.stderr


CYCLES = {
    "two modules": {"k.py": "from b import *\n", "b.py": "from k import *\nQ = 3\n"},
    "three modules": {"k.py": "from b import *\n", "b.py": "from c import *\n", "c.py": "from k import *\nfrom b import *\nQ = 3\n"},
    "itself": {"k.py": "from k import *\nimport k\nQ = 3\n"},
    "a package": {"k.py": "from p import *\n", "p/__init__.py": "from .m import *\n", "p/m.py": "from . import *\nfrom p import *\nQ = 3\n"},
    "under a name": {"k.py": "import b\nQ = b.Q\n", "b.py": "import k\nQ = 3\nR = k.Q\n"},
    "all of them": {"k.py": "".join(f"from m{i} import *\n" for i in range(12)),
                    **{f"m{i}.py": "".join(f"from m{j} import *\n" for j in range(12)) + ("Q = 3\n" if i == 5 else "") for i in range(12)}},
}


@needs_command
@pytest.mark.parametrize("name", CYCLES)
def test_imports_in_a_cycle(tmp_path, name):
    (tmp_path / "p").mkdir()
    for file, text in CYCLES[name].items():
        if file != "k.py":
            (tmp_path / file).write_text(text)
    kernel = HEAD + CYCLES[name]["k.py"] + "@triton.jit\ndef k(x):\n    tl.store(x, Q)\n"
    done = compiled(tmp_path, kernel, "*i32")
    assert done.returncode == 0 and "arith.constant 3 : i32" in done.stdout, done.stderr
    done = compiled(tmp_path, kernel.replace("Q)", "NOWHERE)"), "*i32")
    assert done.returncode == 1 and "NOWHERE" in done.stderr


@needs_command
def test_names_that_lead_to_one_another(tmp_path):
    (tmp_path / "b.py").write_text("from k import Q\n")
    done = compiled(tmp_path, HEAD + "from b import Q\n@triton.jit\ndef k(x):\n    tl.store(x, Q)\n", "*i32")
    assert done.returncode == 1 and "'Q'" in done.stderr
    done = compiled(tmp_path, HEAD + "from k import Q\n@triton.jit\ndef k(x):\n    tl.store(x, Q)\n", "*i32")
    assert done.returncode == 1 and "'Q'" in done.stderr


TUNED = """
import numpy as np
import tilewright as triton, tilewright.language as tl
@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])
@triton.jit
def k(x, n, B: tl.constexpr):
    i = tl.program_id(0)*B + tl.arange(0, B)
    tl.store(x + i, 1., mask=i < n)
x = np.zeros(100, np.float32)
k[lambda m: (triton.cdiv(100, m['B']),)](x, 100)
assert (x == 1).all()
"""


@pytest.mark.parametrize("text", ["[" * 100000, '{"tuned":' * 100000, '{"tuned": ' + "[" * 100000 + "]" * 100000 + "}"])
def test_nested_json_is_a_warning(tmp_path, text):
    (tmp_path / "tuned.json").write_text(text)
    (tmp_path / "t.py").write_text(TUNED)
    done = subprocess.run([sys.executable, "t.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_TUNED": str(tmp_path / "tuned.json")})
    assert done.returncode == 0 and "nested more than 100 levels deep" in done.stderr


DEEP = {
    "brackets": lambda n: "(" * n + "1" + ")" * n,
    "lists": lambda n: "[" * n + "1" + "]" * n,
    "dicts": lambda n: "{1: " * n + "1" + "}" * n,
    "calls": lambda n: "f(" * n + "1" + ")" * n,
    "indices": lambda n: "x" + "[0]" * n,
    "nested indices": lambda n: "x[" * n + "0" + "]" * n,
    "attributes": lambda n: "x" + ".y" * n,
    "minus": lambda n: "-" * n + "1",
    "not": lambda n: "not " * n + "1",
    "sum": lambda n: "1" + " + 1" * n,
    "power": lambda n: "1" + "**1" * n,
    "and": lambda n: "1" + " and 1" * n,
    "comparison": lambda n: "1" + " < 1" * n,
    "conditional": lambda n: "1 if 1 else " * n + "1",
    "lambda": lambda n: "lambda: " * n + "1",
    "walrus": lambda n: "(a := " * n + "1" + ")" * n,
    "f-string": lambda n: "f'{" * min(n, 3) + "1" + "}'" * min(n, 3),
    "comprehension": lambda n: "[" * n + "1" + " for i in range(1)]" * n,
    "strings": lambda n: "'a' " * n,
}


@needs_command
@pytest.mark.parametrize("kind", DEEP)
def test_deep_expressions(tmp_path, kind):
    """Each is a constant that nothing uses, in a kernel and in its module."""
    for n in (90, 20000):
        text = DEEP[kind](n)
        inside = compiled(tmp_path, HEAD + f"@triton.jit\ndef k(x):\n    y = {text}\n    tl.store(x, 1)\n", "*i32")
        assert inside.returncode in (0, 1) and (inside.returncode == 0 or "error:" in inside.stderr)
        outside = compiled(tmp_path, HEAD + f"Y = {text}\n@triton.jit\ndef k(x):\n    tl.store(x, Y)\n", "*i32")
        assert outside.returncode in (0, 1) and (outside.returncode == 0 or "error:" in outside.stderr)


@needs_command
@pytest.mark.parametrize("header", ["if x:", "while False:", "for i in range(1):", "with x:", "def f():", "class A:", "try:", "match x:\n{0} case 1:"])
def test_deep_statements(tmp_path, header):
    for n in (20, 1500):
        lines, depth = [], 1
        for _ in range(n):
            for part in header.split("\n"):
                lines.append(" " * depth + part.replace("{0} ", ""))
                depth += 1
        text = HEAD + "@triton.jit\ndef k(x):\n" + "\n".join(lines) + "\n" + " " * depth + "pass\n"
        done = compiled(tmp_path, text, "*i32")
        assert done.returncode in (0, 1) and (done.returncode == 0 or "error:" in done.stderr)


@needs_command
def test_compile_time_follows_the_number_of_loops(tmp_path):
    """Four times the loops take about five times as long. They would take twelve times as long if LLVM looked at all blocks again for each loop."""
    seconds = []
    for loops in (75, 300):
        body = "".join(f"    for a{i} in range(0, n):\n        for b{i} in range(0, m):\n            s += tl.load(x + i + a{i} * 64 + b{i})\n" for i in range(loops))
        (tmp_path / "k.py").write_text(f"{HEAD}@triton.jit\ndef k(x, out, n, m):\n    i = tl.arange(0, 64)\n    s = tl.zeros((64,), tl.float32)\n{body}    tl.store(out + i, s)\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([COMMAND, "compile", tmp_path / "k.py", "--signature", "*fp32, *fp32, i32, i32", "--target", "cpu:avx2", "--emit", "asm", "-o", tmp_path / "k.s"], check=True)
        seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert seconds[1] < 8 * seconds[0], seconds
