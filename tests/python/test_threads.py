"""Launches and compilation from several threads at once: the same kernels, different ones, tuned ones. Results are checked."""

import pathlib
import subprocess
import sys
import threading

import numpy as np

import tilewright as triton
import tilewright.language as tl

THREADS, ROUNDS = 8, 24


@triton.jit
def add_kernel(x_ptr, out_ptr, n, CONSTANT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + CONSTANT, mask=at < n)


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), 0))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"],
                 do_bench=lambda call, quantiles: [call() or 1.0] * len(quantiles))
@triton.jit
def tuned_kernel(out_ptr, value, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, value, mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], restore_value=["out_ptr"],
                 do_bench=lambda call, quantiles: [call() or 1.0] * len(quantiles))
@triton.jit
def counting_kernel(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + at, 1, mask=at < n)


def from_threads(work):
    """Calls work(thread, round) from all threads at once; the first exception is raised here."""
    problems = []
    barrier = threading.Barrier(THREADS)

    def run(number):
        try:
            barrier.wait()
            for round in range(ROUNDS):
                work(number, round)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def test_the_same_specialisations():
    def work(number, round):
        n = 1 + (37 * number + 11 * round) % 3000
        x = np.arange(n, dtype=np.float32)
        out = np.zeros(n, np.float32)
        add_kernel[(triton.cdiv(n, 256),)](x, out, n, CONSTANT=round % 4, BLOCK=256)
        assert (out == x + round % 4).all()

    from_threads(work)


def test_different_kernels():
    def work(number, round):
        constant = 1000 * number + round
        out = np.zeros(64, np.float32)
        add_kernel[(1,)](np.zeros(64, np.float32), out, 64, CONSTANT=constant, BLOCK=64)
        assert (out == constant).all()
        rows = np.full((50, 1 + round), number, np.float32)
        sums = np.zeros(50, np.float32)
        sum_kernel[(50,)](rows, sums, 1 + round, BLOCK=32)
        assert (sums == number * (1 + round)).all()

    from_threads(work)


def test_tuned_kernels():
    def work(number, round):
        n = 64 * (1 + round % 6)
        out = np.zeros(n, np.float32)
        tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, float(round), n)
        assert (out == round).all()
        counts = np.zeros(n, np.int32)
        counting_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](counts, n)
        assert (counts == 1).all()

    from_threads(work)


def test_hooks_see_the_arguments_of_their_own_call():
    seen = []

    def prune(configs, named, **kwargs):
        seen.append((threading.get_ident(), named["n"], kernel.nargs["n"]))
        return configs

    kernel = triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"],
                             prune_configs_by={"early_config_prune": prune})(tuned_kernel.fn)
    kernel._do_bench = tuned_kernel._do_bench

    def work(number, round):
        n = 64 * (1 + number) + round
        kernel[(triton.cdiv(n, 64),)](np.zeros(n, np.float32), 1.0, n)
        assert kernel.nargs is None

    from_threads(work)
    assert len(seen) == THREADS * ROUNDS and all(given == found for _, given, found in seen)


def test_a_none_argument_is_neither_reset_nor_restored():
    for option in ("reset_to_zero", "restore_value"):
        @triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[], **{option: ["x_ptr"]})
        @triton.jit
        def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
            if x_ptr is not None:
                tl.store(x_ptr, 1.0)
            tl.store(out_ptr, 2.0)

        out = np.zeros(1, np.float32)
        kernel[(1,)](None, out)
        assert out[0] == 2


@triton.jit
def wait_kernel(flag_ptr, out_ptr):
    tl.atomic_add(out_ptr + 1, 1)  # it runs
    while tl.load(flag_ptr, volatile=True) == 0:
        pass
    tl.store(out_ptr, 1)


HOST = """
import sys, threading, time
import numpy as np
sys.path.insert(0, sys.argv[1])
from test_threads import wait_kernel

flag, out, seen = np.zeros(1, np.int32), np.zeros(2, np.int32), []
def store():
    while out[1] == 0:
        time.sleep(0.001)
    seen.append(int(out[0]))
    flag[0] = 1
thread = threading.Thread(target=store)
thread.start()
wait_kernel[(1,)](flag, out)
thread.join()
print(seen[0], out[0])
"""


def test_a_program_waits_until_the_host_stores():
    command = [sys.executable, "-c", HOST, pathlib.Path(__file__).resolve().parent]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120)  # if the load were not in the loop, it might never end
    assert done.stdout.split() == ["0", "1"]
