"""Made-up machines with several memory nodes: a kernel's results are bit for bit the same as on one thread."""

import os
import subprocess
import sys

import pytest

PROGRAM = '''
import hashlib
import numpy as np
import tilewright as triton
import tilewright.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, sums_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + columns[None, :], mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
    tl.store(sums_ptr + tl.program_id(1) * M + rows, tl.sum(tl.exp(acc * 0.01), 1), mask=rows < M)


M, N, K = 500, 300, 200
numbers = np.random.default_rng(0)
a, b = numbers.standard_normal((M, K), np.float32), numbers.standard_normal((K, N), np.float32)
c, sums = np.zeros((M, N), np.float32), np.zeros((10, M), np.float32)
for turn in range(5):
    c[:], sums[:] = 0, 0
    matmul_kernel[(16, 10)](a, b, c, sums, M, N, K, BLOCK=32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-3)
    print(hashlib.sha256(c.tobytes() + sums.tobytes()).hexdigest())
'''


def results(tmp_path, threads, **variables):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "TILEWRIGHT_NUM_THREADS": str(threads), **variables}
    run = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize("nodes", [2, 4])
def test_results_are_those_of_one_thread(tmp_path, nodes):
    usable = sorted(os.sched_getaffinity(0))
    machine = tmp_path / "nodes"
    for node in range(nodes):
        (machine / f"node{node}").mkdir(parents=True)
        (machine / f"node{node}" / "cpulist").write_text(f"{usable[node % len(usable)]}\n")
    (machine / "online").write_text(f"0-{nodes - 1}\n")
    alone = results(tmp_path, 1)
    assert len(alone) == 1
    assert results(tmp_path, 2 * nodes, TILEWRIGHT_NUMA=str(machine)) == alone
    assert results(tmp_path, 2 * nodes, TILEWRIGHT_NUMA="0") == alone
