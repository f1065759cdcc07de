"""Runs all tests, shows what failed, and closes with one line: "N passed, N failed, N skipped".

    tools/run_tests.py [--build build] [--only unit lit python run] [--format] [--skips N]

The suites:  unit    the GoogleTest programs that the build folder's CTest knows
             lit     everything under tests/ that lit finds, and that every diagnostic has a test
             python  pytest over tests/python
             run     pytest over tests/run: numbers, examples
             format  with --format: clang-format has nothing to change
A suite that should be there but cannot start counts as one failure, so that nothing passes by not running. For the same reason tests
that were skipped are counted, their reasons are shown, and with --skips N more of them than that are a failure.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

root = pathlib.Path(__file__).resolve().parent.parent
llvm_bin = "/usr/lib/llvm-22/bin"


def environment(build, scratch):
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(build / "bin"), llvm_bin, env.get("PATH", "")])
    env["PYTHONPATH"] = str(build / "python")
    env["TILEWRIGHT_CACHE_DIR"] = str(scratch / "cache")  # results never depend on what an earlier run left behind
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")
    env.pop("TRITON_INTERPRET", None)
    return env


def call(command, env, **options):
    return subprocess.run([str(part) for part in command], cwd=root, env=env, stdin=subprocess.DEVNULL, text=True, **options)


def quiet(command, env):
    return call(command, env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = collections.Counter()  # by reason

    def skip(self, reason):
        self.skipped[" ".join(reason.split())] += 1

    def fail(self, title, text=""):
        self.failed += 1
        print(f"FAILED {title}", flush=True)
        if text:
            print("    " + text.strip().replace("\n", "\n    "), flush=True)


def run_unit(build, env, scratch, count):
    listed = quiet(["ctest", "--test-dir", build, "--show-only=json-v1"], env)
    try:
        tests = json.loads(listed.stdout[listed.stdout.index("{") :])["tests"]
    except (ValueError, KeyError):
        return count.fail("unit: CTest knows no tests", listed.stdout)
    programs = sorted({test["command"][0] for test in tests if test.get("command")})
    if not programs:
        return count.fail("unit: no test program was built")
    for program in programs:
        name = pathlib.Path(program).name
        report = scratch / f"{name}.json"
        done = quiet([program, f"--gtest_output=json:{report}", "--gtest_brief=1"], env)
        before = count.failed
        if report.exists():
            for suite in json.loads(report.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    if test.get("failures"):
                        count.fail(f"{name} {suite['name']}.{test['name']}", test["failures"][0]["failure"])
                    elif test["result"] == "COMPLETED":
                        count.passed += 1
                    else:
                        count.skip(next(iter(test.get("skipped", [])), {}).get("message") or f"{name}: {test['result'].lower()}")
        if done.returncode and count.failed == before:
            count.fail(f"{name}: stopped with status {done.returncode}", done.stdout[-2000:])


def run_lit(build, env, scratch, count):
    run_check("check_diagnostics.py", env, count)
    run_check("check_tree.py", env, count)
    report = scratch / "lit.json"
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    done = quiet([*lit, "-q", "-o", report, f"--param=bin={build / 'bin'}", root / "tests"], env)
    if not report.exists():
        return count.fail("lit: did not run", done.stdout)
    for test in json.loads(report.read_text())["tests"]:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            count.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            count.skip(f"lit: {test['code'].lower()} here: {test['output'].strip() or test['name']}")
        else:
            count.fail(f"{test['name']}: {test['code']}", test["output"][-3000:])


def run_check(tool, env, count):
    done = quiet([sys.executable, root / "tools" / tool], env)
    if done.returncode:
        return count.fail(tool, done.stdout)
    count.passed += 1


def run_pytest(folder, build, env, scratch, count):
    report = scratch / f"{folder.name}.xml"
    done = quiet([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", folder], env)
    if done.returncode == 5:  # pytest found no test
        return count.fail(f"{folder.name}: no tests in {folder}")
    if not report.exists():
        return count.fail(f"{folder.name}: pytest did not run", done.stdout[-3000:])
    for case in xml.parse(report).iter("testcase"):
        problems = [child for child in case if child.tag in ("failure", "error")]
        if problems:
            message, text = problems[0].get("message") or "", problems[0].text or ""
            count.fail(f"{case.get('classname')}.{case.get('name')}", f"{message[:300]}\n{text[-3000:]}")
        elif (skipped := case.find("skipped")) is not None:
            count.skip(skipped.get("message") or "without a reason")
        else:
            count.passed += 1


def run_format(build, env, scratch, count):
    listed = call(["git", "ls-files", "-co", "--exclude-standard", "--", "*.cpp", "*.h"], env, stdout=subprocess.PIPE)
    done = quiet(["clang-format-22", "--dry-run", "-Werror", *listed.stdout.split()], env)
    if done.returncode:
        return count.fail("format: run `make format`", "\n".join(line for line in done.stdout.splitlines() if "error:" in line)[:3000])
    count.passed += 1


def main():
    suites = {
        "unit": run_unit,
        "lit": run_lit,
        "python": lambda *rest: run_pytest(root / "tests" / "python", *rest),
        "run": lambda *rest: run_pytest(root / "tests" / "run", *rest),
        "format": run_format,
    }
    parser = argparse.ArgumentParser(description="Runs all tests.")
    parser.add_argument("--build", default="build", help="the build folder")
    parser.add_argument("--only", nargs="+", choices=list(suites), help="these suites alone")
    parser.add_argument("--format", action="store_true", help="check the format, too")
    parser.add_argument("--skips", type=int, help="fail if more tests are skipped")
    options = parser.parse_args()
    wanted = options.only or [name for name in suites if name != "format" or options.format]
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        build = pathlib.Path(options.build).resolve()
        env = environment(build, scratch)
        for name in wanted:
            start, passed, failed, skipped = time.monotonic(), count.passed, count.failed, count.skipped.total()
            suites[name](build, env, scratch, count)
            took = time.monotonic() - start
            print(f"{name:<7} {count.passed - passed:>5} passed {count.failed - failed:>4} failed "
                  f"{count.skipped.total() - skipped:>4} skipped {took:>7.1f} s", flush=True)
    for reason, times in sorted(count.skipped.items()):
        print(f"skipped {times:>4}: {reason}")
    if options.skips is not None and count.skipped.total() > options.skips:
        count.fail(f"{count.skipped.total()} tests were skipped, and --skips allows {options.skips}")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped.total()} skipped")
    sys.exit(1 if count.failed or not count.passed else 0)


if __name__ == "__main__":
    main()
