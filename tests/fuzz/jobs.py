"""Runs a fuzzer's workers in processes of their own. If one crashes or hangs, the program is named, and another worker continues.

A worker prints "> SEED COUNTS" before each program, with the counts so far as JSON, and "= COUNTS" at the end; all other lines are for people.
"""

import collections
import importlib
import json
import os
import subprocess
import sys
import threading
import time


def require(*modules):
    """Ends the program if one of the modules cannot be imported; each fuzzed program would fail for that reason alone."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            advice = "; run `make`, and set PYTHONPATH=build/python" if name == "tilewright" else ""
            sys.exit(f"{os.path.basename(sys.argv[0])} needs the module {name}, which {sys.executable} cannot import ({error}){advice}")


class Job:
    """One worker after another, over the seeds first, first + step, first + 2 * step, ... below `end`."""

    def __init__(self, command, environment, first, step, end, seconds, patience):
        self.command, self.environment, self.step, self.end, self.patience = command, environment, step, end, patience
        self.seed, self.until = first, time.monotonic() + seconds
        self.counts, self.lines = collections.Counter(), []
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while self.seed < self.end and time.monotonic() < self.until:
            ended = self.one_process()
            if ended is None:
                return
            print(f"seed {self.seed}: {ended}", flush=True)
            self.counts.update(crashed=1)
            self.seed += self.step

    def one_process(self):
        """Runs a worker. Returns None, or how it ended if it did not finish."""
        command = self.command + ["--first", str(self.seed), "--step", str(self.step), "--end", str(self.end), "--seconds",
                                  str(max(self.until - time.monotonic(), 0.1))]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        last, alive, self.hung = [time.monotonic()], threading.Event(), False
        threading.Thread(target=self.watch, args=(process, last, alive), daemon=True).start()
        counts, finished = "{}", False
        for line in process.stdout:
            last[0] = time.monotonic()
            if line.startswith("> "):
                seed, counts = line[2:].split(maxsplit=1)
                self.seed = int(seed)
            elif line.startswith("= "):
                counts, finished = line[2:], True
            else:
                print(line, end="", flush=True)
        self.counts.update(json.loads(counts))
        alive.set()
        code = process.wait()
        if finished:
            return None
        if self.hung:
            return f"no end after {self.patience:.0f} s of work"
        return f"ended by signal {-code}" if code < 0 else f"ended with {code}"

    def watch(self, process, last, ended):
        """Ends a process that has computed for too long on one program, or has waited for ten times as long."""
        program, before = last[0], 0.0
        while not ended.wait(1):
            worked = cpu_seconds(process.pid)
            if last[0] != program:
                program, before = last[0], worked
            if worked - before > self.patience or time.monotonic() - program > 10 * self.patience:
                self.hung = True
                process.kill()
                return


def cpu_seconds(process):
    """The CPU time of a process in seconds. On a busy machine, it is less than the elapsed time."""
    try:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(command, environments, first, count, seconds, patience):
    """Starts a worker for each of the environments; the workers share the seeds."""
    step = len(environments)
    return [Job(command, environment, first + i, step, first + count, seconds, patience) for i, environment in enumerate(environments)]


def finish(working):
    """Waits for the workers; returns the sum of their counts."""
    for job in working:
        job.thread.join()
    return sum((job.counts for job in working), collections.Counter())


def run(command, environment, first, count, jobs, seconds, patience):
    """Runs `jobs` workers, which share the seeds; returns the sum of their counts."""
    return finish(start(command, [environment] * jobs, first, count, seconds, patience))
