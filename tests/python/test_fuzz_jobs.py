"""The processes of the fuzzers: programs that crash or hang are named, and the others are counted."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fuzz"))
import jobs  # noqa: E402

WORKER = """
import json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
programs = 0
for seed in range(int(options["--first"]), int(options["--end"]), int(options["--step"])):
    print(">", seed, json.dumps({"programs": programs}), flush=True)
    if seed == 5:
        os.abort()
    while seed == 8:
        pass
    programs += 1
print("=", json.dumps({"programs": programs}), flush=True)
"""


def test_crashes_and_hangs(tmp_path, capfd):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    counts = jobs.run([sys.executable, str(script)], dict(os.environ), first=0, count=20, jobs=2, seconds=60, patience=1)
    assert counts == {"programs": 18, "crashed": 2}
    out = capfd.readouterr().out
    assert "seed 5: ended by signal 6" in out and "seed 8: no end after 1 s of work" in out


def test_missing_module(tmp_path):
    (tmp_path / "tilewright.py").write_text("raise ImportError('it is not built')\n")
    for name in ("differential.py", "against_python.py"):
        command = [sys.executable, str(pathlib.Path(jobs.__file__).parent / name), "--count", "3"]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
        assert done.returncode == 1 and not done.stdout
        assert done.stderr.startswith(f"{name} needs the module tilewright, ") and "(it is not built); run `make`" in done.stderr
        assert done.stderr.count("\n") == 1
