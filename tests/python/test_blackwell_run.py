"""tests/gpu/run --blackwell, on the simulator and on a GPU that computes nothing: a result for each kernel, and an exit code."""

import os
import pathlib
import subprocess
import sys

from test_gpu_runtime import fake_library

ROOT = pathlib.Path(__file__).resolve().parents[2]
# PyTorch on a machine with a B200 whose driver is tests/unit/fake_cuda.c: memory of the host, and launches without effect.
TORCH = """
import ctypes, os
import numpy as np

fake = ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA"])
fake.fakeCuda.restype = ctypes.POINTER(ctypes.c_int)
for index, value in enumerate([13000, 1, 0, 10, 10]):  # version, deviceCount, initStatus, major
    fake.fakeCuda()[index] = value
__version__, uint8 = "0", np.uint8

class Tensor:
    def __init__(self, array):
        self.array = array
    def __getitem__(self, part):
        return Tensor(self.array[part])
    def data_ptr(self):
        return self.array.ctypes.data
    def copy_(self, other):
        self.array[:] = other.array
    def cpu(self):
        return self
    def numpy(self):
        return self.array

def empty(size, dtype, device):
    return Tensor(np.zeros(size, dtype))

from_numpy = Tensor

class cuda:
    is_available = staticmethod(lambda: True)
    get_device_capability = staticmethod(lambda: (10, 0))
    get_device_name = staticmethod(lambda: "Fake B200")
    synchronize = staticmethod(lambda: None)
"""


def run(only, *more, **environment):
    environment = {**os.environ, "TILEWRIGHT_TESTS_ON_GPU": "", **environment}
    command = [sys.executable, ROOT / "tests" / "gpu" / "run", "--blackwell", *more, "--only", only]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def test_results():
    done = run("smaller_dots", "--simulate")
    assert done.returncode == 0 and done.stdout == "test_smaller_dots_use_mma_sync: 3 of 3 right\n3 ran, 0 wrong\n", done.stdout + done.stderr


def test_a_gpu_that_computes_nothing(tmp_path):
    """All but the results is as on a GPU: the collection, code for its target, launches, and a message for each wrong case."""
    (tmp_path / "torch.py").write_text(TORCH)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run("smaller_dots", PYTHONPATH=path, TILEWRIGHT_LIBCUDA=fake_library())
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and lines[0].startswith("Fake B200, sm_100a, PyTorch 0, Tilewright "), done.stdout + done.stderr
    assert lines[1] == "test_smaller_dots_use_mma_sync: 0 of 3 right" and lines[-1] == "3 ran, 3 wrong", done.stdout
    assert all(line.startswith("    FAILED test_smaller_dots_use_mma_sync[tile") and "AssertionError" in line for line in lines[2:5]), done.stdout


CASES = """
import os, time, pytest

@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_second_is_wrong(n):
    assert n != 2

@pytest.mark.parametrize("n", [1, 2, 3])
def test_first_ends_its_process(n):
    n == 1 and os.abort()

@pytest.mark.parametrize("n", [1, 2])
def test_second_hangs(n):
    n == 2 and time.sleep(1000)

@pytest.mark.parametrize("n", range(9))
def test_all_are_wrong(n):
    raise RuntimeError("CUDA error: misaligned address")
"""


def blackwell_module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "gpu" / "device"))
    import blackwell

    return blackwell


def test_each_kernel_and_each_format_has_a_row(monkeypatch):
    """A kernel that fails three times leaves the results of the others, and only cases of the GPU's target run."""
    blackwell = blackwell_module(monkeypatch)
    collected, problem = blackwell.Pytest([], simulate=True).collect("python")
    assert not problem, problem
    for target in ("sm_100a", "sm_103a", "sm_120a", "sm_90a"):
        rows = {row: blackwell.of_one_target(cases, target) for row, cases in collected.items()}
        ran = target if target != "sm_90a" else "sm_100a"
        kernels = {name: cases for (file, name), cases in rows.items() if file.endswith("test_gpu_kernels.py")}
        assert len(kernels) == 11 and "test_kernel 07_attention" in kernels
        assert all(len(cases) == 5 and all(f"-{ran}]" in case for case in cases) for cases in kernels.values()), kernels
        assert {name for file, name in rows if name.startswith("test_scaled_matmul")} == {f"test_scaled_matmul {f}" for f in ("nvfp4", "mxfp4", "mxfp8", "mixed")}
        assert all(rows.values())


def test_a_missing_module_is_one_message(monkeypatch, capsys):
    blackwell = blackwell_module(monkeypatch)
    monkeypatch.setattr(blackwell.importlib.util, "find_spec", lambda name: None if name == "torch" else object())
    assert blackwell.run([], simulate=False) == 1
    assert capsys.readouterr().out.startswith("tests/gpu/run --blackwell needs torch; this Python is ")


def test_failures_and_hangs_do_not_hide_other_cases(tmp_path, monkeypatch, capsys):
    blackwell = blackwell_module(monkeypatch)
    for folder, text in (("python", CASES), ("run", "def test_other():\n    pass\n")):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}_cases.py").write_text(text)
    (tmp_path / "tests" / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--gpu-target')\n")
    monkeypatch.setattr(blackwell, "ROOT", str(tmp_path))
    monkeypatch.setattr(blackwell, "FILES", ["python/test_python_cases.py", "run/test_run_cases.py"])
    monkeypatch.setattr(blackwell, "SECONDS_OF_A_ROW", 20)
    assert blackwell.run([], simulate=True) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "test_second_is_wrong: 3 of 4 right" and lines[1].startswith("    FAILED test_second_is_wrong[2]: "), lines
    assert lines[2:4] == ["test_first_ends_its_process: 2 of 3 right", "    CRASHED test_first_ends_its_process[1]"], lines
    assert lines[4:6] == ["test_second_hangs: 1 of 2 right", "    HUNG test_second_hangs[2]"], lines
    assert lines[6] == "test_all_are_wrong: 0 of 3 right, 6 not run after 3 failures" and "misaligned address" in lines[7], lines
    assert lines[-2:] == ["test_other: 1 of 1 right", "13 ran, 6 wrong, 6 not run"], lines
