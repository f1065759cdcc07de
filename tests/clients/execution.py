"""Chooses tests of the client suites and runs them in processes of their own (tests/clients/run)."""

import collections
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import queue
import subprocess
import sys
import tempfile
import threading
import time

import suites as table

HERE = pathlib.Path(__file__).resolve().parent
START = 300  # seconds for a process to start, and to collect its tests
VERSIONS = """
import json, sys
def version(name):
    try:
        return __import__(name).__version__
    except Exception as error:
        return f"none ({type(error).__name__})"
triton = version("triton")
print(json.dumps({"engine": "tilewright" if "tilewright" in sys.modules else "triton", "triton": triton, "torch": version("torch"), "numpy": version("numpy")}))
"""


def missing(suite, sources, device):
    """Why a suite cannot run here, or None."""
    if device not in suite.devices:
        return f"it does not run on this device ({device})"
    if suite.get and not (sources and (pathlib.Path(sources) / suite.name).is_dir()):
        return f"there is no folder {suite.name} in the sources"
    absent = [module for module in suite.imports if importlib.util.find_spec(module) is None]
    return f"Python lacks {', '.join(absent)}" if absent else None


def order_of(seed, suite, test):
    return hashlib.sha256(f"{seed}:{suite}:{test}".encode()).hexdigest()


def sample_of(ids, suite, count, seed):
    """`count` tests: first one case of each test function, then a second one, ...; which, depends on the seed and the names alone."""
    cases = collections.defaultdict(list)
    for test in sorted(ids, key=lambda test: order_of(seed, suite, test)):
        cases[test.split("[")[0]].append(test)
    ranked = sorted((rank, order_of(seed, suite, test), test) for tests in cases.values() for rank, test in enumerate(tests))
    return [test for _, _, test in ranked[:count]]


class Run:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.end = time.time() + arguments.seconds
        self.lock, self.counts = threading.Lock(), collections.defaultdict(collections.Counter)
        self.output = open(arguments.o, "w", buffering=1)
        if arguments.log:
            pathlib.Path(arguments.log).mkdir(parents=True, exist_ok=True)
        gpus = visible_gpus() if arguments.device == "cuda" else []
        self.gpus = queue.Queue()  # one for each process; the processes are distributed over the GPUs
        for job in range(arguments.jobs):
            self.gpus.put(gpus[job % len(gpus)] if gpus else None)

    def command(self):
        return [sys.executable, "-m", "tilewright", "-m", "pytest"] if self.arguments.engine == "tilewright" else [sys.executable, "-m", "pytest"]

    def environment(self, suite, order, gpu):
        root = table.root_of(suite, self.arguments.sources)
        source = pathlib.Path(self.arguments.sources) / suite.name if suite.get else root
        inherited = [os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
        path = [str((source / each).resolve()) for each in suite.path] + [str(HERE), str(HERE.parent / "conformance"), *inherited]
        caches = {name: str(self.folder / "caches" / name) for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME")}
        threads = {"OMP_NUM_THREADS": str(max(1, os.cpu_count() // self.arguments.jobs))} if self.arguments.jobs > 1 else {}
        visible = {"CUDA_VISIBLE_DEVICES": gpu} if gpu is not None else {}
        return os.environ | caches | threads | visible | suite.environment | {
            "PYTHONPATH": os.pathsep.join(path), "CLIENTS": json.dumps(order), "CLIENTS_DEVICE": self.arguments.device,
            "CLIENTS_ENGINE": self.arguments.engine, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}

    def pytest(self, suite, files, order, deadline):
        """Runs pytest, on the least used GPU, until it ends or the time is past `deadline()`. (status, or None if it did not end; the end
        of what it printed)"""
        gpu = self.gpus.get()
        try:
            return self.pytest_on(gpu, suite, files, order, deadline)
        finally:
            self.gpus.put(gpu)

    def pytest_on(self, gpu, suite, files, order, deadline):
        root = table.root_of(suite, self.arguments.sources).resolve()
        options = [option.format(device=self.arguments.device) for option in suite.options]
        plugins = [word for name in ["client_plugin", *suite.plugins] for word in ("-p", name)]
        command = self.command() + ["-q", "--tb=short", "-c", str(HERE / "pytest.ini"), "--rootdir", str(root), "-p", "no:cacheprovider", "-p", "no:xdist",
                                    "--continue-on-collection-errors", *plugins, *options, *files]
        with tempfile.TemporaryFile(dir=self.folder) as printed:
            process = subprocess.Popen(command, cwd=root, env=self.environment(suite, order, gpu), stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            status = None
            while status is None and time.time() < min(self.end, deadline()):
                try:
                    status = process.wait(timeout=1)
                except subprocess.TimeoutExpired:
                    pass
            try:
                os.killpg(process.pid, 9)  # also processes that a finished test has not ended
            except ProcessLookupError:
                pass
            process.wait()
            printed.seek(max(0, printed.seek(0, 2) - 4000))
            return status, printed.read().decode(errors="replace")

    def files_of(self, suite):
        root = table.root_of(suite, self.arguments.sources)
        files = sorted({path.relative_to(root).as_posix() for glob in suite.tests for path in root.glob(glob)})
        return [file for file in files if not any(word in file for word, _ in suite.leave_out)]

    def collected(self, suite, files):
        """The events of collecting these files; in halves if the process dies of one of them."""
        path = self.folder / f"{suite.name}.{threading.get_ident()}.{len(files)}.collected"
        path.unlink(missing_ok=True)
        limit = time.time() + START
        status, printed = self.pytest(suite, files, {"collect": str(path)}, lambda: limit)
        events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        if events or status in (0, 5) or time.time() > self.end:
            return events
        if len(files) == 1:
            return [{"error": files[0], "message": last_line(printed) or f"the process ended ({status})"}]
        half = len(files) // 2
        return self.collected(suite, files[:half]) + self.collected(suite, files[half:])

    def collect(self, suite):
        """(ids of all tests, [(file, message)] of files that cannot be imported)"""
        files = self.files_of(suite)
        events = self.collected(suite, files) if files else []
        wanted, left_out = self.arguments.test, [word for word, _ in suite.leave_out]
        ids = dict.fromkeys(event["id"] for event in events if "id" in event)
        ids = [test for test in ids if not any(word in test for word in ["\n", " at 0x", *left_out]) and (not wanted or any(word in test for word in wanted))]
        return ids, [(event["error"], event["message"]) for event in events if "error" in event]

    def write(self, suite, test, outcome, seconds=0.0, message="", numbers=None):
        with self.lock:
            self.counts[suite.name][outcome] += 1
            row = {"suite": suite.name, "test": test, "outcome": outcome, "seconds": seconds, "message": first_line(message)}
            self.output.write(json.dumps(row | ({"numbers": numbers} if numbers else {})) + "\n")

    def run_tests(self, suite, number, ids):
        """Runs tests of one file, in as many processes as crashes make necessary."""
        results, names = self.folder / f"{suite.name}.{number}.jsonl", self.folder / f"{suite.name}.{number}.ids"
        names.write_text("".join(test + "\n" for test in ids))
        order, limit = {"results": str(results), "ids": str(names), "limit": self.arguments.limit}, self.arguments.limit
        if self.arguments.log:
            order["log"] = os.path.abspath(os.path.join(self.arguments.log, f"{suite.name}.{number}.txt"))
        ended, tried = {}, -1
        while len(ended) < len(ids) and time.time() < self.end and len(ended) > tried:
            tried, begin = len(ended), time.time()

            def deadline():
                return max(begin, results.stat().st_mtime if results.exists() else 0) + START + limit

            status, printed = self.pytest(suite, [ids[0].split("::")[0]], order, deadline)
            events = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
            ended |= {event["end"]: event for event in events if "end" in event}
            died = [event["start"] for event in events if "start" in event and event["start"] not in ended]
            if died and time.time() < self.end:
                outcome = ("timeout", "the process did not answer") if status is None else ("crash", f"the process ended ({status}): {last_line(printed)}")
                ended |= {test: {"outcome": outcome[0], "message": outcome[1]} for test in died}
        for test in ids:
            if test in ended:
                event = ended[test]
                self.write(suite, test, event["outcome"], event.get("seconds", 0.0), event["message"], event.get("numbers"))
            elif time.time() >= self.end:
                self.write(suite, test, "not run")
            else:
                self.write(suite, test, "error", 0.0, f"pytest did not run it: {last_line(printed)}")

    def chosen(self, suite, like):
        """(the tests of a suite that are to run, [(file, message)] of files that cannot be imported)"""
        if suite.name in like:
            return like[suite.name], []
        ids, errors = self.collect(suite)
        return sample_of(ids, suite.name, self.arguments.sample, self.arguments.seed), errors

    def all(self, suites, like):
        jobs, tasks = self.arguments.jobs, []
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            chosen = list(zip(suites, pool.map(lambda suite: self.chosen(suite, like), suites)))
            part = max(1, sum(len(ids) for _, (ids, _) in chosen) // (4 * jobs))  # tests of a process, which takes seconds to start
            for suite, (ids, errors) in chosen:
                for file, message in errors:
                    self.write(suite, f"{file}::(collection)", "error", 0.0, message)
                by_file = collections.defaultdict(list)
                for test in ids:
                    by_file[test.split("::")[0]].append(test)
                pieces = [tests[i:i + part] for tests in by_file.values() for i in range(0, len(tests), part)]
                tasks += [(number / max(1, len(pieces)), suite, number, piece) for number, piece in enumerate(pieces)]
            if self.arguments.choose:
                self.end = 0.0
            tasks.sort(key=lambda task: task[0])  # each suite gets its share if the time runs out
            for each in [pool.submit(self.run_tests, *task[1:]) for task in tasks]:
                each.result()


def first_line(message):
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")]
    return (errors[0][2:].strip() if errors else lines[0] if lines else "")[:300]


def last_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def gpu_names():
    try:
        printed = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout
    except OSError:
        return []
    return printed.strip().splitlines()


def visible_gpus():
    """What CUDA_VISIBLE_DEVICES may say to name one of the GPUs."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [gpu.strip() for gpu in chosen.split(",") if gpu.strip()] if chosen is not None else [str(number) for number in range(len(gpu_names()))]


def machine():
    """What the CPU and the GPU are called."""
    gpus = gpu_names()
    models = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "gpu": gpus[0] if gpus else ""}


def tests_of(path):
    """{suite: the tests that a file of results has, or that were chosen}"""
    tests = collections.defaultdict(list)
    first, *rows = map(json.loads, pathlib.Path(path).read_text().splitlines())
    for row in rows:
        if not row["test"].endswith("::(collection)") and (row["outcome"] != "not run" or first["chosen"]):
            tests[row["suite"]].append(row["test"])
    return tests


def sample_in(path):
    """How the tests of a file of results were chosen."""
    with open(path) as file:
        first = json.loads(file.readline())
    return {name: first[name] for name in ("sample", "seed")}


def run(arguments, suites):
    like = tests_of(arguments.like) if arguments.like else {}
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        work = Run(arguments, folder)
        asked = subprocess.run(work.command()[:-2] + ["-c", VERSIONS], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if asked.returncode:
            sys.exit(f"this Python has no such engine ({arguments.engine}): {last_line(asked.stderr)}")
        head = json.loads(asked.stdout.splitlines()[-1]) | machine()
        sample = sample_in(arguments.like) if arguments.like else {"sample": arguments.sample, "seed": arguments.seed}
        work.output.write(json.dumps(head | sample | {"device": arguments.device, "python": platform.python_version(), "chosen": arguments.choose}) + "\n")
        reasons = {suite.name: missing(suite, arguments.sources, arguments.device) for suite in suites}
        for name, reason in reasons.items():
            if reason:
                print(f"{name}: not run, {reason}", flush=True)
        work.all([suite for suite in suites if not reasons[suite.name]], like)
        for name, counts in work.counts.items():
            print(f"{name}: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}", flush=True)
        work.output.close()
    return 0 if work.counts else 2
