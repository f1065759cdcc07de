"""The command line, Python and the C interface share one tuner: each knows the results of the others."""

import concurrent.futures
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import tilewright as triton

BUILD = pathlib.Path(triton.__file__).absolute().parent.parent.parent
COMMAND = os.environ.get("TILEWRIGHT_COMMAND", str(BUILD / "bin" / "tilewright"))
LIBRARY = BUILD / "lib" / "libtilewright.so"
GRID = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)

KERNEL = textwrap.dedent("""
    import triton
    import triton.language as tl
    from helper import filled

    def configs():
        return [triton.Config({"BLOCK": block}, num_warps=warps) for block in (32, 64) for warps in (4, 8)]

    @triton.autotune(configs=configs(), key=["n", "mode"], prune_configs_by={
        "early_config_prune": lambda configs, named_args, **kwargs: [one for one in configs if one.kwargs["BLOCK"] <= named_args["n"]]})
    @triton.heuristics({"TWICE": lambda args: 2 * args["BLOCK"]})
    @triton.jit
    def which(x_ptr, n, mode: tl.constexpr, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, filled(BLOCK, TWICE), mask=at < n)
    """)
HELPER = textwrap.dedent("""
    import triton
    import triton.language as tl

    @triton.jit
    def filled(BLOCK: tl.constexpr, TWICE: tl.constexpr):
        return tl.zeros((BLOCK,), tl.float32) + BLOCK + TWICE
    """)
PYTHON = textwrap.dedent("""
    import numpy as np, triton
    from kernel import which
    x = np.zeros(1000, np.{dtype})
    which[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, {n}, "fast")
    print(int(x[0]), which.best_config.num_warps, which.bench_time > 0, len(which.configs_timings))
    """)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


@pytest.fixture(autouse=True)
def results_differ(monkeypatch):
    """The kernel stores which configuration it runs."""
    monkeypatch.setenv("TILEWRIGHT_CHECK_TUNING", "0")


def command(folder, *words, **env):
    done = subprocess.run([COMMAND, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def by_command(folder, n=1000, dtype="f32", **env):
    text = command(folder, "run", "kernel.py", "--grid", "cdiv(n, BLOCK)", "--arg", f"x_ptr=zeros:{dtype}[1000]", "--arg", f"n={n}",
                   "--arg", "mode='fast'", "--time", "--print", "x_ptr", **env)
    first = int(text.partition("  [")[2].partition(",")[0])
    return first, int(text.partition("chosen: ")[2].partition("num_warps=")[2][0]), "tuned (" in text


def by_python(folder, n=1000, dtype="float32", **env):
    (folder / "launch.py").write_text(PYTHON.format(n=n, dtype=dtype))
    done = subprocess.run([sys.executable, "-m", "tilewright", "launch.py"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    first, warps, measured, _ = done.stdout.split()
    return int(first), int(warps), measured == "True"


C_PROGRAM = textwrap.dedent("""
    import ctypes

    class Value(ctypes.Union):
        _fields_ = [("integer", ctypes.c_int64), ("string", ctypes.c_char_p), ("pointer", ctypes.c_void_p)]

    class Argument(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("type", ctypes.c_int), ("bytes", ctypes.c_int64), ("value", Value),
                    ("device", ctypes.c_int32), ("readOnly", ctypes.c_int32)]

    class Grid(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("extent", ctypes.c_int64 * 3), ("rank", ctypes.c_int32)]

    INT, STRING, POINTER, F32 = 2, 5, 6, 11
    library = ctypes.CDLL("{library}")
    library.twErrorText.restype = ctypes.c_char_p
    for name in ("twModuleFromFile", "twKernelFind"):
        getattr(library, name).restype = ctypes.c_void_p
    error, grid = ctypes.c_void_p(), Grid(ctypes.sizeof(Grid), (32, 1, 1), 1)
    module = library.twModuleFromFile(b"kernel.py", ctypes.byref(error))
    assert module, library.twErrorText(error)
    kernel = library.twKernelFind(ctypes.c_void_p(module), b"which", ctypes.byref(error))
    assert kernel, library.twErrorText(error)
    x = (ctypes.c_float * 1000)()
    size = ctypes.sizeof(Argument)
    arguments = (Argument * 3)(Argument(size, b"x_ptr", POINTER, F32, 4000, Value(pointer=ctypes.addressof(x))),
                               Argument(size, b"n", INT, 0, 0, Value(integer={n})), Argument(size, b"mode", STRING, 0, 0, Value(string=b"fast")))
    assert library.twLaunch(ctypes.c_void_p(kernel), ctypes.byref(grid), None, None, arguments, 3, None, ctypes.byref(error)), \\
        library.twErrorText(error)
    print(int(x[0]))
    """)


def by_c(folder, n=1000, **env):
    done = subprocess.run([sys.executable, "-c", C_PROGRAM.format(library=LIBRARY, n=n)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def entries():
    return sorted(pathlib.Path(os.environ["TILEWRIGHT_CACHE_DIR"]).rglob("*.tuned"))


needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="there is no C library next to the package")


@needs_library
@pytest.mark.parametrize("winner", [0, 3])
def test_every_front_end_uses_a_stored_winner(folder, monkeypatch, winner):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", triton.language)
    for name in ("kernel", "helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    from kernel import which
    kernel = which.fn.fn
    problem = triton._core.tune_problem(kernel, kernel.cache_key, which.keys, (np.zeros(1000, np.float32), 1000, "fast"), {})
    texts = [triton._core.config_text(kernel, config) for config in which.configs]
    each = list(range(len(texts)))
    triton._core.tune(problem, texts, lambda index, best: ([0.5 if index == winner else 1.0], 0), lambda index: 0, lambda index: None, True, True, 0,
                      False, each, lambda: None, lambda index, group: None, each)
    for name in ("kernel", "helper"):
        monkeypatch.delitem(sys.modules, name)
    block, warps = which.configs[winner].kwargs["BLOCK"], which.configs[winner].num_warps
    assert by_python(folder) == (3 * block, warps, False)
    assert by_command(folder) == (3 * block, warps, False)
    assert by_c(folder) == 3 * block
    assert len(entries()) == 1


def test_python_finds_what_the_command_measured(folder):
    block, warps, measured = by_command(folder)
    assert measured and len(entries()) == 1
    assert by_python(folder) == (block, warps, False)
    # With another value of the key, another type or another source, it is measured again, and both results are kept.
    assert by_python(folder, n=999)[2] and by_command(folder, n=999)[2] is False
    assert by_python(folder, dtype="float64")[2] and by_command(folder, dtype="f64")[2] is False
    (folder / "helper.py").write_text(HELPER.replace("BLOCK + TWICE", "TWICE + BLOCK"))
    assert by_python(folder)[2] and len(entries()) == 4
    # Pruning leaves another list of configurations: only 32.
    assert by_command(folder, n=40)[2] and by_python(folder, n=40)[2] is False


def test_processes_that_tune_at_once_agree(folder):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        found = [job.result() for job in [pool.submit(by_command, folder) for _ in range(3)]]
    assert len(entries()) == 1
    kept = by_python(folder)
    assert kept[2] is False and kept[:2] in [one[:2] for one in found]


def test_the_store_survives_the_death_of_any_process(folder):
    words = ["run", "kernel.py", "--grid", "cdiv(n, BLOCK)", "--arg", "x_ptr=zeros:f32[1000]", "--arg", "mode='fast'"]
    for delay in (0.05, 0.15, 0.3, 0.5):  # while the processes start, compile, measure, store
        running = [subprocess.Popen([COMMAND, *words, "--arg", f"n={1000 - one}"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for one in range(3)]
        time.sleep(delay)
        for process in running[:2]:
            process.kill()
        assert [process.wait() for process in running][2] == 0
        command(folder, "tune", "--list", "--json")  # all stored results are complete
    assert len(entries()) >= 1
    assert by_command(folder, n=998)[2] is False and by_python(folder, n=998)[2] is False
    by_command(folder, n=1000)
    assert by_python(folder, n=1000)[2] is False


SHARED = textwrap.dedent("""
    import json, sys, time
    import numpy as np, triton
    from kernel import which
    from tilewright import _core

    measured = []
    measure_calls = _core.measure_calls
    def slowly(*arguments):
        time.sleep(0.1)
        measured.append(1)
        print("measured", flush=True)
        return measure_calls(*arguments)
    _core.measure_calls = slowly
    x = np.zeros(1000, np.float32)
    which[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, 1000, "fast")
    print(json.dumps([int(x[0]), which.best_config.num_warps, len(which.configs_timings), len(measured)]))
    """)


def test_workers_share_a_search_and_one_may_die(folder):
    """Workers as torchrun starts them: each measures configurations that no other has, and another one takes over from the killed one."""
    # The blocks differ, because configurations that differ only in warps are the same on a CPU.
    (folder / "kernel.py").write_text(KERNEL.replace("(32, 64) for warps in (4, 8)", "range(32, 42) for warps in (4,)")
                                      .replace("@triton.jit\n", "@triton.jit(any_size=True)\n"))
    (folder / "launch.py").write_text(SHARED)
    env = {**os.environ, "WORLD_SIZE": "3"}
    workers = [subprocess.Popen([sys.executable, "-m", "tilewright", "launch.py"], cwd=folder, env={**env, "RANK": str(rank)},
                                stdout=subprocess.PIPE, text=True) for rank in range(3)]
    first = select.select([worker.stdout for worker in workers], [], [])[0][0]  # any worker may measure first
    assert first.readline() == "measured\n"  # it has claimed the next one by now, or soon will
    [killed], others = ([worker for worker in workers if (worker.stdout is first) == is_first] for is_first in (True, False))
    killed.kill()
    ends = [worker.communicate()[0].splitlines()[-1] for worker in others]
    assert killed.wait() < 0 and [worker.returncode for worker in others] == [0, 0]
    found = [json.loads(end) for end in ends]
    assert found[0][:3] == found[1][:3] and found[0][2] == 10
    # Ten configurations, and three rounds among at most three of them; each worker alone would measure all of these. Their shares vary.
    assert 0 < sum(one[3] for one in found) <= 10 + 9
    assert len(entries()) == 1 and not list(entries()[0].parents[1].rglob("*.measured")) and not list(entries()[0].parents[1].rglob("*.claim"))
    assert by_python_with(folder, "launch.py")[3] == 0


def by_python_with(folder, script):
    done = subprocess.run([sys.executable, "-m", "tilewright", script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs_library
def test_every_front_end_has_the_same_initial_config(folder):
    text = KERNEL.replace("configs=configs()", 'configs="auto"').replace(", prune_configs_by={", ")").splitlines()
    (folder / "kernel.py").write_text("\n".join(line for line in text if "early_config_prune" not in line))
    first = by_command(folder)[0]
    assert first % 3 == 0 and by_python(folder)[:2] == (first, 4)
    assert by_c(folder) % 3 == 0  # the C program's grid is fixed, so another block may be the best
    assert not entries()


def test_number_of_threads_counts(folder):
    assert by_command(folder, TILEWRIGHT_NUM_THREADS="1")[2]
    assert by_python(folder, TILEWRIGHT_NUM_THREADS="2")[2]
    assert by_python(folder, TILEWRIGHT_NUM_THREADS="1")[2] is False


def test_nothing_is_kept_on_demand(folder):
    for front_end in (by_command, by_python):
        assert front_end(folder, TILEWRIGHT_CACHE_AUTOTUNING="0")[2]
    assert not entries()


def test_damaged_entries_are_measured_again(folder):
    by_command(folder)
    (entry,) = entries()
    for damage in (b"", b"{}", entry.read_bytes()[:-5], entry.read_bytes().replace(b"BLOCK", b"CLOCK")):
        entry.write_bytes(damage)
        assert by_python(folder)[2]
        assert by_command(folder)[2] is False


@needs_library
def test_every_front_end_uses_a_pinned_winner(folder):
    by_command(folder)
    file = folder / "tuned.json"
    command(folder, "tune", "--export", str(file))
    text = file.read_text()
    for winner, (block, warps) in enumerate([(32, 4), (32, 8), (64, 4), (64, 8)]):
        file.write_text(re.sub(r'"best": \d', f'"best": {winner}', text))
        pinned = {"TILEWRIGHT_TUNED": str(file), "TILEWRIGHT_CACHE_AUTOTUNING": "0"}
        if winner in (0, 3):
            assert by_python(folder, **pinned) == (3 * block, warps, False)
        assert by_command(folder, **pinned) == (3 * block, warps, False)
        assert by_c(folder, **pinned) == 3 * block
    file.write_text("{}")
    assert by_command(folder, **pinned)[2] and by_python(folder, **pinned)[2]
