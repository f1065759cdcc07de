"""Prepares the pages of the site: those of docs/, and the reference, which is generated from the tables of the compiler.

    tools/site.py --build build          writes build/pages, of which mkdocs makes build/site (`make docs` does both)
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
NOTE = "*Generated from the compiler's own tables.*"


def call(build, *words):
    return subprocess.run([build / "bin" / "tilewright", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


# ---- the language


def split_examples(text):
    """(text, examples): the examples stand behind the text."""
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
    """A page of those functions that `rows` has: path -> (signature, summary, reference)."""
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
    examples = ("Below an expression of an example stands its value. All examples run in the project's tests, on the interpreter, on compiled code and "
                "on simulated GPU code.")
    yield "language.md", function_page(
        "The language", "The functions of `triton.language` that the compiler knows. `tl.math` has the mathematical ones under the same names. "
        "What is written in the language itself is on the page [Library](library.md). " + examples, rows)
    yield "library.md", function_page(
        "The library", "The functions of `triton.language` that are written in the language itself (`src/evaluate/prelude.py`) and compiled "
        "with the kernels that call them. " + examples, library)
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
             "`from triton.language.extra import libdevice`, then `libdevice.tanh(x)` in a kernel. They are there on CPUs as well, in `fp32` and",
             "`fp64` as far as upstream has both; [Accuracy of libdevice](../libdevice.md) says how exact they are. What stands here as x, y, z are the",
             "arguments in their order, and `_rd`, `_rn`, `_ru`, `_rz` name the rounding: down, to nearest, up, towards zero.", "", "| function | of | what it does |", "| --- | --- | --- |"]
    by_text = collections.OrderedDict()
    for path, (signature, summary, _) in rows.items():
        if path.startswith("extra.libdevice."):
            by_text.setdefault((", ".join(types[signature.partition("(")[0]]), summary), []).append(signature)
    lines += [f"| {', '.join(f'`{signature}`' for signature in signatures)} | {of} | {summary} |"
              for (of, summary), signatures in sorted(by_text.items(), key=lambda item: item[1])]
    return "\n".join(lines) + "\n"


def diagnostics_page(rows):
    lines = ["# Diagnostics", "", NOTE, "",
             "Every message, by the name under which `tilewright explain NAME` knows it. Numbers in braces stand for what a message names: types, shapes,",
             "parameters. A message comes with file, line, column and a caret.", "", "| name | message | what to do |", "| --- | --- | --- |"]
    escape = lambda text: text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("`", "\\`")
    return "\n".join(lines + [f"| `{row['name']}` | {escape(row['text'])} | {escape(row['help'])} |" for row in rows]) + "\n"


# ---- everything else


def commands_page(build):
    names = [name for name in call(build, "completion", "words").split() if name not in ("--help", "opt")]
    lines = ["# Commands", "", NOTE, "", "`tilewright` needs no Python, but for `verify`, `bench` and `profile`, which run yours. Its manual page is `tilewright man`.", "",
             "```text", call(build, "--help").strip(), "```", ""]
    for name in names:
        lines += [f"## {name}", "", "```text", call(build, name, "--help").strip(), "```", ""]
    return "\n".join(lines)


def settings_page():
    rows = re.findall(r'^SETTING\((\w+), "([^"]*)", "([^"]*)"\)', (ROOT / "src/support/settings.def").read_text(), re.M)
    lines = ["# Settings", "", NOTE, "", "Variables of the environment; `tilewright info` shows their values. The first value is the default.", "",
             "| variable | values | meaning |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| `{name}` | {values.replace('|', chr(92) + '|')} | {meaning} |" for name, values, meaning in rows]) + "\n"


def cpp_page():
    lines = ["# C and C++", "", "Three headers and one library, `libtilewright`. [Embed in C++](../howto/embed.md) shows a program. What follows are the headers themselves.", ""]
    for name, language in (("tilewright.h", "cpp"), ("author.h", "cpp"), ("c.h", "c")):
        lines += [f"## tilewright/{name}", "", f"```{language}", (ROOT / "include/tilewright" / name).read_text().strip(), "```", ""]
    return "\n".join(lines)


def prepare(build, pages):
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.txt"))
    for translation in pages.rglob("*.zh.md"):
        translation.write_text(BREAK.sub(r"\1", translation.read_text()))
    (pages / "reference").mkdir()
    for name, text in [*language_pages(build), ("commands.md", commands_page(build)), ("settings.md", settings_page()), ("cpp.md", cpp_page())]:
        (pages / "reference" / name).write_text(text)


def share():
    """Translations have the code of their page; only what stands between the blocks is theirs."""
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
    given = parser.parse_args()
    share() if given.share else prepare(given.build, given.build / "pages")


if __name__ == "__main__":
    main()
