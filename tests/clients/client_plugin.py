"""The pytest plugin of tests/clients/run. The environment variable CLIENTS, a JSON object, configures it:

collect: the file that gets the ids of all tests, and errors of files that cannot be imported. Nothing runs.
results, ids, limit[, log]: runs the tests that the file `ids` names, one a line, each within `limit` seconds, and appends events to `results`: an object
of JSON each, {"start": ID} and {"end": ID, "outcome": ..., "message": ..., "seconds": ..., "numbers": ...}. Tests that were started before are left
out: a process that dies is restarted and continues after the test that killed it. `numbers` is what a test gave record_property(). The file `log`
gets tracebacks.
"""

import json
import os

import pytest

from plugin import Recorder  # tests/conformance


class Collector:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def pytest_collectreport(self, report):
        if report.failed:
            self.file.write(json.dumps({"error": report.nodeid, "message": str(report.longrepr)[-3000:]}) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        for item in items:
            self.file.write(json.dumps({"id": item.nodeid}) + "\n")
        items[:] = []


class Runner(Recorder):
    def __init__(self, results, ids, limit, log=None):
        super().__init__(results, 0, 1, limit, 1, 0)
        self.log = log
        with open(ids) as file:
            self.wanted = {line.rstrip("\n") for line in file}
        self.numbers = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        mine = [item for item in items if item.nodeid in self.wanted and item.nodeid not in self.done]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(mine)])
        items[:] = mine

    def pytest_runtest_logstart(self, nodeid):
        self.numbers = {}
        super().pytest_runtest_logstart(nodeid)

    def pytest_runtest_logreport(self, report):
        super().pytest_runtest_logreport(report)
        self.numbers = dict(report.user_properties)
        if report.failed and self.log:
            with open(self.log, "a") as file:
                file.write(f"==== {report.nodeid}\n{report.longreprtext}\n")

    def write(self, **event):
        if "outcome" in event and self.numbers:
            event["numbers"] = self.numbers
        super().write(**event)


def pytest_configure(config):
    order = json.loads(os.environ["CLIENTS"])
    mine = Collector(order["collect"]) if "collect" in order else Runner(order["results"], order["ids"], order["limit"], order.get("log"))
    config.pluginmanager.register(mine)
