"""Changed schedules: the steps after them refuse one or carry it out, but never crash.

    python tests/fuzz/schedules.py                           60 seconds from seed 0
    python tests/fuzz/schedules.py --first 1000 --count 500 [--seconds 600] [--only TEXT]
    python tests/fuzz/schedules.py --seed 1234 --show        one case, its attribute before and after first

The kernels of the examples are compiled up to schedule-loops, schedule-mmas or plan-accumulators. One to three places of an attribute that the step has
written (ATTRIBUTE) are changed: a number, a word, or an entry that is missing, there twice, or exchanged with another one. `tilewright opt` runs the
later steps. They must succeed, or fail with an error. An error that asks for a bug report is counted apart.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from example_kernels import KERNELS  # noqa: E402

LATER = """pipeline-loops copy-unpipelined schedule-mmas overlap-mmas plan-accumulators place-accumulators allocate-shared insert-barriers specialize-warps
           prepare-lowering order-accesses lower-to-threads""".split()
EXAMPLES = [(f"examples/{example}.py", *kernel) for example, *kernel in KERNELS]
OTHERS = [  # with an operand partition
    ("tests/gpu/dequantize_partition.py", "scaled", "a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,"
     "BLOCK_M=256,STORES=False", 8, 4),
]
TARGETS = ["cuda:sm_90a", "cuda:sm_90a", "cuda:sm_100a", "cuda:sm_80"]
LOOPS, MMAS, PLANS = "schedule-loops", "schedule-mmas", "plan-accumulators"
ATTRIBUTE = {LOOPS: re.compile(r"#ttg\.loop_schedule<.*>"), MMAS: re.compile(r"#ttg\.mma_schedule<.*>"),
             PLANS: re.compile(r"#ttg\.(?:mma_plan|mma_partition|early_mmas)<(?:[^<>]|<[^<>]*>)*>")}
NEXT = {LOOPS: "pipeline-loops", MMAS: "overlap-mmas", PLANS: "place-accumulators"}
ENTRY = re.compile(r"<(?:[^<>]|->)*>")  # an operation, a buffer or an edge
LIST = re.compile(r"\[[^][<>]*\]")
WORDS = {"producer": "consumers", "consumers": "producer", "operands": "consumers", "tma": "threads", "threads": "tma", "copy_async": "registers",
         "registers": "tma", "early": "late", "late": "in_place", "in_place": "rescaled", "rescaled": "early", "prefetched": "interleaved",
         "interleaved": "in_iteration", "in_iteration": "prefetched", "accumulation": "chains", "chains": "accumulation"}
OPTIONS = ["cross_tile true", "continues 0", "stores_in_flight true", "stores_per_warp_group true", "registers_for_words 64", "operand_plan <release 0>",
           "operand_plan <release 2 loads_whole_rows true fences_early true>", "reason \"none\""]  # in the order of a loop_schedule
FLAGS = [" moves true", " first_warp true", *(f" {option}" for option in OPTIONS)]
CRASHED, BUG, REFUSED, ACCEPTED, SAME = "crashed", "bug reported", "refused", "accepted", "unchanged"


def change_number(text, rng):
    numbers = list(re.finditer(r"(?<![\w\"])-?\d+", text))
    if not numbers:
        return text
    chosen = rng.choice(numbers)
    value = int(chosen[0])
    others = [int(number[0]) for number in numbers]
    new = rng.choice([value + 1, value - 1, 0, 1, -1, 99, 2**40, 2**63 - 1, -2**63, *rng.choices(others, k=6)])
    return text[:chosen.start()] + str(new) + text[chosen.end():]


def change_list(text, rng):
    """Removes an entry, repeats one, or exchanges two."""
    entries = list(ENTRY.finditer(text[text.find("<") + 1:]))
    if len(entries) < 2:
        return text
    start = text.find("<") + 1
    one, other = sorted(rng.sample(entries, 2), key=lambda entry: entry.start())
    spans = [(start + entry.start(), start + entry.end()) for entry in (one, other)]
    first, second = (text[begin:end] for begin, end in spans)
    head, middle, tail = text[:spans[0][0]], text[spans[0][1]:spans[1][0]], text[spans[1][1]:]
    kind = rng.randrange(3)
    if kind == 0:
        return head + second + middle + first + tail
    if kind == 1:
        return head + first + ", " + first + middle + second + tail
    return head + re.sub(r"^, ", "", middle) + second + tail


def change_word(text, rng):
    words = list(re.finditer(r"\b(?:" + "|".join(WORDS) + r")\b", text))
    flags = [flag for flag in FLAGS if flag in text]
    if rng.randrange(3) == 0 and ("<ops" in text or " moves" in text):
        entry = rng.choice(list(re.finditer(r"<\d+( moves true)?>", text)) or [None])
        if entry:
            number = re.search(r"\d+", entry[0])[0]
            return text[:entry.start()] + (f"<{number}>" if entry[1] else f"<{number} moves true>") + text[entry.end():]
    if flags and rng.randrange(2):
        return text.replace(rng.choice(flags), "", 1)
    if words and rng.randrange(3):
        word = rng.choice(words)
        return text[:word.start()] + WORDS[word[0]] + text[word.end():]
    return with_option(text, rng.randrange(len(OPTIONS)))


def with_option(text, number):
    """The attribute with one more option, which stands before later ones."""
    word = OPTIONS[number].split()[0]
    later = [text.find(f" {option.split()[0]} ") for option in OPTIONS[number + 1:]]
    place = min((index for index in later if index > 0), default=len(text) - 1)
    return text if f" {word} " in text else text[:place] + " " + OPTIONS[number] + text[place:]


def changed(text, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = rng.choice([change_number, change_number, change_number, change_list, change_word])(text, rng)
    return text


class Dumps:
    """The IR of the kernels after the steps, made when it is asked for."""

    def __init__(self, command, only):
        self.command, self.folder = command, pathlib.Path(tempfile.mkdtemp())
        cases = [(*kernel, target) for kernel in EXAMPLES for target in TARGETS] + [(*kernel, "cuda:sm_90a") for kernel in OTHERS]
        self.cases = [case for case in dict.fromkeys(cases) if only in " ".join(map(str, case))]

    @functools.cache
    def of(self, number):
        """{step: IR} of a case, for the steps that have written a schedule."""
        path, kernel, signature, warps, stages, target = self.cases[number]
        folder = self.folder / str(number)
        subprocess.run([self.command, "compile", f"{ROOT}/{path}", "--kernel", kernel, "--signature", signature, "--target", target,
                        "--num-warps", str(warps), "--num-stages", str(stages), "--until", PLANS, "--dump", folder, "-o", os.devnull],
                       capture_output=True, cwd=ROOT)
        texts = {step: path.read_text() for step in ATTRIBUTE for path in folder.glob(f"*_{step}.*")}
        return {step: text for step, text in texts.items() if ATTRIBUTE[step].search(text)}


def run(dumps, seed, show=False):
    """The outcome of a case, its name, and what the steps print."""
    rng = random.Random(seed)
    while True:
        number = rng.randrange(len(dumps.cases))
        texts = dumps.of(number)
        if texts:
            break
    step = rng.choice(list(texts))
    attribute = rng.choice(list(ATTRIBUTE[step].finditer(texts[step])))
    new = changed(attribute[0], rng)
    if show:
        print(attribute[0], new, sep="\n")
    path, kernel, *_, target = dumps.cases[number]
    name = f"{step} of {path} {kernel} {target}"
    if new == attribute[0]:
        return SAME, name, ""
    text = texts[step][:attribute.start()] + new + texts[step][attribute.end():]
    later = LATER[LATER.index(NEXT[step]):]
    try:
        done = subprocess.run([dumps.command, "opt", *(f"--{each}" for each in later), "-o", os.devnull], input=text, capture_output=True, text=True,
                              timeout=120)
    except subprocess.TimeoutExpired:
        return CRASHED, name, "it has run for 120 seconds"
    if done.returncode == 0:
        return ACCEPTED, name, done.stderr
    error = re.search(r"error: (.*)", done.stderr)
    if done.returncode != 1 or not error:
        return CRASHED, name, f"status {done.returncode}: {done.stderr[-1500:]}"
    return BUG if "bug" in done.stderr else REFUSED, name, error[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--errors", action="store_true", help="count each error's text")
    parser.add_argument("--command", default=shutil.which("tilewright") or str(ROOT / "build/bin/tilewright"))
    options = parser.parse_args()
    dumps = Dumps(options.command, options.only)
    if options.seed is not None:
        print(*run(dumps, options.seed, options.show), sep="\n")
        return
    counts, errors, end = collections.Counter(), collections.Counter(), time.time() + options.seconds
    seed = options.first
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while time.time() < end and (options.count is None or seed < options.first + options.count):
            last = seed + 4 * os.cpu_count() if options.count is None else min(seed + 4 * os.cpu_count(), options.first + options.count)
            for each, (outcome, name, text) in zip(range(seed, last), pool.map(lambda each: run(dumps, each), range(seed, last))):
                counts[outcome] += 1
                errors[outcome, text if outcome in (REFUSED, BUG) else ""] += 1
                if outcome in (CRASHED, BUG):
                    print(f"seed {each}: {outcome}: {name}: {text}", flush=True)
            seed = last
    shutil.rmtree(dumps.folder)
    if options.errors:
        print("\n".join(f"{count:5} {outcome}: {text}" for (outcome, text), count in sorted(errors.items(), key=lambda item: -item[1])))
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in (ACCEPTED, REFUSED, SAME, BUG, CRASHED)))
    sys.exit(1 if counts[CRASHED] or counts[BUG] else 0)


if __name__ == "__main__":
    main()
