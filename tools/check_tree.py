"""Checks the rules of the source tree, and fails if one is broken.

Order      a folder under src/ includes only itself and folders before it; cpu and gpu never see each other.
Size       a source file has at most 800 lines, a function at most 60. A longer function gives its reason in the comment before it, which
           starts with "Long:".
Circles    no import cycle among the modules of the Python package. Imports inside functions do not count.
Names      no two files define a type of one name in one namespace: the linker would use the functions of one for both.
Machines   no file names a folder of the machine that it was written on.
"""

import ast
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
LONGEST_FILE, LONGEST_FUNCTION = 800, 60
SCHEDULE = ["shared_memory", "staging", "loops", "partitions", "policies", "decisions", "expand", "dequantize", "mmas", "tensor_memory", "clusters"]
ORDER = ["support", "syntax", "evaluate", "ir", "frontend", "cpu", "gpu/layout", "gpu/machine", "gpu/ttg", "gpu/cost_model", "gpu/sm_model", "gpu/tiles",
         *(f"gpu/tiles/{name}" for name in ("specialize", "mma", "cluster", "tma", "layouts")), "gpu/schedule",
         *(f"gpu/schedule/{name}" for name in SCHEDULE), "gpu/thread/prepare", "gpu/thread",
         *(f"gpu/thread/{name}" for name in ("memory", "exchange", "mma", "scalars")), "gpu", "codegen", "driver", "runtime/cuda", "runtime", "aot_runtime", "tune", "aot", "author", "api"]
# Headers that earlier folders may include as well: declarations of passes, functions of numbers, and errors of the C
# interface, which need no library.
SHARED = {"gpu/passes.h", "api/error.h", "api/sized.h", *(f"gpu/cost_model/{name}.h" for name in ("thresholds", "registers", "live_ranges", "exchange_cost"))}
MACHINE = re.compile(r"/(?:home|Users|work|root)/\w")


def tracked():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE, text=True)
    if listed.returncode == 0:
        return [root / name for name in listed.stdout.splitlines() if (root / name).is_file()]
    return [path for path in root.rglob("*") if path.is_file() and not {".git", "build"} & set(path.parts)]


def room(path):
    """The longest folder of ORDER that holds `path`, which is relative to src/."""
    found = [folder for folder in ORDER if path.startswith(folder + "/")]
    return max(found, key=len, default=None)


def includes(path, text):
    inside = path.relative_to(root / "src").as_posix()
    own = room(inside)
    if own is None:
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'#include "([\w./]+)"', line)
        other = room(match[1]) if match and (root / "src" / match[1]).exists() else None
        if other is None or match[1] in SHARED:
            continue
        crosses = {own.split("/")[0], other.split("/")[0]} == {"cpu", "gpu"}
        if crosses or ORDER.index(other) > ORDER.index(own):
            yield f"{inside}:{number}: {own} includes {match[1]}, which comes after it" if not crosses else f"{inside}:{number}: cpu and gpu do not see each other"


# What opens a block that is not the body of a function.
BLOCK = re.compile(r"(template\s*<.*>\s*)?(typedef |static |constexpr |const |inline )*(namespace|struct|class|enum|union|extern|if|for|while|switch|do|else|return|case|try|catch)\b|[}\[]")


def functions(text):
    """(first line, name, lines, comment) of each function whose definition starts in the first column or two further in.

    The signature may wrap: it goes back from the line that ends with "{" to the end of the statement or comment before it.
    """
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if not line.endswith("{") or line.endswith("= {") or line.lstrip().startswith(("//", "#")):
            continue
        first = start
        while first > 0 and (before := lines[first - 1].strip()) and not before.startswith(("//", "#")) and not before.endswith((";", "{", "}", ":", "*/")):
            first -= 1
        signature = " ".join(each.strip() for each in lines[first:start + 1])
        indent = re.match(" *", lines[first])[0]
        if len(indent) not in (0, 2) or "(" not in signature or signature.count("(") != signature.count(")") or BLOCK.match(signature):
            continue  # an open parenthesis: a lambda that is an argument of a call
        end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith(indent + "}")), None)
        if end is None:
            continue
        name = re.search(r"(operator\s*\S+?|[\w:~]+)\s*\(", signature)
        comment = first - 1
        while comment > 0 and lines[comment].lstrip().startswith("//"):
            comment -= 1
        yield first + 1, name[1] if name else "?", end - first + 1, "\n".join(lines[comment + 1:first])


def types(text):
    """The types that a file defines, with their namespaces; without those in unnamed namespaces, which other files cannot see."""
    spaces = []
    for line in text.splitlines():
        if opened := re.match(r"namespace\b\s*([\w:]*)\s*{$", line):
            spaces.append(opened[1])
        elif re.match(r"}\s*// namespace", line) and spaces:
            spaces.pop()
        elif (found := re.match(r"(?:struct|class)\s+(\w+)\b(?!::)[^;]*{", line)) and "" not in spaces:
            yield "::".join([*spaces, found[1]])


def imports(name, path, modules):
    """The modules of the package that a module imports as it is imported itself."""
    def run_at_once(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                yield child
            elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield from run_at_once(child)

    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for statement in run_at_once(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            found = {each.name for each in statement.names}
        else:
            base = package[:len(package) + 1 - statement.level] if statement.level else []
            base = ".".join(base + ([statement.module] if statement.module else []))
            found = {f"{base}.{each.name}" if f"{base}.{each.name}" in modules else base for each in statement.names}
        yield from sorted(found & modules - {name})


def circles():
    package = root / "python" / "tilewright"
    paths = {".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in package.rglob("*.py")}
    modules = {*paths, "tilewright._core"}  # which is compiled
    done, trail = set(), []

    def visit(name):
        if name in trail:
            yield " -> ".join([*trail[trail.index(name):], name]) + ": a circle of imports"
        elif name not in done:
            trail.append(name)
            for other in imports(name, paths[name], modules) if name in paths else ():
                yield from visit(other)
            trail.pop()
            done.add(name)

    for name in sorted(paths):
        yield from visit(name)


def main():
    problems, owners = list(circles()), {}
    problems += [f"tools/check_tree.py: SHARED names {each}, which is not there" for each in sorted(SHARED) if not (root / "src" / each).exists()]
    for path in tracked():
        name = path.relative_to(root).as_posix()
        if path.suffix not in {".cpp", ".h", ".py", ".td", ".def", ".c", ".md", ".txt", ".cmake", ".test", ".mlir", ""} or name.startswith("benchmarks/results"):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        problems += [f"{name}:{i}: names a folder of some machine: {line.strip()[:80]}" for i, line in enumerate(text.splitlines(), 1)
                     if MACHINE.search(line) and path != pathlib.Path(__file__).resolve()]
        if path.suffix not in {".cpp", ".h", ".py"}:
            continue
        if text.count("\n") > LONGEST_FILE:
            problems.append(f"{name}: {text.count(chr(10))} lines, more than {LONGEST_FILE}")
        if path.suffix == ".py" or not name.startswith(("src/", "cli/", "python/", "include/")):
            continue
        if name.startswith("src/"):
            problems += includes(path, text)
            problems += [f"{name}: {each} is a type of {owners[each]}, too" for each in types(text) if owners.setdefault(each, name) != name]
        for line, function, length, comment in functions(text):
            if length > LONGEST_FUNCTION and not re.search(r"//+ Long:", comment):
                problems.append(f"{name}:{line}: {function} has {length} lines, more than {LONGEST_FUNCTION}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
