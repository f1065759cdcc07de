"""The pytest plugin of tests/conformance/run: it runs one part of a file's tests, each with a time limit, and records how each one ended.

Each event is a line of JSON: {"start": ID} before a test and {"end": ID, ...} after it, and {"of": N} if a sample of N tests is run. Tests that an earlier process has started are left
out: the one without an end made that process die.
"""

import json
import os
import threading
import time

import pytest

MANY = 200  # a sample is taken, if one is wanted, from files with at least so many tests
RANK = {"passed": 0, "expected": 1, "skipped": 2, "failed": 3, "error": 4}


class Recorder:
    def __init__(self, path, part, parts, limit, every, first):
        self.part, self.parts, self.limit, self.every, self.first = part, parts, limit, every, first
        self.done = set()
        if os.path.exists(path):
            with open(path) as file:
                self.done = {event["start"] for event in map(json.loads, file) if "start" in event}
        self.file = open(path, "a", buffering=1)
        self.running, self.since, self.outcome, self.message = None, 0.0, "passed", ""
        threading.Thread(target=self.watch, daemon=True).start()

    def write(self, **event):
        self.file.write(json.dumps(event) + "\n")

    def watch(self):
        while True:
            time.sleep(1)
            running, since = self.running, self.since
            if running and time.monotonic() - since > self.limit:
                self.write(end=running, outcome="timeout", message=f"no end after {self.limit:.0f} s")
                os._exit(3)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen = items[self.first::self.every] if len(items) > MANY else items[:]
        if len(chosen) < len(items) and not self.done:
            self.write(of=len(items))
        mine = [item for item in chosen[self.part::self.parts] if item.nodeid not in self.done]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(mine)])
        items[:] = mine

    def pytest_collectreport(self, report):
        if report.failed and self.part == 0:
            self.write(end=report.nodeid + "::(collection)", outcome="error", message=str(report.longrepr)[-2000:])

    def pytest_runtest_logstart(self, nodeid):
        self.write(start=nodeid)
        self.running, self.since, self.outcome, self.message = nodeid, time.monotonic(), "passed", ""

    def pytest_runtest_logreport(self, report):
        outcome, message = report.outcome, ""
        if hasattr(report, "wasxfail"):
            outcome, message = ("expected" if report.skipped else "passed"), str(report.wasxfail)
        elif report.skipped:
            message = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        elif report.failed:
            outcome = "failed" if report.when == "call" else "error"
            crash = getattr(report.longrepr, "reprcrash", None)
            message = (crash.message if crash else str(report.longrepr))[:3000]
        if RANK[outcome] > RANK[self.outcome]:
            self.outcome, self.message = outcome, message

    def pytest_runtest_logfinish(self, nodeid):
        self.write(end=nodeid, outcome=self.outcome, message=self.message, seconds=round(time.monotonic() - self.since, 2))
        self.running = None


def pytest_configure(config):
    path, part, parts, limit, every, first = os.environ["CONFORMANCE"].split("|")
    config.pluginmanager.register(Recorder(path, int(part), int(parts), float(limit), int(every), int(first)))
    if os.environ.get("CONFORMANCE_TARGET"):
        import simulated_gpu

        simulated_gpu.begin(os.environ["CONFORMANCE_TARGET"])
    elif os.environ.get("CONFORMANCE_ENGINE"):
        import tilewright

        tilewright.engine(os.environ["CONFORMANCE_ENGINE"]).__enter__()
