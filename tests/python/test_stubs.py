"""The stubs for type checkers and editors agree with the language's tables, and the checkers accept the examples and reject wrong calls."""

import ast
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tilewright
import tilewright.language as tl
from tilewright import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CALLS = ROOT / "tests" / "python" / "typed_calls.py"


def test_files_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_parameter_without_a_type_is_an_error(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    stubs = importlib.import_module("stubs")
    assert stubs.parameters("load", "load(pointer, mask=None)", {}) == ["pointer: tensor", "mask: tensor | bool | None = None"]
    with pytest.raises(SystemExit, match="no type for 'speed' of tl.load"):
        stubs.parameters("load", "load(pointer, speed=1)", {})
    with pytest.raises(SystemExit, match="the parameters of cdiv are"):
        stubs.host_module(tilewright, [], "def cdiv(x: int) -> int: ...")
    with pytest.raises(SystemExit, match=r"has no stub for \['jit'\]"):
        stubs.host_module(tilewright, ["cdiv", "jit"], "def cdiv(x: int, y: int) -> int: ...")


def test_library_rows_agree_with_its_source():
    """Each public function of prelude.py has a row with its parameters, and help() shows it."""
    source = ast.parse((ROOT / "src" / "evaluate" / "prelude.py").read_text())
    functions = {node.name: [parameter.arg for parameter in node.args.args] for node in source.body
                 if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    rows = {path: [parameter.arg for parameter in ast.parse(f"def {signature}: ...").body[0].args.args] for path, signature, _ in _core.library()}
    assert {name: parameters for name, parameters in functions.items() if hasattr(tl, name)} == rows
    assert "\n\nsum(input, axis=None, keep_dims=False, dtype=None)\n\n" in inspect.getdoc(tl.sum)


def test_documentation_begins_with_the_reference():
    """An editor and help() show the first sentence of the reference first."""
    stub = ast.parse((ROOT / "python" / "tilewright" / "language" / "__init__.pyi").read_text())
    shown = {node.name: ast.get_docstring(node) for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = [path for path, signature, _ in [*_core.builtins(), *_core.library()] if signature and "." not in path and path in shown]
    assert len(names) > 120
    for name in names:
        sentence = re.match(r".*?(\.|:)(?=\s|$)", _core.reference(name), re.S)[0]
        assert shown[name].startswith(sentence), name
        assert inspect.getdoc(getattr(tl, name)).startswith(sentence), name


# ---- the checkers. Each runs once, over all files.


def environment():
    """The package, and `import triton` under its name."""
    package = pathlib.Path(tilewright.__file__).absolute().parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(package / "tilewright" / "_as_triton")))}


@pytest.fixture(scope="module")
def checkers(tmp_path_factory):
    """{name of the checker: [(file, line, message)]}."""
    folder = tmp_path_factory.mktemp("checkers")
    files = [*map(str, EXAMPLES), str(CALLS)]
    found = {}
    if importlib.util.find_spec("mypy"):
        # allow-redefinition: a variable of a kernel may be a number first and a tensor later.
        done = subprocess.run([sys.executable, "-m", "mypy", "--check-untyped-defs", "--allow-redefinition", "--output=json", "--cache-dir", folder / "cache",
                               *files], cwd=folder, env=environment(), capture_output=True, text=True)
        assert done.stderr == "", done.stderr
        errors = map(json.loads, done.stdout.splitlines())
        found["mypy"] = [(folder / e["file"], e["line"], e["message"]) for e in errors if e["severity"] == "error"]
    if importlib.util.find_spec("basedpyright"):
        # basedpyright is pyright's engine in a package of PyPI: pyright's own package loads its engine from the network. "standard" is pyright's default
        # mode. The rule is off because compile-time branches, such as two `if EVEN:`, decide which variables a kernel has.
        (folder / "pyrightconfig.json").write_text(json.dumps({"include": files, "typeCheckingMode": "standard", "reportPossiblyUnboundVariable": False,
                                                               "extraPaths": [str(ROOT / "examples")]}))
        done = subprocess.run([sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable], cwd=folder, env=environment(),
                              capture_output=True, text=True)
        report = json.loads(done.stdout)
        assert report["summary"]["filesAnalyzed"] == len(files), done.stderr
        found["pyright"] = [(pathlib.Path(e["file"]), e["range"]["start"]["line"] + 1, e["message"]) for e in report["generalDiagnostics"]
                            if e["severity"] in ("error", "warning")]
    return found


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_checkers_accept_the_examples(checkers, checker):
    if checker not in checkers:
        pytest.skip(f"{checker} is not installed")
    assert len(EXAMPLES) > 16
    assert [error for error in checkers[checker] if error[0].resolve() != CALLS] == []


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_checkers_report_wrong_calls(checkers, checker):
    if checker not in checkers:
        pytest.skip(f"{checker} is not installed")
    wrong = {number for number, line in enumerate(CALLS.read_text().splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) > 90
    reported = {line: message for file, line, message in checkers[checker] if file.resolve() == CALLS}
    assert {line: message for line, message in reported.items() if line not in wrong} == {}
    assert wrong - set(reported) == set()
