"""A profile as a tree on the terminal: python -m tilewright -m triton.profiler.viewer -m time/ms,tflop16/s FILE.hatchet"""

import argparse
import json
import re

_TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}
_SIZES = {"": 1, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"([gt]?)(flop(?:4|8|16|32|64)?|byte)/s")
_TIME = re.compile(r"(avg_)?(time|cpu_time)/(s|ms|us|ns)")


class Node:
    """A frame with its own metrics, and with those of all frames below it."""

    def __init__(self, told):
        self.name = told["frame"]["name"]
        self.own = told.get("metrics", {})
        self.children = [Node(child) for child in told.get("children", [])]
        self.shown = {}

    def total(self, metric):
        return self.own.get(metric, 0) + sum(child.total(metric) for child in self.children)

    def metrics(self):
        """The names of all metrics in this tree."""
        return set(self.own).union(*(child.metrics() for child in self.children))

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child


def read(filename):
    """(tree, devices) of a profile's file."""
    with open(filename) as file:
        tree, devices = json.load(file)
    return Node(tree), devices


def _value(root, node, metric):
    """A metric of a frame, the frames below it included; None if it has none."""
    if timed := _TIME.fullmatch(metric):
        average, kind, unit = timed.groups()
        total, count = node.total(f"{kind} (ns)"), node.total("count")
        return total / _TIMES[unit] / (count or 1 if average else 1) if total else None
    if rate := _RATE.fullmatch(metric):
        size, what = rate.groups()
        work, seconds = node.total({"byte": "bytes"}.get(what, what.replace("flop", "flops"))), node.total("time (ns)") / 1e9
        return work / seconds / _SIZES[size] if work and seconds else None
    name, _, percent = metric.partition("/")
    known = next((known for known in root.metrics() if known == name or known.split(" (")[0] == name), None)
    if known is None or percent not in ("", "%"):
        raise RuntimeError(f"the profile has no metric {metric}; --list prints those that it has")
    total = node.total(known)
    return total / (root.total(known) or 1) * 100 if percent else total


def _prune(node, keep):
    """Removes the frames for which keep() is false, unless it is true for a frame below them."""
    node.children = [child for child in node.children if _prune(child, keep) or keep(child)]
    return bool(node.children)


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """(tree, names of columns): the frames of a file with the requested metrics."""
    root, _ = read(filename)
    metrics = [metrics] if isinstance(metrics, str) else list(metrics)
    if include:
        _prune(root, lambda node: re.search(include, node.name) is not None)
    if exclude:
        for node in root:
            node.children = [child for child in node.children if not re.search(exclude, child.name)]
    for node in root:
        node.shown = {metric: _value(root, node, metric) for metric in metrics}
    if threshold:
        _prune(root, lambda node: (node.shown[metrics[0]] or 0) >= threshold)
    return root, metrics


def print_tree(tree, metrics, depth=100, format=None, print_sorted=False):
    """Prints the tree: the first metric before each frame's name, the other metrics after it."""
    print("  ".join(metrics))

    def show(node, lead, branch, level):
        values = ["nan" if node.shown[metric] is None else f"{node.shown[metric]:.3f}" for metric in metrics]
        print(f"{lead}{branch}{'  '.join(values)}  {_shortened(node.name, format)}")
        if level == depth:
            return
        lead += {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        children = sorted(node.children, key=lambda child: -(child.shown[metrics[0]] or 0)) if print_sorted else node.children
        for child in children:
            show(child, lead, "└─ " if child is children[-1] else "├─ ", level + 1)

    show(tree, "", "", 0)


def _shortened(name, format):
    """`path:line@function`, without the parts that the format leaves out."""
    if format == "file_function_line":
        return name.split("/")[-1]
    if format == "function_line":
        return name.split(":")[-1]
    if format == "file_function":
        return f"{name.split('/')[-1].split(':')[0]}@{name.split('@')[-1].split(':')[0]}"
    return name


def show_metrics(filename):
    """Prints the names of the metrics in a file."""
    root, _ = read(filename)
    print("Available metrics:")
    for name in sorted(name.split(" (")[0] for name in root.metrics()):
        print(f"- {name}")


def main():
    parser = argparse.ArgumentParser(description="Shows profiles.", usage="viewer -m METRIC[,METRIC...] [options] FILE.hatchet")
    parser.add_argument("-l", "--list", action="store_true", help="list the metrics of the file")
    parser.add_argument("-m", "--metrics", default="time/ms",
                        help="time/ms, avg_time/us, cpu_time/ms, tflop16/s, gbyte/s, count, or NAME/%%; several with commas")
    parser.add_argument("-i", "--include", help="frames whose names match this pattern, and what leads to them")
    parser.add_argument("-e", "--exclude", help="without frames whose names match this pattern")
    parser.add_argument("-t", "--threshold", type=float, help="frames whose first metric is at least this")
    parser.add_argument("-d", "--depth", type=int, default=100)
    parser.add_argument("-f", "--format", choices=["full", "file_function_line", "function_line", "file_function"], default="full")
    parser.add_argument("--print-sorted", action="store_true", help="by the first metric")
    parser.add_argument("file")
    given = parser.parse_args()
    if given.list:
        return show_metrics(given.file)
    tree, metrics = parse(given.metrics.split(","), given.file, given.include, given.exclude, given.threshold)
    print_tree(tree, metrics, given.depth, given.format, given.print_sorted)


if __name__ == "__main__":
    main()
