"""What lies around a process: files that others have put in the way, tools that are none, threads that the system refuses, subinterpreters."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = """
import os
import sys
import numpy as np
import tilewright as triton, tilewright.language as tl

@triton.jit
def double(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def launch():
    x = np.ones(64 * 1024, np.float32)
    double[(64,)](x, x.size, B=1024)
    assert (x == 2).all()
"""


def run(folder, text, *words, **environment):
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "program.py").write_text("import os, sys\n" + text)
    return subprocess.run([*words, sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


LAUNCH = "import kernel\nkernel.launch()\nprint('done')\n"

# ---- the files of perf


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "second name", "pipe"])
def test_a_file_in_place_of_the_map_for_perf_stays_as_it_is(tmp_path, kind):
    target = tmp_path / "target"
    if kind != "dangling link":
        target.write_text("mine")
    place = f"""
path = f"/tmp/perf-{{os.getpid()}}.map"
if os.path.lexists(path): os.remove(path)
kind = {kind!r}
if kind.endswith("link"): os.symlink({str(target)!r}, path)
elif kind == "folder": os.mkdir(path)
elif kind == "second name": os.link({str(target)!r}, path)
else: os.mkfifo(path)
try:
    {LAUNCH.replace(chr(10), chr(10) + "    ")}
finally:
    os.rmdir(path) if kind == "folder" else os.remove(path)
"""
    if kind == "second name" and os.stat("/tmp").st_dev != os.stat(tmp_path).st_dev:
        target = pathlib.Path(f"/tmp/target-of-{os.getpid()}")
        place = place.replace(str(tmp_path / "target"), str(target))
        target.write_text("mine")
    done = run(tmp_path, place, TILEWRIGHT_DEBUG_INFO="1", JITDUMPDIR=str(tmp_path))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert (not target.exists()) if kind == "dangling link" else target.read_text() == "mine"
    if target.parent != tmp_path:
        target.unlink()


def test_a_map_that_another_compiler_began_goes_on(tmp_path):
    done = run(tmp_path, f"""
path = f"/tmp/perf-{{os.getpid()}}.map"
open(path, "w").write("1000 10 other\\n")
{LAUNCH}
text = open(path).read()
os.remove(path)
assert text.startswith("1000 10 other\\n") and "double" in text, text
""", TILEWRIGHT_DEBUG_INFO="1", JITDUMPDIR=str(tmp_path))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr


def test_a_link_in_place_of_the_dump_stays_as_it_is(tmp_path):
    target = tmp_path / "target"
    target.write_text("mine")
    done = run(tmp_path, f"os.symlink({str(target)!r}, f'jit-{{os.getpid()}}.dump')\n{LAUNCH}", TILEWRIGHT_DEBUG_INFO="1", JITDUMPDIR=str(tmp_path))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert target.read_text() == "mine"


def test_an_old_dump_is_replaced(tmp_path):
    done = run(tmp_path, f"open(f'jit-{{os.getpid()}}.dump', 'w').write('old')\n{LAUNCH}", TILEWRIGHT_DEBUG_INFO="1", JITDUMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (dump,) = tmp_path.glob("jit-*.dump")
    assert dump.read_bytes()[:4] == b"DTiJ" and dump.stat().st_mode & 0o777 == 0o600


def test_dumps_go_to_a_folder_of_the_users(tmp_path):
    done = run(tmp_path, LAUNCH, TILEWRIGHT_DEBUG_INFO="1", HOME=str(tmp_path), JITDUMPDIR="")
    assert done.returncode == 0, done.stderr
    (dump,) = (tmp_path / ".debug" / "jit").glob("jit-*.dump")
    assert dump.parent.stat().st_mode & 0o777 == 0o700


# ---- ptxas

PTX = """
import kernel
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource
import tilewright
code = tilewright.compile(ASTSource(kernel.double, {"x": "*fp32", "n": "i32", "B": "constexpr"}, {"B": 64}), target=GPUTarget("cuda", 90, 32))
print(sorted(code.asm))
"""


def assembler(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "ptxas").write_text(text)
    (folder / "ptxas").chmod(0o755)


@pytest.mark.parametrize("path", ["", ":", "{bin}:", ":{bin}", "{bin}::{bin}"])
def test_an_empty_part_of_the_path_is_not_the_present_folder(tmp_path, path):
    assembler(tmp_path, "#!/bin/sh\ntouch ran\nexit 1\n")
    (tmp_path / "bin").mkdir()
    done = run(tmp_path, PTX, PATH=path.format(bin=tmp_path / "bin"), TILEWRIGHT_PTXAS="")
    assert done.returncode == 0 and "ptx" in done.stdout, done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["folder", "not executable", "dangling link"])
def test_a_ptxas_that_is_no_program_is_passed_over(tmp_path, kind):
    (tmp_path / "bin").mkdir()
    ptxas = tmp_path / "bin" / "ptxas"
    ptxas.mkdir() if kind == "folder" else ptxas.symlink_to("nowhere") if kind == "dangling link" else ptxas.write_text("")
    done = run(tmp_path, PTX, PATH=str(tmp_path / "bin"), TILEWRIGHT_PTXAS="")
    assert done.returncode == 0 and "ptx" in done.stdout, done.stderr
    done = run(tmp_path, PTX, PATH="", TILEWRIGHT_PTXAS=str(ptxas))
    assert done.returncode == 0 and "ptx" in done.stdout, done.stderr


@pytest.mark.parametrize("text, message", [("#!/bin/sh\necho no memory\nexit 7\n", "status 7.*no memory"), ("#!/nowhere\n", "cannot run|status"),
                                           ("\x7fELF garbage", "cannot run|status"), ("#!/bin/sh\nkill -9 $$\n", "status 137"),
                                           ("#!/bin/sh\nfor w; do case $l in -o) echo garbage >$w;; esac; l=$w; done\n", "did not write a cubin"),
                                           ("#!/bin/sh\nexit 0\n", "status 0")])
def test_a_ptxas_that_fails_is_named(tmp_path, text, message):
    assembler(tmp_path / "bin", text)
    done = run(tmp_path, PTX, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin", TILEWRIGHT_PTXAS="")
    assert done.returncode == 1
    assert re.search(message, done.stderr, re.DOTALL) and "bug" not in done.stderr.lower(), done.stderr


# ---- temporary files


SMALL_KERNEL = "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n):\n    tl.store(x + tl.arange(0, 16), 1.0)\n"
BUILDS = {"cubin": ["compile", "k.py", "--signature", "*fp32, i32", "--target", "cuda:sm_80", "--emit", "cubin", "-o", "k.cubin"],
          "library": ["build", "k.py", "--signature", "*fp32, i32", "--target", "cpu:sse2", "-o", "k.so"]}


def built(folder, what, tmpdir, ptxas="cp \"$4\" \"$6\"", **options):
    """Compiles with temporary files in a folder. The assembler is a script."""
    assembler(folder / "bin", f"#!/bin/sh\n{ptxas}\n")
    (folder / "k.py").write_text(SMALL_KERNEL)
    environment = {**os.environ, "TMPDIR": str(tmpdir), "TILEWRIGHT_PTXAS": str(folder / "bin" / "ptxas"), "TILEWRIGHT_CACHE": "0"}
    return subprocess.run([ROOT / "build" / "bin" / "tilewright", *BUILDS[what]], cwd=folder, env=environment, capture_output=True, text=True, **options)


@pytest.mark.parametrize("what", BUILDS)
def test_a_folder_of_temporary_files_that_cannot_be_used(tmp_path, what):
    (tmp_path / "file").write_text("")
    for tmpdir, reason in ((tmp_path / "missing", "No such file or directory"), (tmp_path / "file", "Not a directory")):
        done = built(tmp_path, what, tmpdir)
        assert done.returncode == 1 and "bug" not in done.stderr, done.stderr
        assert f"cannot make the temporary folder '{tmpdir}/tilewright-" in done.stderr and reason in done.stderr


@pytest.mark.parametrize("what", BUILDS)
def test_temporary_files_that_may_not_grow(tmp_path, what):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = built(tmp_path, what, tmp_path, preexec_fn=limit)
    assert done.returncode == 1 and "bug" not in done.stderr, done.stderr
    assert f"cannot write the temporary file '{tmp_path}/tilewright-" in done.stderr and "File too large" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "k.py"]


def test_assembler_cannot_run_without_room(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = built(tmp_path, "cubin", tmp_path, ptxas="exit 1", preexec_fn=limit)
    assert done.returncode == 1 and "cannot assemble the GPU code of kernel 'k': cannot write the temporary file '" in done.stderr, done.stderr
    assert "bug" not in done.stderr and "File too large" in done.stderr and f"'{tmp_path}/tilewright-" in done.stderr
    done = built(tmp_path, "cubin", tmp_path, ptxas="echo wrong; exit 1")
    assert "ptxas failed (status 1): wrong" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "k.py"]


# ---- the cache


@pytest.mark.parametrize("limit", [0, 1])
def test_a_cache_whose_files_may_not_grow(tmp_path, limit):
    done = run(tmp_path, LAUNCH, "bash", "-c", f"ulimit -f {limit}; exec \"$@\"", "bash", TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"),
               PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert not [path for path in (tmp_path / "cache").rglob("*") if ".tmp." in path.name]


def test_a_file_in_place_of_the_cache(tmp_path):
    (tmp_path / "cache").write_text("a file")
    done = run(tmp_path, LAUNCH, TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert (tmp_path / "cache").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("owner, mode, why", [(1000, 0o755, "belongs to user 1000"), (0, 0o777, "may be changed by all users")])
def test_a_cache_below_a_folder_of_others_is_not_used(tmp_path, owner, mode, why):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(mode)
    os.chown(above, owner, owner)
    done = run(tmp_path, LAUNCH, TILEWRIGHT_CACHE_DIR=str(above / "cache"))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert "which holds it, " + why in done.stderr
    assert not list((above / "cache").rglob("*.twc"))
    link = tmp_path / "link"
    link.symlink_to(above / "cache")
    done = run(tmp_path, LAUNCH, TILEWRIGHT_CACHE_DIR=str(link))
    assert "which holds it, " + why in done.stderr


# ---- threads, processes, interpreters

NO_THREADS = "#include <errno.h>\n#include <pthread.h>\nint pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) { return EAGAIN; }\n"
TUNED = """
import kernel
import tilewright as triton, numpy as np
tuned = triton.autotune(configs=[triton.Config({"B": 256}), triton.Config({"B": 1024})], key=["n"])(kernel.double)
x = np.ones(4096, np.float32)
tuned[lambda meta: (triton.cdiv(4096, meta["B"]),)](x, 4096)
print("done")
"""


@pytest.mark.parametrize("text", [LAUNCH, TUNED], ids=["launch", "tune"])
def test_a_system_without_threads(tmp_path, text):
    (tmp_path / "none.c").write_text(NO_THREADS)
    built = subprocess.run(["cc", "-shared", "-fPIC", "none.c", "-o", "none.so"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = run(tmp_path, text, LD_PRELOAD=str(tmp_path / "none.so"), OPENBLAS_NUM_THREADS="1", TILEWRIGHT_NUM_THREADS="4")
    assert done.returncode == 0 and "done" in done.stdout, done.stderr


def test_a_child_launches_after_its_parent(tmp_path):
    done = run(tmp_path, """
import kernel
kernel.launch()
for i in range(8):
    child = os.fork()
    if not child:
        kernel.launch()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
kernel.launch()
print('done')
""")
    assert done.returncode == 0 and "done" in done.stdout, done.stderr


@pytest.mark.parametrize("ends", ["", "interpreters.destroy(other)\n"])
def test_a_subinterpreter_is_refused(tmp_path, ends):
    done = run(tmp_path, f"""
for name in ("_interpreters", "_xxsubinterpreters"):
    try: interpreters = __import__(name); break
    except ImportError: pass
other = interpreters.create()
try: error = interpreters.run_string(other, "import sys; sys.path.insert(0, ''); import kernel; kernel.launch()")
except Exception as raised: error = raised
{ends}print('done', error)
""")
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert "main interpreter only" in done.stdout + done.stderr or "does not support loading in subinterpreters" in done.stdout + done.stderr
