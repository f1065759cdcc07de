"""ptxas's report on the examples' kernels for an H100 and a B200: no register is spilled, and no MMA is serialized. And a kernel's code is
the same each time it is compiled."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
sys.path.insert(0, str(ROOT / "tools"))

from example_kernels import HEAVY, KERNELS  # noqa: E402

# Bytes of each thread. Where one more CTA then fits on an SM, ptxas spills a few values over a loop that does not use them.
OUTSIDE_OF_LOOPS = 12


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("example, kernel, signature, warps, stages", HEAVY)
def test_no_spills(example, kernel, signature, warps, stages, target, tmp_path):
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    ptx = tmp_path / "kernel.ptx"
    made = subprocess.run([COMMAND, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--target", f"cuda:{target}", "--emit",
                           "ptx", "--num-warps", str(warps), "--num-stages", str(stages), "--signature", signature, "-o", ptx],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "out of resource" in made.stdout:
        return  # tuners also skip it
    assert made.returncode == 0, made.stdout
    report = subprocess.run(["ptxas", "-v", f"-arch={target}", ptx, "-o", tmp_path / "kernel.cubin"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True).stdout
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    assert spills and all(int(stores) <= OUTSIDE_OF_LOOPS and int(loads) <= OUTSIDE_OF_LOOPS for stores, loads in spills), report
    assert "C75" not in report, report


# By mma.sync, operands take registers, too: attention, and the kernels with the most accumulators. One of those for keys spills 16 bytes: causal
# steps of 128.
LARGE = ("BLOCK_M=128,BLOCK_N=256", "HEAD_DIM=128,CAUSAL=True,OWN=128")
KEYS = re.compile("OWN=128,STEP=64|CAUSAL=False,OWN=128,STEP=128")
BY_WARPS = [row for row in KERNELS if row[0] == "07_attention" and "fp16" in row[2] or
            (KEYS.search(row[2]) if row[1] == "keys_kernel" else any(part in row[2] for part in LARGE))]
FORWARD = [row for row in BY_WARPS if row[0] == "07_attention" and "HEAD_DIM=128" in row[2] and row[3] == 8]


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("example, kernel, signature, warps, stages", BY_WARPS)
def test_no_spills_on_consumer_blackwell(example, kernel, signature, warps, stages, tmp_path):
    test_no_spills(example, kernel, signature, warps, stages, "sm_120a", tmp_path)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("example, kernel, signature, warps, stages", FORWARD)
def test_no_spills_on_ada(example, kernel, signature, warps, stages, tmp_path):
    test_no_spills(example, kernel, signature, warps, stages, "sm_89", tmp_path)


def blackwell_attention():
    """The attention kernels of b200.jsonl, with all keys and causal."""
    rows = [json.loads(line) for line in (ROOT / "benchmarks" / "launches" / "b200.jsonl").read_text().splitlines()]
    launches = {row["size"].replace(" causal", ""): row["launches"][0] for row in rows if row.get("name") == "attention"}
    return [(size, launch, causal) for size, launch in launches.items() for causal in ("True", "False")]


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize("size, launch, causal", blackwell_attention(), ids=lambda value: value if isinstance(value, str) else "")
def test_no_spills_on_blackwell(size, launch, causal, arch, tmp_path):
    """In a program loop, too, the warp of MMAs has its operands in uniform registers."""
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    file, kernel = launch["kernel"].split(":")
    signature = re.sub("CAUSAL=(True|False)", f"CAUSAL={causal}", launch["signature"])
    ptx = tmp_path / "kernel.ptx"
    subprocess.run([COMMAND, "compile", ROOT / file, "--kernel", kernel, "--target", f"cuda:{arch}", "--emit", "ptx", "--num-warps",
                    str(launch["num_warps"]), "--num-stages", str(launch["num_stages"]), "--signature", signature, "-o", ptx], check=True)
    report = subprocess.run(["ptxas", "-v", f"-arch={arch}", ptx, "-o", tmp_path / "kernel.cubin"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True).stdout
    assert "0 bytes spill stores, 0 bytes spill loads" in report, report
    assert "tcgen05.mma" in ptx.read_text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
def test_room_for_two_blocks():
    """ptxas would give the kernel 134 registers a thread; it gets 128, so that two blocks of 256 threads run on a multiprocessor."""
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    tensors = ["dx_ptr", "dy_ptr", "dw_ptr", "db_ptr", "x_ptr", "weight_ptr"]
    types = [*(f"{name}=*fp16:16" for name in tensors), "mean_ptr=*fp32:16", "rstd_ptr=*fp32:16", "lock_ptr=*i32:16", "row_stride=i32:16",
             "n_cols=i32:16", "GROUPS=96", "BLOCK_SIZE=8192"]
    said = subprocess.run([COMMAND, "explain", ROOT / "tests" / "gpu" / "device" / "model_kernels.py", "--kernel",
                           "norm_backward_locked_kernel", "--num-warps", "8", "--signature", ",".join(types)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout
    registers = re.search(r"registers +(\d+) a thread, no spills", said)
    assert registers and int(registers[1]) <= 128, said


def test_code_depends_on_the_kernel_alone():
    """Eight processes, in which values have different addresses, generate the same code."""
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    example, kernel, signature, *_ = next(row for row in HEAVY if row[0] == "07_attention" and "CAUSAL=True" in row[2])
    command = [COMMAND, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--target", "cuda:sm_80", "--emit", "ptx", "--num-warps",
               "4", "--num-stages", "2", "--signature", signature]
    texts = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(8)}
    assert len(texts) == 1
