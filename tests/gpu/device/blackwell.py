"""The first run on a GPU with tcgen05 (B200, B300): a result for each group of kernels, in ten minutes.

    tests/gpu/run --blackwell               kernels with tcgen05.mma on the GPU of this machine, compared with float64
    tests/gpu/run --blackwell --simulate    the same on the simulator, without a GPU

A line for each test function of the files of FILES in tests/python, and for each file of tests/run about dots. Another GPU runs the same kernels
with its own instructions, which shows that the script works. Exit code 1 if a result is wrong or a launch fails.
"""

import collections
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

from loading import ROOT

SECONDS = 600
FILES = ["python/test_tcgen05.py", "python/test_cta_pairs.py", "python/test_scaled_pairs.py", "python/test_chain_partition.py", "python/test_gpu_kernels.py",
         "run/test_dot.py", "run/test_scaled_dot.py", "run/test_tensor_cores.py", "run/test_computed_operands.py", "run/test_matmul_edges.py", "run/test_persistent_loops.py", "run/test_examples.py"]


def command(path, only, simulate, report):
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", report, os.path.join(ROOT, "tests", path)]
    select = [f"({' or '.join(only)})"] if only else []
    if path.startswith("run/"):
        arguments += ["--gpu-target", "cuda:sm_100a"] if simulate else []
        select += [] if simulate else ["cuda"]
    return arguments + (["-k", " and ".join(select)] if select else [])


def results_of(report):
    """{name: [cases, wrong cases, first line of the first error]} of a JUnit report: by function, or by file for tests/run."""
    groups = collections.defaultdict(lambda: [0, 0, ""])
    for case in xml.parse(report).iter("testcase"):
        file = case.get("classname").rpartition(".")[2]
        group = groups[case.get("name").partition("[")[0] if f"python/{file}.py" in FILES else file]
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if case.find("skipped") is not None:
            continue
        group[0] += 1
        group[1] += problem is not None
        if problem is not None and not group[2]:
            group[2] = (problem.get("message") or "").strip().split("\n")[0][:200]
    return groups


def run(only, simulate):
    end, ran, wrong = time.time() + SECONDS, 0, 0
    environment = {**os.environ, "TILEWRIGHT_TESTS_ON_GPU": "" if simulate else "1"}
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(FILES):
            report = os.path.join(folder, f"{number}.xml")
            try:
                subprocess.run(command(path, only, simulate, report), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT,
                               env=environment, timeout=max(1, end - time.time()), check=False)
            except subprocess.TimeoutExpired:
                print(f"{path}: not finished in {SECONDS} s")
                wrong += 1
                continue
            if not os.path.exists(report):
                print(f"{path}: the process failed without a report")
                wrong += 1
                continue
            for name, (cases, bad, error) in results_of(report).items():
                if cases:
                    print(f"{name}: {cases - bad} of {cases} right" + (f"; {error}" if bad else ""), flush=True)
                ran += cases
                wrong += bad
    print("nothing ran" if not ran and not wrong else f"{ran} ran, {wrong} wrong")
    return 1 if wrong or not ran else 0
