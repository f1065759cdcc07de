"""Writes what happens to each test to the file that `--events` names, one JSON object a line, so that tools/run_tests.py shows failures and
progress at once. With pytest-xdist, the process that distributes the tests writes."""

import json
import os

import pytest

os.environ["TILEWRIGHT_VERIFY_BARRIERS"] = "1"


def pytest_addoption(parser):
    parser.addoption("--events", metavar="FILE", help="write the results to this file, one JSON object a line")


def pytest_configure(config):
    if config.getoption("--events") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Events(open(config.getoption("--events"), "a")))


class Events:
    def __init__(self, file):
        self.file = file
        self.collected = set()

    def write(self, **event):
        self.file.write(json.dumps(event) + "\n")
        self.file.flush()

    def pytest_collection_finish(self, session):
        if session.items:
            self.write(total=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.write(total=len(ids))

    def pytest_collectreport(self, report):
        if not report.passed and report.nodeid not in self.collected:  # each worker reports it
            self.collected.add(report.nodeid)
            self.write(test=report.nodeid, outcome=report.outcome, text=text_of(report), seconds=0, isLast=True)

    def pytest_runtest_logreport(self, report):
        self.write(test=report.nodeid, outcome=report.outcome, text=text_of(report), seconds=report.duration, isLast=report.when not in ("setup", "call"))


def text_of(report):
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return getattr(report, "wasxfail", "") or reason.removeprefix("Skipped: ")
    return "\n".join([report.longreprtext, *(f"-- {name}\n{text}" for name, text in report.sections if text.strip())]) if report.failed else ""
