"""Prepares the pages of the site, and generates the reference from the tables of the compiler.

    tools/site.py --reference            writes docs/reference, which is committed; a test compares it with the tables
    tools/site.py --build build          writes build/pages, the input of mkdocs for build/site (`make docs` does both)
    tools/site.py --share                copies the code of each page into its translation

The sources of the reference: src/evaluate/reference/*.txt by way of `tilewright explain --json`, the help of each command,
src/support/settings.def and src/support/diagnostics.def, and the public headers.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
BREAK = re.compile(r"([\u3000-\u9fff\uff00-\uffef])\n *(?=[\u3000-\u9fff\uff00-\uffef])")  # between Chinese characters: no space
NOTE = "*Generated from the compiler's tables by `tools/site.py --reference`.*"


def call(build, *words):
    return subprocess.run([build / "bin" / "tilewright", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


# ---- the language


def split_examples(text):
    """(text, examples): the examples follow the text."""
    before, prompt, after = text.partition("\n>>>")
    return before.strip(), (prompt + after).strip()


def groups():
    """(heading, names of an entry) in the order of the reference's files."""
    for path in sorted((ROOT / "src" / "evaluate" / "reference").glob("[0-9]_*.txt")):
        heading = ""
        for line in path.read_text().splitlines():
            if line.startswith("## "):
                yield heading, line[3:].split()
            elif line.startswith("# "):
                heading = line[2:]


def function_page(title, intro, rows):
    """A page of the functions in `rows`: path -> (signature, summary, reference)."""
    lines, last = [f"# {title}", "", NOTE, "", intro, ""], None
    for heading, names in groups():
        here = [name for name in names if name in rows]
        if not here:
            continue
        if heading != last:
            lines += [f"## {heading}", ""]
            last = heading
        lines += [f"### {', '.join(here)}", "", "```python", *[f"tl.{name.rpartition('.')[0]}{'.' if '.' in name else ''}{rows[name][0]}" for name in here], "```", ""]
        text, examples = split_examples(rows[here[0]][2])
        text = re.sub(r"^- ([\w, ]+): ", lambda match: f"- {', '.join(f'`{name}`' for name in match[1].split(', '))}: ", text, flags=re.M)
        lines += [text, ""] + (["```pycon", examples, "```", ""] if examples else [])
    return "\n".join(lines) + "\n"


def language_pages(build):
    known = json.loads(call(build, "explain", "--json"))
    rows = {row["name"]: (row["signature"], row["text"], row.get("reference", "")) for row in known if row["kind"] == "builtin"}
    library = {row["name"]: (row["signature"], row["text"], row.get("reference", "")) for row in known if row["kind"] == "function"}
    examples = ("The line below an expression is its value. The project's tests run all examples on the interpreter, on compiled code and on simulated GPU "
                "code.")
    yield "language.md", function_page(
        "The language", "The builtin functions of `triton.language`. `tl.math` has the mathematical functions under the same names. Functions that are "
        "written in the language itself are on the page [Library](library.md). " + examples, rows)
    yield "library.md", function_page(
        "The library", "The functions of `triton.language` that are written in the language itself (`src/evaluate/prelude.py`). They are compiled with the "
        "kernels that call them. " + examples, library)
    yield "libdevice.md", libdevice_page(rows)
    yield "diagnostics.md", diagnostics_page([row for row in known if row["kind"] == "diagnostic"])


def libdevice_types():
    """Function -> the types of its parameters, one text for each overload."""
    words = {"f": "fp32", "d": "fp64", "i": "int32", "l": "int64", "u": "uint32", "v": "uint64"}
    found = collections.defaultdict(list)
    for name, parameters in re.findall(r'^LIBDEVICE\("(\w+)", "\w", "(\w+)"', (ROOT / "src/evaluate/libdevice.def").read_text(), re.M):
        found[name].append(words[parameters[0]] if len(set(parameters)) == 1 else f"({', '.join(words[letter] for letter in parameters)})")
    return found


def libdevice_page(rows):
    types = libdevice_types()
    lines = ["# Functions of libdevice", "", NOTE, "",
             "`from triton.language.extra import libdevice`, then `libdevice.tanh(x)` in a kernel. The functions exist on CPUs too, with the types of Triton.",
             "[Accuracy of libdevice](../libdevice.md) has their errors. x, y, z are the arguments in order. The suffixes `_rd`, `_rn`, `_ru`, `_rz` are the",
             "rounding modes: down, to nearest, up, towards zero.", "", "| function | types | result |", "| --- | --- | --- |"]
    by_text = collections.OrderedDict()
    for path, (signature, summary, _) in rows.items():
        if path.startswith("extra.libdevice."):
            by_text.setdefault((", ".join(types[signature.partition("(")[0]]), summary), []).append(signature)
    lines += [f"| {', '.join(f'`{signature}`' for signature in signatures)} | {of} | {summary} |"
              for (of, summary), signatures in sorted(by_text.items(), key=lambda item: item[1])]
    return "\n".join(lines) + "\n"


def diagnostics_page(rows):
    lines = ["# Diagnostics", "", NOTE, "",
             "Every message, with its name for `tilewright explain NAME`. Numbers in braces are placeholders for types, shapes, parameters and other values. A",
             "message has a file, a line, a column and a caret.", "", "| name | message | remedy |", "| --- | --- | --- |"]
    escape = lambda text: text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("`", "\\`")
    return "\n".join(lines + [f"| `{row['name']}` | {escape(row['text'])} | {escape(row['help'])} |" for row in rows]) + "\n"


# ---- everything else


def commands_page(build):
    names = [name for name in call(build, "completion", "words").split() if name not in ("--help", "opt")]
    lines = ["# Commands", "", NOTE, "", "`tilewright` needs no Python, except for `verify`, `bench` and `profile`, which run your Python files. `tilewright man` is its manual page.", "",
             "```text", call(build, "--help").strip(), "```", ""]
    for name in names:
        lines += [f"## {name}", "", "```text", call(build, name, "--help").strip(), "```", ""]
    return "\n".join(lines)


def settings_page():
    rows = re.findall(r'^SETTING\((\w+), "([^"]*)", "([^"]*)"\)', (ROOT / "src/support/settings.def").read_text(), re.M)
    lines = ["# Settings", "", NOTE, "", "Environment variables. `tilewright info` prints their values. The first value is the default.", "",
             "| variable | values | meaning |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| `{name}` | {values.replace('|', chr(92) + '|')} | {meaning} |" for name, values, meaning in rows]) + "\n"


# ---- the headers

HEADERS = (("tilewright.h", "cpp"), ("embed.h", "cpp"), ("author.h", "cpp"), ("c.h", "c"), ("error.h", "c"), ("runtime.h", "c"), ("builder.h", "c"))
NOT_DECLARED = re.compile(r"^(#|namespace [\w:]* ?\{$|\} // namespace|extern \"C\"|\}$|class \w+;$|inline Result<Measurement> Kernel::)")


def prose(comment):
    """The text of a comment: paragraphs, and examples as code."""
    lines = [re.sub(r"^(/\*+ ?|/// ?|// ?| \*/? ?)", "", line).removesuffix("*/").rstrip() for line in comment]
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(f"```cpp\n{text}\n```" if text.startswith("  ") else text for text in paragraphs)


def blocks(text):
    """(comment, code) of each declaration outside of a header's own parts."""
    text = re.sub(r"^namespace detail \{.*?^\} // namespace detail$", "", text, flags=re.M | re.S)
    comment, code, depth, inComment = [], [], 0, False
    for line in [*text.splitlines(), ""]:
        if depth == 0 and not code and (inComment or line.startswith(("/*", "//"))):
            inComment = line.startswith("/*") and "*/" not in line or inComment and "*/" not in line
            comment.append(line)
        elif depth == 0 and (not line or NOT_DECLARED.match(line) or code and line.startswith(("/*", "//"))):
            if code or comment:
                yield comment, code
            comment, code = [line] if line.startswith(("/*", "//")) else [], []
            inComment = line.startswith("/*") and "*/" not in line
        else:
            code.append(line)
            depth += line.count("{") - line.count("}")


def public(code):
    """A class without its private part."""
    return re.sub(r"\n\nprivate:\n.*?(?=\n\};)", "", "\n".join(code), flags=re.S)


def names_of(code):
    return re.findall(r"^(?:TW_API [\w *]*?\*?(tw\w+)\(|\} (Tw\w+);|typedef enum (\w+)|(?:template <[^>]*> )?(?:class|struct)(?: \[\[nodiscard\]\])? (\w+)|inline [\w<>: ]+ (\w+)\()", code, re.M)


def cpp_page():
    lines = ["# C and C++", "", "Two libraries: `libtilewright`, the compiler and its runtime ([Embed in C++](../howto/embed.md)), and `libtilewright_rt`, which launches kernels that were built",
             "ahead of time ([Ship](../howto/ship.md), `tilewright/runtime.h`).", "", NOTE.replace("tables", "headers"), ""]
    for name, language in HEADERS:
        lines += [f"## tilewright/{name}", ""]
        for comment, code in blocks((ROOT / "include/tilewright" / name).read_text()):
            shown = public(code)
            titles = sorted({part for found in names_of(shown) for part in found if part})
            if titles:
                lines += ["### " + ", ".join(f"`{title}`" for title in titles), ""]
            if comment:
                lines += [prose(comment), ""]
            if shown.strip():
                lines += [f"```{language}", shown, "```", ""]
    return "\n".join(lines)


def public_declarations(text):
    """The comment and declaration of each documented name of a header, in order, without the namespaces of details."""
    text = re.sub(r"(?ms)^namespace detail \{.*?^\} // namespace detail$|^namespace detail \{\n.*?^\}$", "", text)
    found = re.findall(r"(?m)((?:^///.*\n)+)((?:^(?!///).+\n)+)", text)
    for comment, code in found:
        lines = []
        for line in code.splitlines():
            body = re.search(r" \{[^{}]*$|(?<=\)) \{.*\}$", line)
            lines.append(line[:body.start()] if body and line.endswith(("{", "}")) else line)
            if line.endswith(("{", ";", "}")):
                break
        yield comment + "\n".join(lines)


def cpp_language_page():
    lines = ["# Kernels in C++", "", NOTE, "",
             "The declarations of `tilewright/language.h`. [Write kernels in C++](../howto/cpp_kernels.md) shows programs. A function has the meaning of the",
             "[function of the tile language](language.md) with its name. The last parameter, `where`, is the line of the caller, and is never given.", ""]
    folder = ROOT / "include/tilewright/language"
    for name in re.findall(r'#include "tilewright/language/(\w+\.h)"', (ROOT / "include/tilewright/language.h").read_text()) + ["tile.h", "libdevice.h"]:
        text = (folder / name).read_text()
        title = re.match(r"// (.*)", text).group(1)
        lines += [f"## tilewright/language/{name}", "", title, ""]
        lines += ["```cpp", "\n\n".join(public_declarations(text)), "```", ""]
    return "\n".join(lines)


def reference(build):
    """(name, text) of each page of the reference."""
    yield from language_pages(build)
    yield from (("commands.md", commands_page(build)), ("settings.md", settings_page()), ("cpp.md", cpp_page()),
                ("cpp_language.md", cpp_language_page()))


def write_reference(build, folder):
    folder.mkdir(exist_ok=True)
    for name, text in reference(build):
        (folder / name).write_text(text)


def prepare(build, pages):
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.txt"))
    for translation in pages.rglob("*.zh.md"):
        translation.write_text(BREAK.sub(r"\1", translation.read_text()))
    write_reference(build, pages / "reference")


def share():
    """Copies the code of each page into its translation, which keeps its own text between the blocks."""
    for translation in sorted(DOCS.rglob("*.zh.md")):
        blocks = CODE.findall(translation.with_name(translation.name.replace(".zh.md", ".md")).read_text())
        text = translation.read_text()
        if len(CODE.findall(text)) != len(blocks):
            raise SystemExit(f"{translation}: {len(CODE.findall(text))} blocks of code, and its page has {len(blocks)}")
        remaining = iter(blocks)
        translation.write_text(CODE.sub(lambda _: next(remaining), text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--share", action="store_true")
    parser.add_argument("--reference", action="store_true")
    given = parser.parse_args()
    if given.share:
        share()
    elif given.reference:
        write_reference(given.build, DOCS / "reference")
    else:
        prepare(given.build, given.build / "pages")


if __name__ == "__main__":
    main()
