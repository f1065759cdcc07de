"""`tilewright bench`: counts are exact, wrong kernels are not measured, and noise is not reported as a difference."""

import json
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

from tilewright import _core, bench, verify
from tilewright._author import peaks
from tilewright._author.kernel_file import KernelFileError

_PRODUCT = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM)[:, None], tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        row, column = start + tl.arange(0, BK)[None, :], start + tl.arange(0, BK)[:, None]
        a = tl.load(a_ptr + m * K + row, mask=(m < M) & (row < K), other=0.0)
        b = tl.load(b_ptr + column * N + n, mask=(column < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m * N + n, total, mask=(m < M) & (n < N))

def kernel_fn(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float32)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BM=32, BN=32, BK=16)
    return c

def reference_fn(a, b):
    return a @ b

def get_inputs():
    return [np.random.standard_normal((128, 64)).astype(np.float32), np.random.standard_normal((64, 96)).astype(np.float32)]
"""


@pytest.fixture
def product(tmp_path):
    path = tmp_path / "product.py"
    path.write_text(_PRODUCT)
    return path


def test_results(product):
    found = bench.bench(str(product), warmup=1, repeat=5)
    seed = {"kernel_time_ms", "reference_time_ms", "speedup", "warmup_iters", "benchmark_iters"}
    assert seed <= found.keys() and (found["warmup_iters"], found["benchmark_iters"]) == (1, 5)
    assert found["flops"] == 2 * 128 * 64 * 96
    assert found["bytes"] == 4 * (128 * 64 + 64 * 96 + 128 * 96)
    assert len(found["kernel"]["samples"]) == len(found["reference"]["samples"]) == 5
    assert found["speedup"] == pytest.approx(found["reference_time_ms"] / found["kernel_time_ms"])
    assert found["arithmetic_intensity"] == pytest.approx(found["flops"] / found["bytes"])
    assert found["tflop_per_s"] == pytest.approx(found["flops"] / found["kernel_time_ms"] / 1e9)
    minimum = max(found["bytes"] / found["roofline"]["bytes_per_second"], found["flops"] / found["roofline"]["float32"])
    assert found["fraction_of_peak"] == pytest.approx(minimum / found["kernel_time_ms"] * 1e3)


def test_operations_of_all_kinds(tmp_path):
    """Each operation counts once for each element of a tile, a reduction once between adjacent elements; operations on other types than floats do not count."""
    path = tmp_path / "rows.py"
    path.write_text("""
import numpy as np
import triton
import triton.language as tl

@triton.jit
def rows_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.exp(x - tl.max(x, 0)) * 2.0)

def kernel_fn(x):
    out = np.empty_like(x)
    rows_kernel[(x.shape[0],)](x, out, N=64)
    return out

def reference_fn(x):
    return np.exp(x - x.max(1, keepdims=True)) * 2

def get_inputs():
    return [np.random.standard_normal((20, 64)).astype(np.float32)]
""")
    from tilewright._author.kernel_file import KernelFile
    work = bench.count_work(KernelFile(str(path)), None)
    assert work.operations == 20 * (3 * 64 + 63) and not work.has_dot
    assert work.bytes == 2 * 20 * 64 * 4


_UNTIL = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def halve_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    while tl.max(x, 0) > 1:
        x = x * 0.5
    tl.store(out_ptr + tl.arange(0, N), x)

def kernel_fn(x):
    out = np.empty_like(x)
    halve_kernel[(1,)](x, out, N=16)
    return out

def reference_fn(x):
    return x / 8

def get_inputs():
    return [np.full(16, 8, np.float32)]
"""


def test_loops_that_depend_on_data(tmp_path, monkeypatch, capsys):
    """If the IR does not tell, the interpreter counts on the CPU; a kernel that does not run there is measured nevertheless."""
    from tilewright._author.kernel_file import KernelFile
    path = tmp_path / "until.py"
    path.write_text(_UNTIL)
    assert bench.count_work(KernelFile(str(path)), None).operations == 4 * 15 + 3 * 16
    assert "loops depend on data" in capsys.readouterr().err
    monkeypatch.setattr(bench, "_interpreted", lambda *_: 1 // 0)
    work = bench.count_work(KernelFile(str(path)), None)
    assert work.operations == 0 and work.bytes == 2 * 64
    assert "operations are not counted: on the CPU kernel_fn raises" in capsys.readouterr().err


def test_work_is_counted_without_running_it_elsewhere(product, monkeypatch):
    from tilewright._author.kernel_file import KernelFile
    monkeypatch.setattr(bench, "_interpreted", lambda *_: pytest.fail("the kernel is run a second time, on the CPU"))
    work = bench.count_work(KernelFile(str(product)), None)
    assert work.operations == 2 * 128 * 64 * 96 and work.has_dot and work.bytes == 4 * (128 * 64 + 64 * 96 + 128 * 96)


def test_measuring_ends(product, monkeypatch):
    from tilewright._author.kernel_file import KernelFile
    monkeypatch.setattr(bench, "_MOST_SECONDS", 0)
    file = KernelFile(str(product))
    kernel, reference = bench._measure(file, file.inputs(), 100, 1000)
    assert len(kernel) == len(reference) == 5


def test_refuses_what_is_wrong(product):
    product.write_text(_PRODUCT.replace("range(0, K, BK)", "range(0, K - BK, BK)"))
    report = bench.bench(str(product))
    assert isinstance(report, verify.Report) and not report.correct
    done = subprocess.run([sys.executable, "-m", "tilewright.bench", str(product), "--json"], capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["correct"] is False and "only a correct kernel is measured" in json.loads(done.stdout)["error"]
    assert "only a correct kernel is measured" in done.stderr


def test_peaks_are_measured_once(monkeypatch):
    calls = []
    monkeypatch.setattr(_core, "measure_cpu", lambda: calls.append(1) or {"bytes_per_second": 1e9, "float32": 2e9, "float64": 1e9})
    assert peaks.peaks_of("cpu") == peaks.peaks_of("cpu")
    assert len(calls) == 1
    peaks.peaks_of("cpu", remeasure=True)
    assert len(calls) == 2


def test_disturbed_peaks_are_measured_again(monkeypatch):
    """The higher rates count, and an undisturbed measurement ends the search."""
    rates = iter([{"bytes_per_second": 1e9, "float32": 3e9, "float64": 1e9, "disturbed": True},
                  {"bytes_per_second": 2e9, "float32": 2e9, "float64": 1e9, "disturbed": False}])
    monkeypatch.setattr(_core, "measure_cpu", lambda: next(rates))
    assert peaks.peaks_of("cpu", remeasure=True)["disturbed"]
    again = peaks.peaks_of("cpu")
    assert again["bytes_per_second"] == 2e9 and again["float32"] == 3e9 and not again["disturbed"]
    assert peaks.peaks_of("cpu") == again  # nothing is measured again


def test_peaks_that_cannot_be_measured(monkeypatch):
    monkeypatch.setattr(_core, "measure_cpu", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        peaks.peaks_of("cpu", remeasure=True)


def test_disturbed_peaks_are_reported():
    work = _core.Work(1 << 20, 0.0, False, "float32")
    disturbed = {"bytes_per_second": 1e6, "float32": 1e6, "disturbed": True, "device": "this"}
    text = _core.Measurement([1.0], [1.0], 1, work, disturbed).text()
    assert "% of the memory peak of this; other programs disturbed the measurement of the peaks" in text
    quiet = _core.Measurement([1.0], [1.0], 1, work, {**disturbed, "disturbed": False}).text()
    assert quiet.endswith("the data is in caches, which the memory peak excludes\n")


def test_peaks_that_a_kernel_exceeds_are_raised(monkeypatch):
    monkeypatch.setattr(_core, "measure_cpu", lambda: {"bytes_per_second": 1e9, "float32": 2e9, "float64": 1e9})
    own = peaks.peaks_of("cpu", remeasure=True)
    large = 4 * _core.target()["llc_bytes"]
    work = lambda bytes, operations: _core.Work(bytes, operations, False, "float32")
    assert peaks.beaten(own, "cpu", work(10**9, 1e9), 1.0) is own
    assert peaks.beaten(own, "cpu", work(1000, 5e9), 1.0)["float32"] == 5e9
    raised = peaks.beaten(peaks.peaks_of("cpu"), "cpu", work(large, 1.0), large / 3e9)
    assert raised["bytes_per_second"] == pytest.approx(3e9) and peaks.peaks_of("cpu") == raised and raised["float32"] == 5e9
    # Data that fit into caches tell nothing about memory.
    assert peaks.beaten(raised, "cpu", work(1000, 1.0), 1e-9) is raised


def test_peaks_are_plausible():
    own = _core.measure_cpu()
    assert own["bytes_per_second"] > 1e8 and own["float32"] > 1e8 and own["float64"] > 1e8


def test_noise():
    generator = np.random.default_rng(0)
    times = 1 + 0.2 * generator.random(40)
    assert _core.compare_times(times, 1 + 0.2 * generator.random(40)) == "same"
    assert _core.compare_times(times, times * 1.5) == "slower" and _core.compare_times(times, times / 1.5) == "faster"
    assert _core.compare_times(times, times * 1.5, drift=1.5) == "same"
    low, high = _core.interval_of_median(times)
    assert low < np.median(times) < high


def test_quantiles():
    values = np.random.default_rng(0).random(17)
    assert _core.quantiles(values.tolist(), [0, 0.2, 0.5, 0.99, 1]) == pytest.approx(np.quantile(values, [0, 0.2, 0.5, 0.99, 1]), rel=1e-15)
    assert _core.quantiles([3.0], [0.2, 0.8]) == [3.0, 3.0]
    with pytest.raises(ValueError, match="no values"):
        _core.quantiles([], [0.5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        _core.quantiles([1.0], [1.5])


def results(path, kernel, reference, device="cpu"):
    path.write_text(json.dumps({"device": device, "kernel": {"samples": list(kernel)}, "reference": {"samples": list(reference)}}))
    return str(path)


def test_compare(tmp_path):
    times = 1 + 0.1 * np.random.default_rng(1).random(40)
    old = results(tmp_path / "old.json", times, times)
    assert bench.compare(old, results(tmp_path / "new.json", times * 2, times))["result"] == "slower"
    # On a machine that is half as fast, the reference is slower, too.
    found = bench.compare(old, results(tmp_path / "new.json", times * 2, times * 2))
    assert found["result"] == "same" and found["machine"] == pytest.approx(2) and found["ratio"] == pytest.approx(1)
    with pytest.raises(KernelFileError, match="different machines cannot be compared"):
        bench.compare(old, results(tmp_path / "new.json", times, times, "another"))
    (tmp_path / "new.json").write_text("{}")
    with pytest.raises(KernelFileError, match="has no results"):
        bench.compare(old, str(tmp_path / "new.json"))
    with pytest.raises(KernelFileError, match="cannot read"):
        bench.compare(old, str(tmp_path / "nothing.json"))


def test_roofline():
    for intensity, rate in ((0.08, 1e9), (60.0, 2e11), (1e4, 3e8)):
        picture = xml.etree.ElementTree.fromstring(_core.draw_roofline("a < b & c", intensity, rate, 2e10, 4e11))
        circle = picture.find("{*}circle")
        assert 0 < float(circle.get("cx")) < 720 and 0 < float(circle.get("cy")) < 440
        assert any(text.text == "a < b & c" for text in picture.iterfind(".//{*}text"))


def test_command(product, tmp_path):
    """The command writes results to files, which can be compared."""
    call = [sys.executable, "-m", "tilewright.bench"]
    one, picture = tmp_path / "one.json", tmp_path / "roofline.svg"
    measured = subprocess.run([*call, str(product), "--repeat", "5", "--output", str(one), "--roofline", str(picture)], capture_output=True, text=True)
    assert measured.returncode == 0, measured.stderr
    assert measured.stdout.startswith("kernel ") and " peak" in measured.stdout
    xml.etree.ElementTree.parse(picture)
    compared = subprocess.run([*call, "--compare", str(one), str(one), "--json"], capture_output=True, text=True)
    assert compared.returncode == 0 and json.loads(compared.stdout)["result"] == "same"
    for wrong, message in ((["--compare", str(one)], "--compare expects two result files"), ([str(product), str(product)], "bench expects one FILE"),
                           ([str(product), "--repeat", "0"], "--repeat")):
        done = subprocess.run([*call, *wrong], capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr
