"""The first run on a GPU with tcgen05 (B200, B300): a result for each test function of FILES, in ten minutes. The functions of BY_KERNEL run many
kernels, so each of their kernels (or formats) has a result of its own.

    tests/gpu/run --blackwell               kernels with tcgen05.mma on the GPU of this machine, compared with float64
    tests/gpu/run --blackwell --simulate    the same on the simulator, without a GPU

Of cases that name targets, those of the GPU's target run (on another GPU, those of the first target). Each row of results has a process and a time
limit of its own, by the number of its cases: most compile in 0.3 to 0.9 s, on up to 16 cores. A case that fails ends its process, because a CUDA error
makes later launches fail; a new process runs the cases after it. A case that hangs is named when its process is killed. Other rows
do not notice either. Another GPU runs the same kernels with its own instructions, which shows that the script works. Exit code 1 if a result is wrong, or
a launch fails or hangs.
"""

import collections
import concurrent.futures
import importlib.util
import os
import re
import subprocess
import sys
import time

from loading import ROOT

SECONDS, SECONDS_OF_A_ROW, FAILURES = 600, 150, 3
SECONDS_TO_START, SECONDS_OF_A_CASE = 30, 3  # on a GPU; the simulator may need all SECONDS_OF_A_ROW
BY_KERNEL = {"test_kernel", "test_scaled_matmul", "test_one_tile_of_a_program"}  # whose first parameter is a kernel, or a format
FILES = ["python/test_gpu_kernels.py", "python/test_block_scaled_kernels.py", "python/test_tcgen05.py", "python/test_cta_pairs.py",
         "python/test_scaled_pairs.py", "python/test_chain_partition.py", "python/test_launch_control.py", "python/test_scaled_mma.py",
         "python/test_scales_of_dots.py", "run/test_dot.py", "run/test_scaled_dot.py", "run/test_tensor_cores.py",
         "run/test_computed_operands.py", "run/test_matmul_edges.py", "run/test_persistent_loops.py", "run/test_examples.py"]


def missing(simulate):
    """What the machine lacks for a run, or ""."""
    names = ["pytest", "numpy", "ml_dtypes", *([] if simulate else ["torch"])]
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    if absent:
        return f"tests/gpu/run --blackwell needs {', '.join(absent)}; this Python is {sys.executable}"
    if not simulate and not __import__("torch").cuda.is_available():
        return "PyTorch finds no GPU; --simulate runs the kernels on the simulator"
    return ""


def target_of_the_gpu():
    """"sm_100a" of a B200."""
    major, minor = __import__("torch").cuda.get_device_capability()
    return f"sm_{major}{minor}a"


def describe_gpu(target):
    """The first line of results on a GPU: what a report about wrong ones needs."""
    import tilewright
    import torch

    return f"{torch.cuda.get_device_name()}, {target}, PyTorch {torch.__version__}, Tilewright {tilewright.__version__}"


def of_one_target(cases, target):
    """The cases that name this target or none. If all name others, those of the first one."""
    named = [re.search(r"sm_\d+a?", case) for case in cases]
    targets = [name[0] for name in named if name]
    chosen = target if target in targets or not all(named) else targets[0]
    return [case for case, name in zip(cases, named) if not name or name[0] == chosen]


def row_of(case):
    """The row of results that a case belongs to: its test function, or one kernel of it."""
    function, _, parameters = case.partition("[")
    return f"{function} {parameters.rstrip(']').partition('-')[0]}" if function in BY_KERNEL and parameters else function


class Pytest:
    """Runs pytest on cases, on the GPU or the simulator."""

    def __init__(self, only, simulate):
        self.environment = {**os.environ, "TILEWRIGHT_TESTS_ON_GPU": "" if simulate else "1"}
        self.select = [f"({' or '.join(only)})"] if only else []
        self.simulate = simulate

    def command(self, folder, *more):
        """pytest for files of tests/python or tests/run."""
        arguments = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *more]
        select = list(self.select)
        if folder == "run":
            arguments += ["--gpu-target", "cuda:sm_100a"] if self.simulate else []
            select += [] if self.simulate else ["cuda"]
        return arguments + (["-k", " and ".join(select)] if select else [])

    def collect(self, folder):
        """({(file, row): its cases in order}, what pytest says if it cannot collect a file), for the FILES of a folder."""
        files = [file for file in FILES if file.startswith(folder)]
        done = subprocess.run(self.command(folder, "--collect-only", "-q", "--continue-on-collection-errors", *files), capture_output=True, text=True,
                              cwd=os.path.join(ROOT, "tests"), env=self.environment, check=False)
        cases = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            path, colons, case = line.partition("::")
            file = next((file for file in files if colons and path.endswith(file)), None)
            if file:
                cases[file, row_of(case)].append(f"{file}::{case}")
        return cases, "" if done.returncode in (0, 5) else (done.stdout + done.stderr).strip()[-1000:]

    def run_until_failure(self, file, cases, seconds):
        """Yields (case, outcome, message) for each case that ends; the last one may be "HUNG" or "CRASHED"."""
        process = subprocess.Popen(self.command(file.partition("/")[0], "-v", "-x", "--tb=line", *cases), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, cwd=os.path.join(ROOT, "tests"), env=self.environment)
        try:
            text = process.communicate(timeout=max(seconds, 1))[0]
            stopped = "CRASHED"
        except subprocess.TimeoutExpired:
            process.kill()
            text, stopped = process.communicate()[0], "HUNG"
        error = re.search(r"(?m)^(?:/.*?:\d+|E  ): (.*)", text)
        ended = dict(re.findall(r"(?m)^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", text))
        for case in cases:
            outcome = next((ended[name] for name in ended if name.endswith(case)), stopped)
            message = error[1][:200] if error and outcome in ("FAILED", "ERROR") else ""
            yield case, outcome, message
            if outcome not in ("PASSED", "SKIPPED", "XFAIL", "XPASS"):
                return


def run_row(pytest, file, cases, end):
    """(cases that ran, [(case, outcome, message) of each that is wrong], cases that did not run)."""
    seconds = SECONDS_OF_A_ROW if pytest.simulate else min(SECONDS_OF_A_ROW, SECONDS_TO_START + SECONDS_OF_A_CASE * len(cases))
    wrong, ran, limit = [], 0, min(end, time.time() + seconds)
    while cases and len(wrong) < FAILURES and time.time() < limit:
        for case, outcome, message in pytest.run_until_failure(file, cases, limit - time.time()):
            cases = cases[1:]
            ran += outcome != "SKIPPED"
            if outcome in ("FAILED", "ERROR", "HUNG", "CRASHED"):
                wrong.append((case, outcome, message))
    return ran, wrong, len(cases)


def result_line(name, ran, wrong, left):
    line = f"{name}: {ran - len(wrong)} of {ran} right"
    if left:
        line += f", {left} not run" + (f" after {FAILURES} failures" if len(wrong) == FAILURES else ": out of time")
    for case, outcome, message in wrong:
        line += f"\n    {outcome} {case.partition('::')[2]}" + (f": {message}" if message else "")
    return line


def run(only, simulate):
    if problem := missing(simulate):
        print(problem)
        return 1
    end = time.time() + SECONDS
    target = "sm_100a" if simulate else target_of_the_gpu()
    if not simulate:
        print(describe_gpu(target), flush=True)
    pytest = Pytest(only, simulate)
    total = wrong_cases = left_cases = 0
    with concurrent.futures.ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        jobs = []
        for cases, problem in pool.map(pytest.collect, ("python", "run")):
            if problem:
                print(problem)
                wrong_cases += 1
            jobs += [(name, pool.submit(run_row, pytest, file, of_one_target(cases[file, name], target), end)) for file, name in cases]
        for name, job in jobs:
            ran, wrong, left = job.result()
            if ran or left:
                print(result_line(name, ran, wrong, left), flush=True)
            total, wrong_cases, left_cases = total + ran, wrong_cases + len(wrong), left_cases + left
    print(f"{total} ran, {wrong_cases} wrong" + (f", {left_cases} not run" if left_cases else "") if total or wrong_cases or left_cases else "nothing ran")
    return 1 if wrong_cases or left_cases or not total else 0
