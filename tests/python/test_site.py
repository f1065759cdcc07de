"""Checks of the site without building it: links, anchors, the navigation, translations, and that it loads nothing from the network."""

import importlib.util
import pathlib
import re

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
WORDS = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)  # blocks of code, and code in the text
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("site_tool", ROOT / "tools" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "pages"
    site.prepare(pathlib.Path(tilewright.__file__).absolute().parents[2], folder)
    return {path.relative_to(folder).as_posix(): path.read_text() if path.suffix == ".md" else "" for path in folder.rglob("*") if path.is_file()}


def anchors(text):
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def target(page, link):
    """(page, anchor) to which a link leads."""
    path, _, anchor = link.partition("#")
    parts = [] if not path else page.split("/")[:-1]
    for part in path.split("/"):
        parts = parts[:-1] if part == ".." else parts + [part] if part else parts
    return "/".join(parts) if path else page, anchor


def test_links_lead_somewhere(pages):
    seen = 0
    for page, text in pages.items():
        for link in LINK.findall(WORDS.sub("", text)):
            if re.match(r"\w+:", link):
                continue
            there, anchor = target(page, link)
            assert there in pages, f"{page}: {link}"
            assert not anchor or anchor in anchors(pages[there]), f"{page}: {link}"
            seen += 1
    assert seen > 100


def test_every_page_is_in_the_navigation(pages):
    listed = re.findall(r"^ +- (?:.+): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == {page for page in pages if page.endswith(".md") and not page.endswith(".zh.md") and not page.startswith("journal/")}


def test_pages_come_in_pairs(pages):
    """The site's own pages have a translation with the same code, the same links and as many headings, also in the navigation."""
    own = [page for page in pages if page.split("/")[0] in ("tutorial", "howto", "explanation", "index.md") and not page.endswith(".zh.md")]
    assert len(own) > 10
    for page in own:
        text, translation = pages[page], pages[page.replace(".md", ".zh.md")]
        assert CODE.findall(text) == CODE.findall(translation), f"{page}: run tools/site.py --share"
        plain, other = CODE.sub("", text), CODE.sub("", translation)
        assert [link.partition("#")[0] for link in LINK.findall(WORDS.sub("", text))] == [
            link.partition("#")[0] for link in LINK.findall(WORDS.sub("", translation))], page
        assert [len(level) for level in re.findall(r"^(#+) ", plain, re.M)] == [len(level) for level in re.findall(r"^(#+) ", other, re.M)], page
        assert len(re.findall(r"[\u4e00-\u9fff]", other)) > len(plain) / 8, page
    config = (ROOT / "mkdocs.yml").read_text()
    names = re.findall(r"^ +- ([^:\n]+):", config[config.index("\nnav:"):config.index("\nmarkdown_extensions:")], re.M)
    translated = re.findall(r"^            ([^:]+): .", config, re.M)
    generated = {"Language", "Library", "libdevice", "Beyond Triton", "Accuracy of libdevice", "Python interface", "C and C++", "Commands", "Settings",
                 "Diagnostics", "Architecture", "Performance", "Invariants", "Heuristics", "Glossary", "Recipes", "Conformance",
                 "Third-party libraries", "Front end", "Tile IR", "CPU", "GEMM on CPUs", "Memory model", "GPU tiles", "GPU schedule", "GPU partitions", "GPU MMA partitions", "GPU threads",
                 "Code generation", "Launch", "Tuning", "Ahead of time", "Model of an SM", "GPU shared memory", "Blackwell", "Block scales", "Pairs of CTAs", "Launch control", "Rules of the simulator", "Kernels in C++"}  # pages in English
    assert set(names) - generated == set(translated)


def test_the_reference_is_whole(pages):
    for path, page in (("tl.load(pointer, mask=None", "language"), ("tl.softmax(x, dim=None", "library"), ("`tanh(arg0)`", "libdevice"),
                       ("--roofline FILE.svg", "commands"), ("`TILEWRIGHT_TUNED`", "settings"), ("`dotShapes`", "diagnostics"), ("twLaunch", "cpp")):
        assert path in pages[f"reference/{page}.md"]


def test_the_reference_has_every_function_of_the_headers(pages):
    found = set()
    for header in (ROOT / "include" / "tilewright").glob("*.h"):
        found |= set(re.findall(r"^TW_API [^;]*?\b(tw[A-Z]\w+)\(", header.read_text(), re.M))
    titles = set(re.findall(r"`(tw[A-Z]\w+)`", "".join(line for line in pages["reference/cpp.md"].splitlines() if line.startswith("### "))))
    assert len(found) > 90 and found == titles


def test_the_committed_reference_is_current(site):
    """docs/reference has what the compiler's tables give, and nothing else."""
    folder = ROOT / "docs" / "reference"
    generated = dict(site.reference(pathlib.Path(tilewright.__file__).absolute().parents[2]))
    assert sorted(path.name for path in folder.iterdir()) == sorted(generated)
    assert [name for name, text in generated.items() if (folder / name).read_text() != text] == [], "run tools/site.py --reference"


def test_nothing_comes_from_the_network(pages):
    config = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in config and "polyfills: [assets/iframe-worker.js]" in config and "http" not in config
    for page, text in pages.items():
        assert not re.search(r"!\[[^\]]*\]\(http|<(?:script|img|link|iframe)", CODE.sub("", text)), page


HEADERS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "include" / "tilewright").rglob("*.h"))
DECLARATION = re.compile(r"(TW_API|typedef|template|inline|class|struct|constexpr|using|auto|enum) ")
FORWARD = re.compile(r"(template <[^>]*> )?(class|struct) \w+;$")


def undocumented(text):
    """The first lines of declarations without a comment. One comment stands for a group without empty lines, but a struct after a function has its own."""
    text = re.sub(r"(?ms)^namespace detail \{.*?^\} // namespace detail$|^namespace detail \{\n.*?^\}$", "", text)
    for group in re.split(r"\n\s*\n", text):
        if re.search(r"^inline .* Kernel::", group, re.M):  # a member, which its class declares
            continue
        commented = after_function = False
        for line in group.split("\n"):
            is_comment = line.startswith(("//", "/*", " *"))
            commented = commented or "//" in line or "/*" in line
            after_function = not is_comment and (after_function or line == "}" or line.endswith(");"))
            if not DECLARATION.match(line) or FORWARD.match(line):
                continue
            is_struct = re.match(r"(template <.*> )?(class|struct) ", line) and line.endswith("{")
            if not commented or (is_struct and after_function):
                yield line


@pytest.mark.parametrize("header", HEADERS)
def test_each_public_declaration_has_a_comment(header):
    """The reference shows the comments, with shapes, units and errors."""
    assert list(undocumented((ROOT / header).read_text())) == []


def test_a_declaration_without_a_comment_is_found():
    text = "/// Adds.\nint add(int);\n\nstruct Options {\n  int x;\n};\n/// One, two.\nstruct One {\n};\nstruct Two {\n};\ninline int sum() {\n}\nstruct Three {\n};\n"
    assert list(undocumented(text)) == ["struct Options {", "struct Three {"]
