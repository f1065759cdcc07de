"""`import triton` finds Tilewright, in a program and in all processes that it starts, in whatever way."""

import importlib.metadata
import os
import subprocess
import sys
import textwrap

import pytest

import tilewright

KERNEL = """
import sys
import numpy as np
import triton, triton.language as tl

@triton.jit
def fill(x_ptr, value):
    tl.store(x_ptr + tl.arange(0, 8), value)

def filled(value):
    x = np.zeros(8, np.int32)
    fill[(1,)](x, value)
    return int(x.sum())
"""


def run(tmp_path, *command, env=None):
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=100, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(tmp_path, name, text):
    (tmp_path / name).write_text(KERNEL + textwrap.dedent(text))


def test_the_command(tmp_path):
    assert run(tmp_path, "-m", "tilewright", "--version").strip() == f"Tilewright {tilewright.__version__}"
    text = KERNEL + "print(filled(int(sys.argv[1])), triton.__name__)"
    assert run(tmp_path, "-m", "tilewright", "-c", text, "3").split() == ["24", "tilewright"]
    write(tmp_path, "program.py", "print(filled(2), __name__, sys.argv[1:])")
    assert run(tmp_path, "-m", "tilewright", "-m", "program", "x").split() == ["16", "__main__", "['x']"]
    assert run(tmp_path, "-m", "tilewright", "program.py").split() == ["16", "__main__", "[]"]


def test_an_environment_variable(tmp_path):
    write(tmp_path, "program.py", "import importlib.util\nprint(filled(2), triton.__name__, importlib.util.find_spec('triton') is not None)")
    folder = run(tmp_path, "-m", "tilewright", "--path").strip()
    env = {**os.environ, "PYTHONPATH": folder}  # the package itself is found from there
    assert run(tmp_path, "program.py", env=env).split() == ["16", "tilewright", "True"]


def test_install(tmp_path):
    (tmp_path / "program.py").write_text("import tilewright\ntilewright.install()\ntilewright.install()\n" + KERNEL + "print(filled(1))")
    assert run(tmp_path, "program.py").strip() == "8"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(tmp_path, method):
    write(tmp_path, "program.py", f"""
        import multiprocessing
        if __name__ == "__main__":
            filled(1)
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                print(pool.map(filled, [1, 2]))
    """)
    assert run(tmp_path, "-m", "tilewright", "program.py").strip() == "[8, 16]"


def test_programs_that_it_starts(tmp_path):
    write(tmp_path, "inner.py", "print(filled(4))")
    (tmp_path / "outer.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, 'inner.py'], check=True)")
    assert run(tmp_path, "-m", "tilewright", "outer.py").strip() == "32"


def test_pytest(tmp_path):
    write(tmp_path, "test_inner.py", "def test_fill():\n    assert filled(3) == 24\n")
    assert "1 passed" in run(tmp_path, "-m", "tilewright", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_inner.py")


def test_modules_run_in_programs_that_it_starts(tmp_path):
    (tmp_path / "outer.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'triton.profiler.viewer', '-h'], check=True)")
    assert "FILE.hatchet" in run(tmp_path, "-m", "tilewright", "outer.py")


def test_submodules_keep_their_identities(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import triton
        driver, jit, compile = triton.runtime.driver, triton.jit, triton.compile
        import triton.runtime.driver, triton.compiler.compiler, triton.runtime.jit, triton.language.core, triton.testing
        from triton.runtime.driver import driver as again
        import triton.language as tl, tilewright, tilewright.runtime.jit
        assert triton.runtime.driver is driver is again and hasattr(driver, "active")
        assert triton.jit is jit and triton.compile is compile and triton.runtime.JITFunction is triton.runtime.jit.JITFunction
        assert triton.runtime is tilewright.runtime and triton.runtime.jit is tilewright.runtime.jit and tl.core.constexpr is tl.constexpr
        print("same")
    """))
    assert run(tmp_path, "-m", "tilewright", "program.py").strip() == "same"


def test_modules_run_under_the_second_name(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tilewright", "-m", "triton.profiler.viewer", "-h"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and "FILE.hatchet" in done.stdout


VERSIONS = """
    import triton, tilewright
    print(tilewright.__version__, triton.__version__, triton.tilewright_version, tilewright.triton_version, triton.compiler.compiled.__name__)

    triton.added, triton.cdiv = 5, max
    assert tilewright.added == 5 and tilewright.cdiv is max and "added" in dir(triton)
    del triton.added
    assert not hasattr(tilewright, "added") and not hasattr(triton, "added")
    tilewright.later = 6
    assert triton.later == 6

    OWN = tl.constexpr(triton.tilewright_version)

    @triton.jit
    def versions(x_ptr):
        tl.store(x_ptr, triton.__version__ == "3.8.0")
        tl.store(x_ptr + 1, tilewright.__version__ == OWN)

    x = np.zeros(2, np.int32)
    versions[(1,)](x)
    assert x.tolist() == [1, 1], x
"""


def test_each_name_has_its_version(tmp_path):
    """`triton.__version__` is a release of Triton, `tilewright.__version__` the one that the package's metadata has; all else is shared."""
    write(tmp_path, "program.py", VERSIONS)
    env = os.environ | {"TILEWRIGHT_TRITON_VERSION": "3.8.0"}
    own = importlib.metadata.version("tilewright")
    assert run(tmp_path, "-m", "tilewright", "program.py", env=env).split() == [own, "3.8.0", own, "3.8.0", "tilewright.compiler.compiled"]
