"""Compares src/gpu/ttg/ttg_attributes.def with the code: each attribute is written and read, by the steps that its comment names and by no other.

A comment says "Written by A and B; read by C, D and explain." The names are those of steps (src/driver/steps.cpp) or "explain", and "every step"
stands for any of them. A file belongs to the step of its name; STEPS_OF has those of several steps. Functions of src/gpu/ttg access an attribute on
behalf of their callers, so their accesses stand for any step. The verifier of attributes is no step.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
TABLE = "src/gpu/ttg/ttg_attributes.def"
ANY = "every step"
VERIFIER = "src/gpu/ttg/verify_attributes.cpp"
ROW = re.compile(r"((?:^///.*\n)+)^TTG_ATTRIBUTE\((\w+),", re.M)
WRITES = re.compile(r"\b(?:setAttr|setArgAttr|getNamedAttr|NamedAttribute \w+)\(")
COPIES = re.compile(r"(?:get|getArg|has)Attr\(.*\bset(?:Arg)?Attr\(")  # reads one operation's and writes it to another
SCHEDULE, TILES = "src/gpu/schedule/", "src/gpu/tiles/"
STEPS_OF = {
    "src/driver/steps.cpp": {"configure"},
    "src/gpu/schedule/clusters/cta_pairs.cpp": {"choose-cta-pairs"},
    TILES + "specialize/assume_no_wrap.cpp": {"assume-no-wrap"},
    TILES + "tma/tensor_map.cpp": {"collect-launch-guards"},
    TILES + "layouts/layout_cost.cpp": {"assign-layouts", "schedule-loops", "lower-to-threads"},
    SCHEDULE + "buffers.cpp": {"stage-tma-transfers", "pipeline-loops", "copy-unpipelined"},
    SCHEDULE + "mma_waits.cpp": {"schedule-loops", "pipeline-loops"},
    SCHEDULE + "operation_ids.cpp": {"schedule-loops", "pipeline-loops", "schedule-mmas", "overlap-mmas"},
    SCHEDULE + "staging/stageable.cpp": {"stage-rows"},
    SCHEDULE + "partitions/operand_partition.cpp": {"partition-dequantize", "schedule-loops", "pipeline-loops"},
    SCHEDULE + "partitions/warp_specialization.cpp": {"partition-dequantize", "schedule-loops"},
    SCHEDULE + "mmas/early_mmas.cpp": {"schedule-mmas"},
    SCHEDULE + "mmas/mma_schedule.cpp": {"schedule-mmas", "overlap-mmas"},
    SCHEDULE + "shared_memory/shared_accesses.cpp": {"insert-barriers"},
    SCHEDULE + "shared_memory/shared_plan.cpp": {"partition-dequantize", "schedule-loops", "allocate-shared"},
}
FOLDERS = {"src/gpu/explain/": {"explain"}, "src/gpu/sm_model/": {"explain"}, "src/gpu/thread/prepare/": {"prepare-lowering"},
           "src/gpu/thread/": {"lower-to-threads"},
           SCHEDULE + "dequantize/": {"partition-dequantize"}, SCHEDULE + "expand/": {"pipeline-loops"},
           SCHEDULE + "loops/": {"schedule-loops", "pipeline-loops"}, SCHEDULE + "policies/": {"schedule-loops"}, SCHEDULE + "decisions/": {"schedule-loops"},
           SCHEDULE + "tensor_memory/": {"plan-accumulators", "place-accumulators"}, "src/gpu/ttg/": {ANY}}


def steps_of(path, steps):
    """The steps to which a file belongs; none if that is not known."""
    name = pathlib.PurePosixPath(path).stem.replace("_", "-")
    if path in STEPS_OF:
        return STEPS_OF[path]
    if name in steps:
        return {name}
    return next((owners for folder, owners in FOLDERS.items() if path.startswith(folder)), set())


def accesses(name, sources):
    """(path, line, writes, reads) of each access to an attribute."""
    for path, text in sources.items():
        alias = re.search(rf"StringLiteral (\w+) = (?:ttg::)?{name};", text)
        names = re.compile(rf"\b(?:{name}{'|' + alias[1] if alias else ''})\b")
        for number, line in enumerate(text.splitlines(), 1):
            if not names.search(line.partition("//")[0]) or (alias and "StringLiteral" in line):
                continue
            if alias and not re.search(rf"\b{name}\b", line) and "Attr(" not in line:
                continue
            writes = bool(WRITES.search(line))
            yield path, number, writes, not writes or bool(COPIES.search(line))


def named(comment, verb):
    """The steps of "VERB by A, B and C"; null if the comment does not say that."""
    found = re.search(rf"\b{verb}(?: and removed)? by ([^;.]*?)(?:, which|[;.])", comment, re.I)
    return set(re.split(r", | and ", found[1])) if found else None


def problems():
    table = (root / TABLE).read_text()
    steps = set(re.findall(r'^    \{"([\w-]+)", Machine', (root / "src/driver/steps.cpp").read_text(), re.M)) | {"explain"}
    files = [path for folder in ("src/gpu", "src/driver") for path in sorted((root / folder).rglob("*.cpp"))]
    sources = {path.relative_to(root).as_posix(): path.read_text() for path in files if path != root / VERIFIER}
    found = ROW.findall(table)
    if len(found) != table.count("\nTTG_ATTRIBUTE("):
        yield f"{TABLE}: an attribute has no comment"
    for comment, name in found:
        text = " ".join(line.removeprefix("///").strip() for line in comment.splitlines())
        uses = list(accesses(name, sources))
        for verb, index in (("written", 2), ("read", 3)):
            said = named(text, verb)
            if said is None:
                yield f"{TABLE}: {name} does not say by which steps it is {verb}"
                continue
            yield from (f"{TABLE}: {name} is {verb} by '{step}', which is no step" for step in sorted(said - steps - {ANY}))
            owners = [(path, number, steps_of(path, steps)) for path, number, *kinds in uses if kinds[index - 2]]
            if not owners:
                yield f"{TABLE}: no code has {verb} {name}" if verb == "read" else f"{TABLE}: {name} is never written"
            for path, number, own in owners:
                if not own:
                    yield f"{path}:{number}: tools/check_attributes.py does not know to which steps this file belongs"
                elif ANY not in said | own and not own & said:
                    yield f"{path}:{number}: {name} is {verb} here, but not by {' or '.join(sorted(own))} according to {TABLE}"
            everyone = set().union(*(own for _, _, own in owners)) if owners else set()
            if ANY not in everyone:
                yield from (f"{TABLE}: {name} is not {verb} by {step}" for step in sorted((said & steps) - everyone))


def main():
    found = list(problems())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
