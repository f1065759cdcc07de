"""The reference's examples are right on every engine, and no function is left out.

An entry's examples are lines of a kernel: `>>> statement`, and below an expression its value, or `error: ` and a part of the message with which
compilation fails. x_ptr points at the float32 numbers 0, 1, ..., 63, i_ptr at the same numbers as int32. Functions are defined outside the kernel.
"""

import ast
import contextlib
import doctest
import pathlib
import re

import numpy as np
import pytest

import tilewright
from tilewright import _core

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src" / "evaluate" / "reference"
ENTRY = re.compile(r"^## (.+)\n((?:(?!##? ).*\n)*)", re.M)
# Entries that need a real GPU, and entries that only name types.
INSTRUCTIONS = {"inline_asm_elementwise", "extra.cuda.gdc_wait", "extra.cuda.gdc_launch_dependents"}  # only real GPUs execute these
WITHOUT_EXAMPLE = {"extra.cuda.globaltimer", "extra.cuda.smid", "constexpr_type", "tuple_type", "aggregate_replace"}
HEAD = "import tilewright as triton\nimport tilewright.language as tl\n\n"


def entries():
    return {names: text for path in sorted(FOLDER.glob("[0-9]_*.txt")) for names, text in ENTRY.findall(path.read_text())}


def examples(text):
    """The examples of an entry: [(source, expected)]."""
    return [(example.source, example.want.strip()) for example in doctest.DocTestParser().get_examples(text)]


def split(steps):
    """(functions that the steps define, statements of the kernel)."""
    functions = [source for source, _ in steps if source.startswith("@")]
    return "\n".join(functions), [(source, want) for source, want in steps if not source.startswith("@")]


def kernel(functions, statements):
    body = "".join(f"    {line}\n" for statement in statements for line in statement.splitlines())
    return HEAD + functions + f"\n@triton.jit\ndef kernel(x_ptr, i_ptr, out_ptr):\n{body}    pass\n"


def load(text, tmp_path, name):
    (tmp_path / f"{name}.py").write_text(text)
    scope = {"__name__": name}
    exec(compile(text, str(tmp_path / f"{name}.py"), "exec"), scope)
    return scope["kernel"]


def launch(names, compiled):
    out = np.full(4096, -777.0)
    with tilewright.engine("cpu") if names in INSTRUCTIONS else contextlib.nullcontext():
        compiled[(1,)](np.arange(64, dtype=np.float32), np.arange(64, dtype=np.int32), out)
    return out


@pytest.mark.parametrize("names", entries())
def test_examples(names, tmp_path):
    functions, steps = split(examples(entries()[names]))
    assert steps or set(names.split()) <= WITHOUT_EXAMPLE
    done, expected, at = [], [], 0
    for index, (source, want) in enumerate(steps):
        if want.startswith("error: "):
            with pytest.raises(tilewright.CompilationError, match=re.escape(want.removeprefix("error: "))):
                launch(names, load(kernel(functions, [*done, source]), tmp_path, f"refused{index}"))
        elif want:
            value = np.array(ast.literal_eval(re.sub(r"\bnan\b", "'nan'", want)), dtype=float)
            checks = [f"tl.static_assert(v{index}.shape[{k}] == {size})" for k, size in enumerate(value.shape)]
            flat = f"tl.store(out_ptr + {at} + tl.arange(0, {value.size}), tl.ravel(v{index}).to(tl.float64))"
            done += [f"v{index} = tl.to_tensor({source.strip()})", f"tl.static_assert(len(v{index}.shape) == {value.ndim})", *checks,
                     flat if value.ndim else f"tl.store(out_ptr + {at}, v{index}.to(tl.float64))"]
            expected.append((source, at, value))
            at += value.size
        else:
            done.append(source)
    out = launch(names, load(kernel(functions, done), tmp_path, "example"))
    for source, at, value in expected:
        np.testing.assert_allclose(out[at:at + value.size].reshape(value.shape), value, rtol=1e-4, atol=1e-6, err_msg=source)


def rows():
    return [(path, signature) for path, signature, _ in [*_core.builtins(), *_core.library()] if not path.startswith("_")]


def test_every_function_has_its_text():
    """Each row has an entry that names all of its parameters, and each entry belongs to a row. Functions of libdevice have a line each."""
    known = set()
    for path, signature in rows():
        if path.startswith("extra.libdevice."):
            continue
        text = _core.reference(path)
        assert text, path
        known.add(path.removeprefix("math."))
        arguments = ast.parse(f"def {signature}: ...").body[0].args
        listed = {name for line in re.findall(r"^- ([\w, ]+):", text, re.M) for name in line.split(", ")}
        parameters = [*arguments.args, *([arguments.vararg] if arguments.vararg else []), *arguments.kwonlyargs]
        assert {parameter.arg for parameter in parameters} == listed, path
    assert known == {name for names in entries() for name in names.split()}
    assert [path for path, _, summary in _core.builtins() if not summary] == []
