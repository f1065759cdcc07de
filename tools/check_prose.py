"""Checks the words of the sources and the words and sentences of the documents.

    tools/check_prose.py [PATH...] [--words-only | --sentences-only]

Words       a listed word of the project's old language is replaced by the field's term. Comments and string literals are prose; an
            identifier is split at underscores and capitals. In documents, code (blocks and `inline`) is not looked at.
Sentences   a sentence of an English document has at most 35 words. A table cell, a heading and an item of a list are texts of their own; code in
            the text counts as one word.

Without paths: src, include, python, cli, tests, examples, benchmarks, tools, docs, README.md, CONTRIBUTING.md. docs/journal and this file, which
contains the words, are excluded. A finding is a line "file:line: word ->
replacement"; the last line is a count. The exit status is 1 if there is a finding.
"""

import argparse
import fnmatch
import functools
import io
import pathlib
import re
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT = ["src", "include", "python", "cli", "tests", "examples", "benchmarks", "tools", "docs", "README.md", "CONTRIBUTING.md"]
LONGEST_SENTENCE = 35
C_LIKE, PYTHON, TEXT = {".cpp", ".h", ".c", ".def", ".td"}, {".py", ".pyi"}, {".md", ".txt"}
BRITISH = "|".join(["general", "special", "initial", "optim", "normal", "organ", "recogn", "vector", "parallel", "serial", "synchron", "quant", "minim", "maxim",
                    "summar", "token", "random", "material", "rematerial", "util", "emphas", "final", "custom", "canonical", "linear", "priorit", "visual"])
ONE = "a|an|the|this|each|every|one|first|last|next|previous|another|later|earlier|same|per|whole|following|single"
MANY = "two|three|four|eight|both|several|many|few|more|all|later|earlier|most|some|these|whole"

# Prose: (regular expression, replacement, files that it holds for). Matches ignore capitals and run across the end of a line.
PROSE = [(rf"\b(?:{pattern})\b(?![-_/.]\w)", replacement, files) for pattern, replacement, files in [
    # iterations and matmuls
    (rf"(?:{ONE}) turn(?! (?:on|off|out|into|to|around|over|them|it|red|green)\b)", "iteration", "*"),
    (rf"(?:{MANY}) turns(?! (?:on|off|out|into|to|around|over|them|it)\b)", "iterations", "*"),
    (r"turns? of (?:a|an|the|its|their|this|that|each|every|one)(?: \w+)? loops?|loop's turns?|turns? of (?:its|their) loop|turn by turn|turn's", "iteration", "*"),
    (r"turned (?:tile|operand|layout|matrix|copy|store|load|dim|block)s?", "transposed", "*"),
    (r"(?:matrix|tile|thin|deferred|wgmma|mma|scaled|sparse) products?", "matmul, GEMM, dot or MMA; GEMV for a thin one", "*"),
    (r"products? of (?:the |two |small |large |shallow |square |half |both |such |these |many )*(?:tiles?|matri(?:x|ces)|blocks?|operands?|bytes|warps?|wgmma)",
     "matmul, GEMM, dot or MMA", "*"),
    (r"(?:a|the|each|every|this|its|one|next|last|previous|first) products? (?:waits?|reads?|begins?|starts?|runs?|writes?|needs?|takes|is (?:done|ready|put|late|made))",
     "matmul, dot or MMA", "*"),
    (r"products? (?:is|are) put off|put off", "K-blocking across iterations; deferred", "*"),
    (r"kept panels?", "packed-panel cache", "*"),
    # machines
    (r"cards?(?:')?(?:s)?", "GPU, device", "*"),
    (r"processors?(?:')?(?:s)?", "CPU; SM for a GPU's multiprocessor", "*"),
    (r"copy engines?", "TMA", "*"),
    (r"tile registers?", "AMX tiles", "*"),
    (r"past the caches?", "non-temporal (stores)", "*"),
    (r"roofs?", "peak, roofline", "*"),
    (r"blocks of (?:a|the|one) (?:cluster|program)", "CTAs of a cluster", "*"),
    (r"(?:launch|broken|preferred|refuted|missing) facts?|facts? (?:about|of) (?:a |the )?launch(?:es)?", "assumption; launch guard; failed guard; versioning request", "*"),
    (r"(?:taken|takes?|take|taking) (?:\w+ )?for granted", "assumed, assumes", "*"),
    (r"careful (?:version|form|code|path|loop|kernel)s?", "fallback version, slow path", "*"),
    (r"short forms?", "fast path", "*"),
    (r"refut(?:e|es|ed|ing|ation|ations)", "failed guard; the guard fails", "*"),
    (r"(?:is|are|was|were|lie|lies) apart(?! from)|widen(?:s|ed|ing)? apart", "noalias, disjoint; dequantize partition", "*"),
    (r"cheap tiles?", "rematerializable values", "*"),
    # the schedule
    (r"wideners?", "upcast or dequantize partition", "*"),
    (r"split sums?", "in-cluster split-K", "*"),
    (r"own (?:rows|columns)", "per-warp-group epilogue store; uneven N split", "src/gpu/*"),
    (r"tile loops?", "persistent loop", "src/gpu/*"),
    (r"alternate buffers?|alternating buffers?", "double or multi buffering", "*"),
    (r"transfer buffers?", "TMA staging buffers", "*"),
    (r"needless (?:syncs?|barriers?)", "redundant barriers", "*"),
    (r"picked elements?", "argmin/argmax reduction", "*"),
    (r"covering (?:load|word)s?", "unaligned load through aligned words", "*"),
    (r"retires?|retired|retiring", "drain", "src/gpu/*"),
    (r"drop(?:s|ped)? (?:the )?wraparounds?", "replace modulo by mask", "*"),
    (r"defer(?:s|red|ring)? (?:the )?sums?", "hoist the cross-thread reduction out of the loop", "*"),
    # everything else
    (r"anew", "again, fresh, regenerated; volatile for loads", "*"),
    (r"behind|in front of|beside", "after, before, next to, compared with", "*"),
    (r"verdicts?|judg(?:e|es|ed|ing|ment|ments|ement)", "result; verifier, checker; checks", "*"),
    (r"doors?", "entry point, front end", "*"),
    (r"gallery|galleries", "examples", "*"),
    (r"rehears(?:al|als|e|es|ed|ing)", "dry run", "*"),
    (r"visits? (?:to|of) (?:a|an|the|another|one) (?:gpu|machine|h100|h200)", "measurement run", "*"),
    (r"nobody(?:'s)?|somebody(?:'s)?", "name the actor", "*"),
    (r"(?<!there )(?<!where )(?<!there's )(?:is|are|was|were) no (?!longer|more|less|fewer|better|worse|different|other|matter|use|need|doubt|larger|smaller|greater|faster|slower|"
     r"later|earlier|wider|longer|shorter|deeper)[a-z]+ (?:of|in|for|that|to|or|and|at)", "is not a ...", "*"),
    (r"(?:is|are|was) told", "name the actor: the compiler reports", "*"),
    (r"until now|until then|hitherto", "no history", "*"),
    # American spelling
    (r"neighbou(?:r|rs|ring|red)", "neighbor; adjacent or contiguous elements", "*"),
    (r"colours?|behaviou?rs?(?<!behaviors)(?<!behavior)|favou?rs?(?<!favors)(?<!favor)|honou?rs?(?<!honors)(?<!honor)|centres?|metres?|grey|artefacts?|analys(?:e|ed)|licences?|modell(?:ed|ing)|labell(?:ed|ing)|"
     r"cancell(?:ed|ing)|signall(?:ed|ing)|travell(?:ed|ing)|catalogues?|whilst|learnt|judgement", "American spelling", "*"),
    (rf"(?:{BRITISH})is(?:e|es|ed|ing|ation|ations|er|ers)", "American spelling: -ize", "*"),
]]

# Identifiers: consecutive words of one, as a regular expression over its words joined by spaces; replacement; files.
IDENTIFIERS = [(rf"(?<![^ ])(?:{pattern})(?![^ ])", replacement, files) for pattern, replacement, files in [
    (r"turns?", "iteration(s)", "*"),
    (r"turned|turning", "transposed", "*"),
    (r"\w+ products?|products? \w+", "dot, matmul, GEMM or MMA", "*"),  # alone it is a product of numbers
    (r"anew", "volatile", "*"),
    (r"facts?", "assumption, guard", "*"),
    (r"refut\w+", "failed guard", "*"),
    (r"careful|carefully", "fallback, slow path", "*"),
    (r"short form", "fast path", "*"),
    (r"are apart|is apart|apart", "noalias, disjoint; difference of numbers", "*"),
    (r"wideners?|widen apart", "upcast, dequantize partition", "*"),
    (r"processors?", "CPU, SM", "*"),
    (r"cards?", "GPU, device", "*"),
    (r"neighbou?rs?", "adjacent, contiguous", "src/*"),
    (r"doors?", "entry point, front end", "*"),
    (r"judg\w+|verdicts?", "verifier, checker, result", "*"),
    (r"gallery", "examples", "*"),
    (r"rehears\w+", "dry run", "*"),
    (r"roofs?", "peak, roofline", "*"),
    (r"behind|beside|in front", "after, before, next to", "*"),
    (r"deal|deals|stretch|stretches", "distribute; chunk", "src/*"),
    (r"(?<!at )(?:fewest|least|most) \w+", "min..., max...", "src/*"),
    (r"copy engine", "TMA", "*"),
    (r"read blocks", "DSMEM exchange", "*"),
    (r"split sums|part of k", "in-cluster split-K", "*"),
    (r"own columns|own rows", "uneven N split; per-warp-group epilogue store", "src/gpu/*"),
    (r"split roles", "warp specialization", "*"),
    (r"give back|gives back", "release", "src/gpu/*"),
    (r"begin meeting|meeting|meet", "barrier; split arrive/wait", "src/gpu/*"),
    (r"run ahead|start ahead|ahead", "prefetch; peeled prologue", "src/gpu/*"),
    (r"retire\w*", "drain", "src/gpu/*"),
    (r"drift\w*", "run decoupled", "src/gpu/*"),
    (r"tile loop|through tiles", "persistent loop; cross-tile prefetch", "src/gpu/*"),
    (r"alternate buffers?|transfer buffers?", "double buffering; TMA staging buffers", "*"),
    (r"keep rows", "stage rows in shared memory", "src/gpu/*"),
    (r"needless syncs?", "redundant barrier elimination", "*"),
    (r"exact every|add exactly", "promotion interval", "*"),
    (r"covering load|covering words?", "unaligned load", "*"),
    (r"picked elements?", "argmin/argmax reduction", "src/gpu/*"),
    (r"load early", "speculative load hoisting", "*"),
    (r"computed before|compute first|every value", "ptxas scheduling barrier", "src/gpu/*"),
    (r"nothing of iteration", "loop-variant zero", "*"),
    (r"first warps", "partial-M wgmma", "src/gpu/*"),
    (r"as made", "interleave stores with producers", "*"),
    (r"by seconds", "even/odd K interleave", "*"),
    (r"defer\w* sums", "hoist the cross-thread reduction", "*"),
    (r"drop wraparound", "replace modulo by mask", "*"),
    (r"fills processor|registers per processor", "limits occupancy to 1 CTA/SM; registersPerSM", "*"),
    (r"wrong in", "verify", "*"),
    (r"why no \w+", "failure reason", "*"),
    (r"put off|deferred product|what waits|multiply what is due|is due", "K-blocking", "src/cpu/*"),
    (r"kept panels?|kept headers?", "packed-panel cache", "*"),
    (r"thin product", "GEMV", "*"),
    (r"handed on|both hold|is undisturbed|comes before effects", "yielded; and; noalias with stores; dominates side effects", "*"),
    (r"in turn", "interleave unrolled bodies", "*"),
    (r"cheap tiles?", "rematerializable values", "*"),
    (r"tile registers?", "AMX tiles", "*"),
    (rf"\w*colour\w*|\w*behaviour\w*|\w*neighbour\w*|(?:{BRITISH})is(?:e|es|ed|ing|ation)", "American spelling", "*"),
]]

# Findings that are right as they are: (files, the words or the identifier, why). The words "*" are any.
ALLOWED = [
    ("python/*", "type_canonicalisation_dict", "Triton's name"),
    ("python/*", "multi_processor_count", "PyTorch's name"),
    ("examples/common.py", "multi_processor_count", "PyTorch's name"),
    ("tests/*", "multi_processor_count", "PyTorch's name"),
    ("tests/*", "max_threads_per_multi_processor", "PyTorch's name"),
    ("tests/*", "_scaled_dot_product_cudnn_attention", "PyTorch's name"),
    ("tests/gpu/device/times.py", "card", "a key of JSON"),
    ("tests/python/test_check_prose.py", "*", "the words are the test's data"),
    ("benchmarks/*", "scaled_dot_product_attention", "PyTorch's name"),
    ("tests/*", "scaled_dot_product_attention", "PyTorch's name"),
    ("tests/python/test_library_names.py", "type_canonicalisation_dict", "Triton's name"),
    ("benchmarks/bench.py", "processor", "a key of JSON"),
    ("cli/recorded.cpp", "card", "a key of JSON"),
    ("cli/recorded.h", "card", "a key of JSON"),
    ("tools/results.py", "card", "a key of JSON"),
    ("tests/python/test_performance_page.py", "card", "a key of JSON"),
    ("src/cpu/analysis.cpp", "productStep", "the stride of a product of indices"),
    ("src/gpu/tiles/axis_info.cpp", "ofProduct", "a product of indices"),
    ("src/evaluate/libdevice.py", "_of_product", "a product of numbers"),
    ("src/cpu/*", "product_of", "llvm::product_of, a product of extents"),
    ("cli/info_command.cpp", "processor", "a key of JSON"),
    ("cli/info_command.cpp", "processors", "a key of JSON"),
    ("cli/info_command.cpp", "narrow_products_used", "a key of JSON"),
]


def is_allowed(name, found):
    return any(fnmatch.fnmatch(name, files) and words.lower() in ("*", found.lower()) for files, words, _ in ALLOWED)


def words_of(identifier):
    """camelCase and snake_case, split: "NextTurnsOf" -> "next turns of"."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)).lower()


# ---- prose and code of a source file


C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|\w+', re.S)


def parts_of_c(text):
    """(kind, offset, text) of each comment, string and identifier; adjacent line comments, and adjacent strings, are one."""
    for match in C_TOKEN.finditer(text):
        token = match[0]
        if token.startswith(("//", "/*")):
            yield "comment", match.start(), token
        elif token.startswith('R"') or token[0] == '"':
            before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            yield ("include" if before.strip() == "#include" else "string"), match.start(), token
        elif token[0] != "'" and not token[0].isdigit():
            yield "identifier", match.start(), token


def parts_of_python(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.COMMENT: "comment", tokenize.STRING: "string", tokenize.NAME: "identifier"}
    kinds |= {getattr(tokenize, "FSTRING_MIDDLE", -1): "string"}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in kinds:
                yield kinds[token.type], starts[token.start[0] - 1] + token.start[1], token.string
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return


def prose_and_identifiers(path, text):
    """(prose, [(offset, identifier)]). The prose is the text with code and the marks of comments blanked out; a \1 stands where one prose ends."""
    prose, identifiers, last = [" "] * len(text), [], None
    for kind, offset, token in (parts_of_python if path.suffix in PYTHON else parts_of_c)(text):
        if kind == "identifier":
            identifiers.append((offset, token))
        if kind in ("comment", "string"):
            plain = re.sub(r"(?m)^\s*(?://+!?<?|\*+/?|/\*+|#+)|\*/$", lambda mark: " " * len(mark[0]), token) if kind == "comment" else blank(token, r'\A\w*"+|"+\Z')
            prose[offset:offset + len(token)] = plain
            between = text[last[1]:offset] if last else ""
            if last is None or last[0] != kind or between.strip() or "\n" not in between:
                prose[max(0, offset - 1)] = "\1"
        last = (kind, offset + len(token))
    return "".join(prose), identifiers


# ---- documents


def blank(text, pattern):
    """The text with all that matches replaced by as many spaces; line breaks stay."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.M | re.S)


def without_blocks(text):
    return blank(blank(text, r"^( *)(`{3,}|~{3,}).*?^\1\2`*[ \t]*$"), r"<!--.*?-->|<svg.*?</svg>|^---\n.*?^---\n(?<=\A)")


def texts(document):
    """(line, text) of each paragraph, heading, item of a list, and cell of a table."""
    current, start, after = [], 0, False
    for number, line in enumerate([*without_blocks(document).splitlines(), ""], 1):
        plain = line.strip()
        item = re.match(r"(?:[-*+]|\d+[.)]|>|!!!|\[\^\w+\]:)\s+", plain)
        row, heading = plain.startswith("|"), plain.startswith("#")
        if (not plain or item or row or heading or after) and current:
            yield start, " ".join(current)
            current = []
        if row:
            for cell in re.split(r"(?<!\\)\|", plain.strip("|")):
                yield number, cell
        elif plain:
            start = start if current else number
            current.append(plain[item.end():] if item else plain.lstrip("# "))
        after = heading or row


def sentences(text):
    text = re.sub(r"`[^`]*`(?:,? (?:and |or )?`[^`]*`)*", " code ", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\b(e\.g|i\.e|vs|cf|approx|etc|No|Fig)\.", r"\1", text)
    return re.split(r"(?<=[.!?])[\"')*_\]]*\s+(?=[A-Z0-9\"'(*_\[c])", text)


def length(sentence):
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def long_sentences(document):
    for line, text in texts(document):
        for sentence in sentences(text):
            if length(sentence) > LONGEST_SENTENCE:
                yield line, f"{length(sentence)} words -> at most {LONGEST_SENTENCE}: {' '.join(sentence.split()[:8])} ..."


# ---- the two checks


@functools.lru_cache(None)
def identifier_findings(identifier, name):
    words = words_of(identifier)
    return [replacement for pattern, replacement, files in IDENTIFIERS if fnmatch.fnmatch(name, files) and re.search(pattern, words)]


def prose_findings(prose, name):
    """(offset, words, replacement) of each house word. A match may run across the end of a line."""
    flat = re.sub(r"\s{2,}", lambda spaces: " " + "\0" * (len(spaces[0]) - 1), prose)
    kept = [index for index, letter in enumerate(flat) if letter != "\0"]
    flat = flat.replace("\0", "").replace("\n", " ")
    covered = set()
    for pattern, replacement, files in PROSE:
        if fnmatch.fnmatch(name, files):
            for match in re.finditer(pattern, flat, re.I):
                if covered.isdisjoint(range(*match.span())):  # one finding for words that two rules have
                    covered.update(range(*match.span()))
                    yield kept[match.start()], match[0], replacement


def house_words(path, name, text):
    """(line, words, replacement) of each listed word of a file."""
    if path.suffix in TEXT:
        prose, identifiers = (blank(without_blocks(text), r"`[^`]*`|\]\([^)]*\)") if path.suffix == ".md" else text), []
    else:
        prose, identifiers = prose_and_identifiers(path, text)
        identifiers += [(match.start(), match[0]) for match in re.finditer(r"\b\w*(?:_|[a-z][A-Z])\w*\b", prose)]
    found = {(offset, words, replacement) for offset, words, replacement in prose_findings(prose, name) if not is_allowed(name, words)}
    folder = name if "/" not in name else "/".join(name.split("/")[:2]) + "/"
    for offset, identifier in identifiers:
        found |= {(offset, identifier, replacement) for replacement in identifier_findings(identifier, folder) if not is_allowed(name, identifier)}
    return [(text.count("\n", 0, offset) + 1, words, replacement) for offset, words, replacement in sorted(found)]


def files_of(paths):
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix in C_LIKE | PYTHON | TEXT and "journal" not in file.parts and file.resolve() != pathlib.Path(__file__).resolve():
                yield file


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--words-only", action="store_true")
    only.add_argument("--sentences-only", action="store_true")
    given = parser.parse_args(arguments)
    count = 0
    for path in files_of(given.paths or [ROOT / name for name in DEFAULT]):
        name = path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else path.as_posix()
        text, found = path.read_text(encoding="utf-8", errors="replace"), []
        if not given.sentences_only and not path.name.endswith(".zh.md"):
            found += [(line, f"{words} -> {replacement}") for line, words, replacement in house_words(path, name, text)]
        if not given.words_only and path.suffix == ".md" and not path.name.endswith(".zh.md"):
            found += long_sentences(text)
        for line, message in sorted(found):
            print(f"{name}:{line}: {message}")
        count += len(found)
    print(f"{count} findings" if count != 1 else "1 finding")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
