"""Lists the source files that use a header which reaches them only by the precompiled headers, and fails if there are any.

    tools/check_includes.py [--llvm FOLDER]

Builds without precompiled headers (TILEWRIGHT_PCH=OFF, as the sanitizers') stop at such a file. The tool follows the #include lines of each
file under src/, through LLVM's headers, too. FOLDER is where LLVM's headers are; by default, what llvm-config-22 says.
"""

import argparse
import functools
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([\w./+-]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"//.*|\"(?:[^\"\\\n]|\\.)*\"")
# What a header of src/ir/precompiled.h defines, as code names it.
DIALECT, ADT = "mlir/Dialect/{}", "llvm/ADT/{}.h"
NAMES = {
    DIALECT.format("Arith/IR/Arith.h"): r"\barith::\w+Op\b",
    DIALECT.format("ControlFlow/IR/ControlFlowOps.h"): r"\bcf::\w+Op\b",
    DIALECT.format("LLVMIR/LLVMDialect.h"): r"\bLLVM::\w+Op\b",
    DIALECT.format("Math/IR/Math.h"): r"\bmath::\w+Op\b",
    DIALECT.format("SCF/IR/SCF.h"): r"\bscf::\w+Op\b",
    DIALECT.format("UB/IR/UBOps.h"): r"\bub::\w+Op\b",
    "mlir/IR/Builders.h": r"\bOpBuilder [a-z]\w*[({;]",
    "mlir/IR/BuiltinOps.h": r"\bModuleOp\b",
    "mlir/IR/IRMapping.h": r"\bIRMapping [a-z]\w*[({;]",
    "mlir/IR/ImplicitLocOpBuilder.h": r"\bImplicitLocOpBuilder [a-z]\w*[({;]",
    "mlir/IR/Matchers.h": r"\bm_(?:Constant|Zero|One|Op)\w*\(",
    "mlir/IR/PatternMatch.h": r"\bIRRewriter [a-z]\w*[({;]|\bRewritePatternSet\b",
    "mlir/IR/Verifier.h": r"\bmlir::verify\(",
    ADT.format("DenseMap"): r"\bDenseMap<",
    ADT.format("DenseSet"): r"\bDenseSet<",
    ADT.format("MapVector"): r"\bMapVector<",
    ADT.format("SetVector"): r"\bSetVector<",
    ADT.format("StringMap"): r"\bStringMap<",
    ADT.format("StringSwitch"): r"\bStringSwitch<",
    ADT.format("TypeSwitch"): r"\bTypeSwitch<",
    "llvm/Support/JSON.h": r"\bllvm::json::",
    "llvm/Support/raw_ostream.h": r"\braw_string_ostream [a-z]\w*[({;]",
}
NAMES = {header: re.compile(pattern) for header, pattern in NAMES.items()}


@functools.cache
def included(file):
    return INCLUDE.findall(file.read_text(errors="replace"))


@functools.cache
def find(name, folders):
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def closure(path, folders):
    """The headers that `path` includes, each as its includer names it, and those that they include."""
    seen, left = set(), list(included(path))
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            found = find(name, folders)
            left += included(found) if found else []
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llvm", type=pathlib.Path)
    llvm = parser.parse_args().llvm or pathlib.Path(subprocess.run(["llvm-config-22", "--includedir"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    folders = (root / "src", root / "include", llvm)
    listed = set(INCLUDE.findall((root / "src/ir/precompiled.h").read_text()))
    problems = [f"tools/check_includes.py: src/ir/precompiled.h does not have {header}" for header in NAMES if header not in listed]
    for path in sorted((root / "src").rglob("*.cpp")):
        text = COMMENT.sub("", path.read_text())
        used = {header: match[0] for header in NAMES if (match := NAMES[header].search(text))}
        reached = closure(path, folders) if used else set()
        problems += [f"{path.relative_to(root)}: uses {use.strip('(<')} and does not include {header}" for header, use in used.items() if header not in reached]
    print(*problems, sep="\n", end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
