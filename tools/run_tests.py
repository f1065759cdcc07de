"""Runs all tests, shows each failure at once, and closes with one line: "N passed, N failed, N skipped".

    tools/run_tests.py [--build build] [--only unit lit python run] [--sample PERCENT] [--jobs N] [--format] [--skips N]

The suites:  unit    the GoogleTest programs that the build folder's CTest knows
             lit     everything under tests/ that lit finds, that every diagnostic has a test, and the words and sentences of sources and documents
             python  pytest over tests/python
             run     pytest over tests/run: numbers, examples. With --sample 20, a fifth of the cases of each file, each on one engine
             sm_75   a fifth of the same cases, on the simulator with code for this GPU; likewise sm_100a and sm_120a. With --sample 100, all of them
             arm     a sample of tests/run as code for 64-bit ARM, under qemu-aarch64 (tools/setup.sh --arm installs what it needs)
             format  with --format: clang-format has nothing to change
Each suite runs --jobs tests at a time, and all share one fresh kernel cache. The slowest tests are listed at the end. A suite that should
be there but cannot start counts as one failure, so that nothing passes by not running. For the same reason tests that were skipped are
counted, their reasons are shown, and with --skips N more of them than that are a failure.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
llvm_bin = "/usr/lib/llvm-22/bin"


def environment(build, scratch):
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(build / "bin"), llvm_bin, env.get("PATH", "")])
    env["PYTHONPATH"] = str(build / "python")
    env["TILEWRIGHT_CACHE_DIR"] = str(scratch / "cache")  # results never depend on the cache of an earlier run
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
        self.seconds = []  # (seconds, title) of each test

    def skip(self, reason):
        self.skipped[" ".join(reason.split())] += 1

    def fail(self, title, text=""):
        self.failed += 1
        progress.clear()
        print(f"FAILED {title}", flush=True)
        if text:
            print("    " + text.strip().replace("\n", "\n    "), flush=True)

    def done(self):
        return self.passed + self.failed + self.skipped.total()


class Progress:
    """How far a suite is: one line that is rewritten on a terminal; elsewhere, a line now and then."""

    def __init__(self):
        self.isTerminal = sys.stdout.isatty()
        self.last = time.monotonic()
        self.isShown = False

    def show(self, suite, done, total, every=10):
        now = time.monotonic()
        if now - self.last < (0.2 if self.isTerminal else every):
            return
        self.last = now
        self.clear()
        text = f"{suite:<7} {done} of {total or '?'}"
        print(text, end="" if self.isTerminal else "\n", flush=True)
        self.isShown = self.isTerminal

    def clear(self):
        if self.isShown:
            print("\r\033[K", end="", flush=True)
            self.isShown = False


progress = Progress()


def run_unit(options, build, env, scratch, count):
    listed = quiet(["ctest", "--test-dir", build, "--show-only=json-v1"], env)
    try:
        tests = json.loads(listed.stdout[listed.stdout.index("{") :])["tests"]
    except (ValueError, KeyError):
        return count.fail("unit: CTest knows no tests", listed.stdout)
    for test in tests:
        if not test.get("command"):  # CTest does not find the program
            count.fail(f"{test['name']} was not built")
    programs = sorted({test["command"][0] for test in tests if test.get("command")})
    if not programs:
        return count.fail("unit: no test program was built")

    shards = min(options.jobs, 4)  # GoogleTest distributes a program's tests over as many calls

    def run(program, shard):
        report = scratch / f"{pathlib.Path(program).name}.{shard}.json"
        call_env = {**env, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
        return program, report, quiet([program, f"--gtest_output=json:{report}", "--gtest_brief=1"], call_env)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run, program, shard) for program in programs for shard in range(shards)]
        for ended, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            count_unit(*job.result(), count)
            progress.show("unit", ended, len(jobs))


def count_unit(program, report, done, count):
    name, before = pathlib.Path(program).name, count.failed
    for suite in json.loads(report.read_text())["testsuites"] if report.exists() else ():
        for test in suite["testsuite"]:
            title = f"{name} {suite['name']}.{test['name']}"
            count.seconds.append((float(test.get("time", "0s").rstrip("s")), title))
            if test.get("failures"):
                count.fail(title, test["failures"][0]["failure"])
            elif test["result"] == "COMPLETED":
                count.passed += 1
            else:
                count.skip(next(iter(test.get("skipped", [])), {}).get("message") or f"{name}: {test['result'].lower()}")
    if done.returncode and count.failed == before:
        count.fail(f"{name}: stopped with status {done.returncode}", done.stdout[-2000:])


def run_lit(options, build, env, scratch, count):
    run_check("check_diagnostics.py", env, count)
    run_check("check_tree.py", env, count)
    run_check("check_includes.py", env, count)
    run_check("check_heuristics.py", env, count)
    run_check("check_attributes.py", env, count)
    run_check("check_prose.py", env, count)
    report = scratch / "lit.json"
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    command = [*lit, "-v", "--no-progress-bar", "-j", options.jobs, "-o", report, f"--param=bin={build / 'bin'}", root / "tests"]
    process = subprocess.Popen([str(part) for part in command], cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    shown, lines, isFailed = set(), [], False
    for line in process.stdout:
        if result := re.match(r"([A-Z]+): (\S+ :: .+) \((\d+) of (\d+)\)$", line.rstrip()):
            isFailed = result[1] not in LIT_PASSED | LIT_SKIPPED
            if isFailed:
                shown.add(result[2])
                count.fail(f"{result[2]}: {result[1]}")
            progress.show("lit", int(result[3]), int(result[4]))
        elif line.startswith("*" * 20):  # the frame around a failing test's output
            isFailed = isFailed and " TEST " in line
        elif isFailed:
            print("    " + line.rstrip(), flush=True)
        lines = [*lines[-100:], line]
    process.wait()
    if not report.exists():
        return count.fail("lit: did not run", "".join(lines))
    for test in json.loads(report.read_text())["tests"]:
        count.seconds.append((test.get("elapsed") or 0.0, test["name"]))
        if test["code"] in LIT_PASSED:
            count.passed += 1
        elif test["code"] in LIT_SKIPPED:
            count.skip(f"lit: {test['code'].lower()} here: {test['output'].strip() or test['name']}")
        elif test["name"] not in shown:
            count.fail(f"{test['name']}: {test['code']}", test["output"][-3000:])


LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def run_check(tool, env, count):
    done = quiet([sys.executable, root / "tools" / tool], env)
    if done.returncode:
        return count.fail(tool, done.stdout)
    count.passed += 1


def run_target(target, options, build, env, scratch, count):
    """Cases of tests/run on the simulator of another GPU than the default, which runs all of them."""
    run_pytest("run", options, build, env, scratch / target, count, "--gpu-target", f"cuda:{target}", "--sample", options.sample or 20)


def run_pytest(name, options, build, env, scratch, count, *arguments):
    """Follows the events that tests/conftest.py writes."""
    scratch.mkdir(exist_ok=True)
    folder, events, log = root / "tests" / name, scratch / f"{name}.events", scratch / f"{name}.log"
    events.touch()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", options.jobs, "--dist", "loadgroup",
               f"--events={events}", *arguments, folder]
    before, total, seconds = count.done(), 0, collections.defaultdict(float)
    isFailed = {}  # of each test that failed or was skipped
    with open(log, "w") as output, open(events) as reader:
        process = subprocess.Popen([str(part) for part in command], cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, text=True)
        rest = ""
        while True:
            isRunning = process.poll() is None
            rest += reader.read()
            *lines, rest = rest.split("\n")
            for event in map(json.loads, lines):
                if "total" in event:
                    total = event["total"]
                    continue
                test = event["test"].removeprefix("tests/")
                seconds[test] += event["seconds"]
                if event["outcome"] == "failed" and not isFailed.get(test):
                    isFailed[test] = True
                    count.fail(test, event["text"][-4000:])
                elif event["outcome"] == "skipped" and test not in isFailed:
                    isFailed[test] = False
                    count.skip(event["text"] or "without a reason")
                elif event["isLast"] and test not in isFailed:
                    count.passed += 1
            progress.show(name, count.done() - before, total)
            if not isRunning:
                break
            time.sleep(0.05)
    count.seconds += ((time, test) for test, time in seconds.items())
    if process.returncode not in (0, 1) or count.done() == before or process.returncode == 1 and not any(isFailed.values()):
        count.fail(f"{name}: pytest stopped with status {process.returncode}", log.read_text()[-3000:])


def run_arm(options, build, env, scratch, count):
    """A sample of tests/run as code for 64-bit ARM, under an emulator."""
    programs = ["qemu-aarch64", "aarch64-linux-gnu-g++"]
    if missing := [program for program in programs if shutil.which(program) is None]:
        return count.skip(f"arm: {' and '.join(missing)} not installed (tools/setup.sh --arm)")
    for level in ("neon", "sve256"):
        run_pytest("run", options, build, env, scratch / level, count, f"--arm={level}", "--sample", options.sample or 2)


def run_format(options, build, env, scratch, count):
    listed = call(["git", "ls-files", "-co", "--exclude-standard", "--", "*.cpp", "*.h"], env, stdout=subprocess.PIPE)
    done = quiet(["clang-format-22", "--dry-run", "-Werror", *listed.stdout.split()], env)
    if done.returncode:
        return count.fail("format: run `make format`", "\n".join(line for line in done.stdout.splitlines() if "error:" in line)[:3000])
    count.passed += 1


def main():
    sampled = lambda options, *rest: run_pytest("run", options, *rest, *(("--sample", options.sample) if options.sample else ()))
    suites = {
        "unit": run_unit,
        "lit": run_lit,
        "python": lambda *rest: run_pytest("python", *rest),
        "run": sampled,
        "sm_75": lambda *rest: run_target("sm_75", *rest),
        "sm_100a": lambda *rest: run_target("sm_100a", *rest),
        "sm_120a": lambda *rest: run_target("sm_120a", *rest),
        "arm": run_arm,
        "format": run_format,
    }
    parser = argparse.ArgumentParser(description="Runs all tests.")
    parser.add_argument("--build", default="build", help="the build folder")
    parser.add_argument("--only", nargs="+", choices=list(suites), help="these suites alone")
    parser.add_argument("--sample", type=int, metavar="PERCENT", help="this part of each file of tests/run, each case on one engine")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many tests run at a time: as many as CPUs")
    parser.add_argument("--slowest", type=int, default=10, help="how many of the slowest tests are listed")
    parser.add_argument("--format", action="store_true", help="check the format, too")
    parser.add_argument("--skips", type=int, help="fail if more tests are skipped")
    options = parser.parse_args()
    wanted = options.only or [name for name in suites if name != "format" or options.format]
    count, started = Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        build = pathlib.Path(options.build).resolve()
        env = environment(build, scratch)
        for name in wanted:
            start, passed, failed, skipped = time.monotonic(), count.passed, count.failed, count.skipped.total()
            suites[name](options, build, env, scratch, count)
            took = time.monotonic() - start
            progress.clear()
            print(f"{name:<7} {count.passed - passed:>5} passed {count.failed - failed:>4} failed "
                  f"{count.skipped.total() - skipped:>4} skipped {took:>7.1f} s", flush=True)
    for seconds, title in sorted(count.seconds, reverse=True)[:options.slowest]:
        print(f"slowest {seconds:>6.1f} s  {title}")
    for reason, times in sorted(count.skipped.items()):
        print(f"skipped {times:>4}: {reason}")
    if options.skips is not None and count.skipped.total() > options.skips:
        count.fail(f"{count.skipped.total()} tests were skipped, and --skips allows {options.skips}")
    used = sum(os.times()[2:4])
    print(f"{time.monotonic() - started:.0f} s, of which the CPUs worked {used:.0f} s, with {options.jobs} tests at a time")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped.total()} skipped")
    sys.exit(1 if count.failed or not count.passed else 0)


if __name__ == "__main__":
    main()
