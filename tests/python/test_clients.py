"""tests/clients/run: outcomes, samples and the comparison, on a client suite made here; both engines are the same build."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import tilewright._alias

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"
RUN = CLIENTS / "run"
sys.path.insert(0, str(CLIENTS))
import comparison  # noqa: E402

sys.path.remove(str(CLIENTS))
SUITE = {"name": "toy", "tests": ["tests/test_*.py"], "get": "made by the test", "leave_out": [["left_out", "a reason"]]}

CASES = '''
import os
import time
import pytest
import triton

HERE = os.environ["CLIENTS_ENGINE"] == "tilewright"

@pytest.mark.parametrize("n", range(3))
def test_passes(n, record_property):
    assert triton.cdiv(n, 2) == (n + 1) // 2
    record_property("n", n)

def test_crashes():
    os.abort()

def test_fails():
    print("noise")
    raise ValueError("first line\\nsecond line")

def test_hangs():
    time.sleep(600)

def test_left_out():
    pass

def test_only_ours():
    assert HERE

def test_only_triton():
    assert not HERE, "this engine lacks it"

def test_skipped():
    pytest.skip("a reason")

@pytest.mark.xfail(strict=True)
def test_expected():
    assert False

@pytest.fixture
def broken():
    raise OSError("no fixture")

def test_error(broken):
    pass

def test_after_all():
    pass
'''
OUTCOMES = {"test_passes[0]": "passed", "test_passes[1]": "passed", "test_passes[2]": "passed", "test_crashes": "crash", "test_fails": "failed",
            "test_hangs": "timeout", "test_skipped": "skipped", "test_expected": "expected", "test_error": "error", "test_after_all": "passed"}


def run(*arguments, status=0, surroundings=None):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), tilewright._alias.path()])} | (surroundings or {})
    done = subprocess.run([sys.executable, RUN, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == status, done.stdout
    return done.stdout


def read(path):
    """(versions, {test's name without its file: result})"""
    first, *rest = map(json.loads, path.read_text().splitlines())
    return first, {row["test"].split("::", 1)[1]: row for row in rest}


def make(folder, **files):
    (folder / "toy/tests").mkdir(parents=True)
    for name, text in files.items():
        (folder / "toy/tests" / f"{name}.py").write_text(text)
    (folder / "suites.json").write_text(json.dumps([SUITE]))
    return folder


def options(folder, engine, *more):
    return ["--suites", folder / "suites.json", "--sources", folder, "--engine", engine, "--jobs", "2", "--limit", "3", "-o", folder / f"{engine}.jsonl", *more]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = make(tmp_path_factory.mktemp("clients"), test_cases=CASES, test_gone="import no_such_module\n\ndef test_gone():\n    pass\n")
    for engine in ("tilewright", "triton"):
        run(*options(folder, engine, "--log", folder / "log"))
    return folder


def test_outcomes(results):
    for engine in ("tilewright", "triton"):
        versions, rows = read(results / f"{engine}.jsonl")
        assert versions["triton"] == tilewright.triton_version and versions["device"] == "cpu"
        expected = OUTCOMES | {"test_only_ours": "passed" if engine == "tilewright" else "failed", "(collection)": "error",
                               "test_only_triton": "failed" if engine == "tilewright" else "passed"}
        assert {name: row["outcome"] for name, row in rows.items()} == expected
        assert rows["test_fails"]["message"] == "ValueError: first line"
        assert "no_such_module" in rows["(collection)"]["message"]
        assert "no fixture" in rows["test_error"]["message"]
        assert rows["test_passes[2]"]["numbers"] == {"n": 2} and "numbers" not in rows["test_after_all"]
        assert 3 <= rows["test_hangs"]["seconds"] < 60 or "no end after 3 s" in rows["test_hangs"]["message"]
    assert read(results / "tilewright.jsonl")[0]["engine"] == "tilewright"
    assert any(": in test_fails" in path.read_text() for path in (results / "log").iterdir())


def test_comparison(results, tmp_path):
    ours, theirs, known, page = results / "tilewright.jsonl", results / "triton.jsonl", tmp_path / "known.txt", tmp_path / "page.md"
    known.write_text("# nothing\n")
    printed = run("--compare", ours, theirs, "--known", known, "--page", page, "--title", "On one machine", status=1)
    assert "| toy | 4 | 1 | 1 | 4 | 2 | 0 |" in printed
    assert "this engine lacks it" in printed.splitlines()[-1]
    known.write_text("toy | *::test_only_tri?on | a known reason\n")
    printed = run("--compare", ours, theirs, "--known", known, "--page", page, "--title", "On another")
    assert "a known reason" in printed and "passes under the other" not in printed
    text = page.read_text()
    assert text.count("## On one machine") == text.count("## On another") == text.count("# Third-party libraries") == 1
    run("--compare", ours, theirs, "--known", known, "--page", page, "--title", "On another")
    assert page.read_text() == text
    known.write_text("other | *::test_only_triton | a reason of another suite\n")
    run("--compare", ours, theirs, "--known", known, status=1)
    known.write_text("toy | *::test_only_triton |\n")
    run("--compare", ours, theirs, "--known", known, status=1)  # a reason is a reason


def write(path, **outcomes):
    rows = [{"suite": "toy", "test": f"tests/test_a.py::{test}", "outcome": outcome, "seconds": 2.0, "message": ""} for test, outcome in outcomes.items()]
    head = {"engine": "", "triton": "", "torch": "", "device": "cpu", "cpu": "", "gpu": "", "python": "", "sample": 1, "seed": 0, "chosen": True}
    path.write_text("".join(json.dumps(row) + "\n" for row in [head, *rows]))
    return path


@pytest.mark.parametrize("mine, theirs, column, status", [
    ("passed", "passed", 0, 0), ("failed", "passed", 1, 1), ("skipped", "passed", 1, 1), ("timeout", "passed", 1, 1), (None, "passed", 1, 1),
    ("passed", "crash", 2, 0), ("crash", "error", 3, 0), ("passed", "skipped", 4, 0), ("skipped", "failed", 4, 0), ("expected", "expected", 4, 0),
    ("not run", "passed", 5, 0), ("passed", "not run", 5, 0), ("passed", None, 5, 0), ("failed", None, 5, 0)])
def test_classes(tmp_path, mine, theirs, column, status):
    sides = [write(tmp_path / name, same="passed", **({"test": outcome} if outcome else {})) for name, outcome in (("a", mine), ("b", theirs))]
    counts = [1, 0, 0, 0, 0, 0]
    counts[column] += 1
    lines, unexplained = comparison.report(*map(comparison.read, sides), [])
    printed = "\n".join(lines)
    assert bool(unexplained) == bool(status)
    assert f"| toy | {' | '.join(map(str, counts))} | 1.00 |" in printed


def test_a_file_that_cannot_be_imported_here_fails(tmp_path):
    ours = write(tmp_path / "a", **{"(collection)": "error"})
    printed = run("--compare", ours, write(tmp_path / "b", test="passed"), "--known", os.devnull, status=1)
    assert "cannot be imported" in printed


def test_samples(tmp_path):
    text = "import pytest\n" + "".join(f"@pytest.mark.parametrize('n', range(50))\ndef test_{name}(n):\n    pass\n" for name in "abcd")
    folder, chosen = make(tmp_path, test_many=text), {}
    for name, engine, more in [("x", "tilewright", ["--sample", 6, "--choose"]), ("y", "triton", ["--sample", 6, "--choose"]),
                               ("z", "tilewright", ["--sample", 6, "--seed", 1, "--choose"]), ("like", "triton", ["--like", folder / "x.jsonl", "--sample", 1])]:
        run(*options(folder, engine, *more), "-o", folder / f"{name}.jsonl")
        rows = read(folder / f"{name}.jsonl")[1]
        assert {row["outcome"] for row in rows.values()} == {"passed" if name == "like" else "not run"}
        chosen[name] = set(rows)
    assert chosen["x"] == chosen["y"] == chosen["like"] != chosen["z"]
    assert read(folder / "like.jsonl")[0]["sample"] == 6 and read(folder / "z.jsonl")[0]["seed"] == 1
    assert len(chosen["x"]) == 6 and {test[:6] for test in chosen["x"]} == {"test_a", "test_b", "test_c", "test_d"}


def test_what_there_was_no_time_for(tmp_path):
    folder = make(tmp_path, test_a="import time\n\ndef test_slow():\n    time.sleep(100)\n\ndef test_slower():\n    time.sleep(100)\n")
    wanted = write(tmp_path / "wanted.jsonl", test_slow="not run", test_slower="not run")
    run(*options(folder, "tilewright", "--limit", 90, "--seconds", 6, "--like", wanted))
    assert {name: row["outcome"] for name, row in read(folder / "tilewright.jsonl")[1].items()} == {"test_slow": "not run", "test_slower": "not run"}


def test_collection_that_kills_the_process(tmp_path):
    folder = make(tmp_path, test_dies="import os\nos.abort()\n", test_lives="def test_lives():\n    pass\n")
    run(*options(folder, "tilewright", "--test", "test_lives"))
    rows = read(folder / "tilewright.jsonl")[1]
    assert {name: row["outcome"] for name, row in rows.items()} == {"test_lives": "passed", "(collection)": "error"}


def test_usage(tmp_path):
    listed = run("--list")
    assert "liger" in listed and "git clone" in listed
    assert "no suite is named nothing" in run("nothing", "-o", os.devnull, status=2)
    printed = run("liger", "--sources", tmp_path, "-o", tmp_path / "none.jsonl", status=2)  # nothing ran
    assert "liger: not run, " in printed


def test_processes_are_distributed_over_the_gpus(tmp_path):
    """Six files, at most two processes at a time for each of two GPUs."""
    text = "import os\nimport time\n\ndef test_{0}(record_property):\n    record_property('gpu', os.environ['CUDA_VISIBLE_DEVICES'])\n    time.sleep(1)\n"
    folder = make(tmp_path / "a", **{f"test_{name}": text.format(name) for name in "abcdef"})
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho A GPU\necho A GPU\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    for visible, wanted in [(None, {"0", "1"}), ("5", {"5"}), ("3,7", {"3", "7"})]:
        surroundings = {"PATH": path} | ({"CUDA_VISIBLE_DEVICES": visible} if visible else {})
        run(*options(folder, "tilewright", "--device", "cuda", "--jobs", 4, "--limit", 60), surroundings=surroundings)
        rows = read(folder / "tilewright.jsonl")[1]
        assert {row["outcome"] for row in rows.values()} == {"passed"} and len(rows) == 6
        assert {row["numbers"]["gpu"] for row in rows.values()} == wanted
