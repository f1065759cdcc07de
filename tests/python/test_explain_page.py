"""`tilewright explain --html`: one file that needs nothing else, whose script works in a browser."""

import json
import pathlib
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
COMMAND = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
from example_kernels import KERNELS  # noqa: E402

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not next to this package, which is not in a build folder")
MATMUL = ROOT / "examples" / "03_matmul_basic.py"
SIGNATURE = ("a_ptr=*fp16:16, b_ptr=*fp16:16, c_ptr=*fp32:16, M=i32, N=i32:16, K=i32, stride_am=i32:16, stride_ak=1, stride_bk=i32:16, "
             "stride_bn=1, stride_cm=i32:16, stride_cn=1, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64")


def line_of(text):
    return 1 + [text in line for line in MATMUL.read_text().splitlines()].index(True)


def made_page(folder, target):
    page = folder / "page.html"
    subprocess.run([COMMAND, "explain", f"{MATMUL}:matmul_kernel", "--target", target, "--signature", SIGNATURE, "--num-warps", "8",
                    "--num-stages", "4", "--html", page], check=True)
    return page


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.outside, self.data, self.is_data = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.outside += [value for name, value in attributes.items() if name in ("src", "href", "srcset", "action")]
        self.is_data = tag == "script" and attributes.get("id") == "data"

    def handle_data(self, data):
        if self.is_data:
            self.data += data

    def handle_endtag(self, tag):
        self.is_data = False


@pytest.mark.parametrize("target", ["cpu:avx2", "cuda:sm_90a"])
def test_a_page_holds_all_that_it_shows(target, tmp_path):
    text = made_page(tmp_path, target).read_text()
    page = _Page(text)
    assert page.outside == [] and "@import" not in text and "url(" not in text
    data = json.loads(page.data)
    assert data["kernel"] == "matmul_kernel" and data["target"] == target
    assert data["source"]["text"] == MATMUL.read_text().rstrip().split("\n")
    dot = line_of("tl.dot(a, b)")
    linked = {stage["name"]: [text for text, line in zip(stage["text"], stage["lines"]) if line == dot] for stage in data["stages"]}
    assert any("tt.dot" in text for text in linked["emit-tiles"])
    code = linked["generate-ptx" if "cuda" in target else "generate-code"]
    assert any(("wgmma.mma_async" if "cuda" in target else "vfmadd") in text for text in code)
    assert not any(text.lstrip().startswith((".loc", ".file")) for stage in data["stages"] for text in stage["text"])
    products = next(section for section in data["sections"] if section["title"] == "Dots")
    assert [remark["line"] for remark in products["remarks"]] == [dot]


def test_a_page_of_a_gpu_has_layouts_and_a_timeline(tmp_path):
    data = json.loads(_Page(made_page(tmp_path, "cuda:sm_90a").read_text()).data)
    accumulator = next(layout for layout in data["layouts"] if "accumulator of wgmma" in layout["text"])
    rows, columns, owners = accumulator["rows"], accumulator["columns"], accumulator["owners"]
    assert len(owners) == rows * columns == 64 * 64
    # m64n128: a warp has sixteen rows, a group of four lanes every eighth of them, a lane two adjacent elements.
    for row in range(rows):
        for column in range(columns):
            warp, lane, element = owners[row * columns + column]
            assert (warp, lane) == (row // 16, row % 8 * 4 + column % 8 // 2)
            assert element == column // 8 * 4 + row % 16 // 8 * 2 + column % 2
    (timeline,) = data["timelines"]
    assert timeline["stages"] == 4 and timeline["line"] == line_of("for k in range")
    assert [(event["worker"], event["line"], event["prefetch_distance"]) for event in timeline["events"]] == [
        ("dots", line_of("tl.dot(a, b)"), 0), ("copies", line_of("a = tl.load"), 3), ("copies", line_of("b = tl.load"), 3)]


def test_a_timeline_shows_work_of_other_iterations(tmp_path):
    from example_kernels import ATTENTION
    page, source = tmp_path / "page.html", ROOT / "examples" / "07_attention.py"
    subprocess.run([COMMAND, "explain", f"{source}:attention_kernel", "--target", "cuda:sm_90a", "--num-warps", "8", "--html", page, "--signature",
                    f"{ATTENTION},HEAD_DIM=128,CAUSAL=False,BLOCK_M=128,BLOCK_N=128"], check=True)
    timelines = json.loads(_Page(page.read_text()).data)["timelines"]
    scores, sums = (1 + [text in line for line in source.read_text().splitlines()].index(True) for text in ("tl.dot(q, k)", "acc = tl.dot(weights"))
    for timeline in timelines:
        ahead = {event["line"]: event["prefetch_distance"] for event in timeline["events"] if event["worker"] == "dots"}
        assert ahead == {scores: 1, sums: 0}  # the next scores start before these weights are multiplied
        assert [event["prefetch_distance"] for event in timeline["events"] if event["worker"] == "producer warp"] == [3, 3]


def test_copies_of_one_loop_have_the_distances_of_its_schedule():
    """Threads read one operand from its stage before the barrier of an iteration, the MMA reads the other one after it: four and three iterations."""
    source = ROOT / "tests" / "gpu" / "scales_by_words.py"
    done = subprocess.run([COMMAND, "explain", f"{source}:scaled", "--target", "cuda:sm_90a", "--num-warps", "8", "--num-stages", "4", "--json", "--signature",
                           "a=*u8:16,s=*u8:16,b=*bf16:16,out=*fp32:16,K=i32:16,stride=i32:16"], capture_output=True, text=True, check=True)
    (timeline,) = json.loads(done.stdout)["timelines"]
    text = source.read_text().splitlines()
    copies = {text[event["line"] - 1].split()[0]: event["prefetch_distance"] for event in timeline["events"] if event["worker"] == "copies"}
    assert timeline["stages"] == 4 and copies == {"x": 4, "y": 3}


def test_spilled_registers_are_told_by_line():
    done = subprocess.run([COMMAND, "explain", f"{ROOT}/tests/cli/Inputs/slow.py:long_row", "--target", "cuda:sm_80", "--num-warps", "1", "--json",
                           "--signature", "*fp32:16, *fp32:16, 16384"], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    spilled = [remark["text"] for section in said["sections"] if section["title"].startswith("Spilled registers") for remark in section["remarks"]]
    if shutil.which("ptxas"):  # only ptxas knows
        assert "bytes spilled" in " ".join(said["resources"]) and "load: 512 registers a thread for 16384" in spilled
    else:
        assert spilled == []


@pytest.mark.parametrize("target", ["cpu:avx512", "cuda:sm_90a"])
def test_every_example_kernel_is_explained(target):
    for example, kernel, signature, warps, stages in KERNELS:
        done = subprocess.run([COMMAND, "explain", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--signature", signature, "--target",
                               target, "--num-warps", str(warps), "--num-stages", str(stages), "--json"], capture_output=True, text=True)
        if "out of resource" in done.stderr:
            continue  # tuners also skip it
        assert done.returncode == 0, (example, kernel, done.stderr)
        said = json.loads(done.stdout)
        titles = {section["title"] for section in said["sections"]}
        text = subprocess.run([COMMAND, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--signature", signature, "--emit", "tt"],
                              capture_output=True, text=True, check=True).stdout
        assert "Memory" in titles and ("Dots" in titles) == ("tt.dot" in text), (kernel, titles)
        for section in said["sections"]:
            assert all(remark["text"] and remark.get("line", 1) > 0 for remark in section["remarks"])


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("neither chromium nor google-chrome is here (tools/setup.sh --browser)")

    def document(page, fragment):
        """The document in the browser after the page's script has run."""
        profile = tmp_path_factory.mktemp("profile")
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom",
                               "--virtual-time-budget=5000", f"{page.as_uri()}#{fragment}"], capture_output=True, text=True, timeout=120)
        return done.stdout.split("</script>", 2)[0].split('<script type="application/json"')[0]
    return document


def test_a_browser_shows_a_line_in_every_stage(browse, tmp_path):
    page, dot = made_page(tmp_path, "cuda:sm_90a"), line_of("tl.dot(a, b)")
    shown = browse(page, f"stages&{dot}")
    assert f"Line {dot} in every stage" in shown and "wgmma.mma_async" in shown and "ttg.mma_async" in shown
    assert f'class="line linked pinned lit" data-line="{dot}"' in shown
    assert '<div class="tab" id="remarks-tab" hidden="">' in shown and '<div class="tab" id="stages-tab">' in shown
    assert shown.count("<rect") > 64 * 64  # layouts and the timeline


def test_a_browser_shows_the_remarks_for_a_cpu(browse, tmp_path):
    shown = browse(made_page(tmp_path, "cpu:avx2"), "remarks")
    assert "128x64 f16 from a_ptr: 8 at a time (16 bytes), contiguous along dimension 1" in shown
    assert 'data-tab="layouts"' not in shown and 'data-tab="stages"' in shown


def test_a_browser_shows_the_source_in_colors(browse, tmp_path):
    """Colors do not change the text; triple-quoted strings are strings on all of their lines."""
    class Lines(HTMLParser):
        def __init__(self, text):
            super().__init__()
            self.spans, self.lines, self.kinds = [], [], []
            self.feed(text)

        def handle_starttag(self, tag, attributes):
            attributes = dict(attributes)
            if tag == "div" and attributes.get("class", "").startswith("line"):
                self.lines.append("")
                self.kinds.append([])
            if tag == "span":
                self.spans.append(attributes.get("class", ""))

        def handle_endtag(self, tag):
            if tag == "span":
                self.spans.pop()

        def handle_data(self, data):
            if self.spans and self.spans[0] not in ("number", "badge"):
                self.lines[-1] += data
                self.kinds[-1].append((self.spans[-1], data))

    shown = browse(made_page(tmp_path, "cpu:avx2"), "remarks")
    page = Lines(shown[shown.index('id="source"'):shown.index('id="everywhere"')])
    source = MATMUL.read_text().rstrip().split("\n")
    assert [line.rstrip() for line in page.lines] == [line.rstrip() for line in source]
    of = {line.strip(): kinds for line, kinds in zip(source, page.kinds)}
    assert of["@triton.jit"] == [("decorator", "@triton.jit")] and ("keyword", "import") in of["import numpy as np"]
    end = [index for index, line in enumerate(source) if '"""' in line][1]
    assert all({kind for kind, _ in page.kinds[index]} <= {"text", ""} for index in range(end + 1))
    assert all(("text", source[index]) in page.kinds[index] for index in range(1, end) if source[index])
