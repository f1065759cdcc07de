"""tools/check_prose.py finds house words and long sentences, and nothing in code."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_prose.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="needs the source tree")
LONG = "The compiler " + "very " * 40 + "often stops."


def check(path, text, *options):
    """(exit status, lines) of the tool over one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = subprocess.run([sys.executable, str(TOOL), str(path), *options], capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def words(lines, path):
    """(line, word) of each finding."""
    found = [line.removeprefix(f"{path}:").split(": ", 1) for line in lines[:-1]]
    return [(int(number), word.split(" -> ")[0]) for number, word in found]


def test_words_of_a_comment_a_string_and_an_identifier(tmp_path):
    path = tmp_path / "a.cpp"
    status, lines = check(path, '#include "card/door.h"\n// The widener runs\n// in front\n// of it.\nint nextTurn(int cards);\nauto text = "it is a verdict";\n')
    assert status == 1 and lines[-1] == "5 findings"
    assert words(lines, path) == [(2, "widener"), (3, "in front of"), (5, "cards"), (5, "nextTurn"), (6, "verdict")]
    assert lines[0].endswith("widener -> upcast or dequantize partition")


def test_words_of_python(tmp_path):
    path = tmp_path / "a.py"
    status, lines = check(path, 'def rehearse(x):\n    """The last turn."""\n    return f"the card {x}"  # behind it\n')
    assert status == 1 and words(lines, path) == [(1, "rehearse"), (2, "last turn"), (3, "behind"), (3, "card")]


@pytest.mark.parametrize("text", ["The three handlers run in turn.", "A wildcard turns the switch on; that turns tiles into rows.", "The product of both strides is a multiple of 8.",
                                  "There is no bound for it, and the value is no longer needed.", "The discarded cardinality and the artifact, in fact.", "At most one at least."])
def test_ordinary_words_pass(tmp_path, text):
    assert check(tmp_path / "a.h", f"// {text}\nint returned(int factor, int cardinal, int replaced);\n") == (0, ["0 findings"])
    assert check(tmp_path / "a.md", text + "\n") == (0, ["0 findings"])


def test_a_long_sentence(tmp_path):
    path = tmp_path / "a.md"
    status, lines = check(path, f"# Title\n\nShort. Short again.\n\n{LONG} Short.\n\n| a | b |\n| --- | --- |\n| short | {LONG} |\n")
    assert status == 1 and lines[-1] == "2 findings" and [line for line, _ in words(lines, path)] == [5, 9]
    assert lines[0].endswith("44 words -> at most 35: The compiler very very very very very very ...")


def test_a_sentence_does_not_cross_items(tmp_path):
    half = "word " * 20
    assert check(tmp_path / "a.md", f"- {half}\n- {half}\n1. {half}\n2. {half}\n\n| {half} | {half} |\n\n{half}\n\n{half}\n")[0] == 0


def test_code_of_documents_passes(tmp_path):
    text = f"A call of `behind(card)`.\n\n```python\n# behind the card\n{LONG}\n```\n\n1. Item:\n\n   ```sh\n   card {LONG}\n   ```\n"
    assert check(tmp_path / "a.md", text) == (0, ["0 findings"])
    assert check(tmp_path / "b.md", "`" + "long " * 50 + "code` counts as one word.\n") == (0, ["0 findings"])


def test_options(tmp_path):
    path = tmp_path / "a.md"
    text = f"A card.\n\n{LONG}\n"
    assert words(check(path, text, "--words-only")[1], path) == [(1, "card")]
    assert [line for line, _ in words(check(path, text, "--sentences-only")[1], path)] == [3]


def test_the_journal_and_translations_are_excluded(tmp_path):
    assert check(tmp_path / "docs/journal/a.md", f"Behind. {LONG}\n")[0] == 0
    assert check(tmp_path / "a.zh.md", f"Behind. {LONG}\n")[0] == 0
