#!/usr/bin/env python3
"""Takes the results of torch.compile to another machine: the kernels in torch.compiler's artifacts are found there, and none is compiled again.

    python tests/gpu/device/inductor_bundles.py [--device cuda|cpu]      with PYTHONPATH at the package

Three processes have a cache folder each: one compiles and saves its artifacts, one loads them, and one does not. Each writes a
line of JSON: how many kernels the artifacts had, how many were requested, and how many of those were found. The exit status is 1 if a number is wrong.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch


def program(device, what, artifacts):
    import torch._inductor.config
    import triton
    from torch._dynamo.utils import counters

    torch._inductor.config.cpu_backend = "triton"
    found = []
    triton.knobs.compilation.listener = lambda cache_hit, **_: found.append(cache_hit)

    def rows(x, y):
        return torch.softmax(x * 2 + y, 1).sum(0)

    x, y = torch.randn(64, 100, device=device), torch.randn(100, device=device)
    if what == "load":
        torch.compiler.load_cache_artifacts(artifacts.read_bytes())
    torch.testing.assert_close(torch.compile(rows)(x, y), rows(x, y))
    if what == "save":
        artifacts.write_bytes(torch.compiler.save_cache_artifacts()[0])
    carried = counters["inductor"]["triton_bundler_save_kernel"], counters["inductor"]["triton_bundler_read_and_emit_kernel"]
    print(json.dumps({"what": what, "saved": carried[0], "loaded": carried[1], "asked_for": len(found), "found": sum(found)}), flush=True)


def in_process(device, what, artifacts):
    """Runs `program` in a process with empty caches; returns the numbers that it prints."""
    with tempfile.TemporaryDirectory() as caches:
        environment = {name: value for name, value in os.environ.items() if name not in ("TRITON_CACHE_DIR", "TILEWRIGHT_CACHE_DIR")}
        environment |= {"TORCHINDUCTOR_CACHE_DIR": caches, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [sys.executable, "-m", "tilewright", __file__, "--device", device, "--only", what, str(artifacts)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="", flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        return program(given.device, given.only[0], pathlib.Path(given.only[1]))
    with tempfile.TemporaryDirectory() as folder:
        saved, loaded, plain = (in_process(given.device, what, pathlib.Path(folder) / "artifacts") for what in ("save", "load", "plain"))
    good = saved["saved"] == loaded["loaded"] > 0 and loaded["found"] == loaded["asked_for"] and plain["loaded"] == 0 and plain["found"] == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
