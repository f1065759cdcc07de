"""What crosses the border of a process is pickled, by every Python: Inductor, multiprocessing and tuners hand such objects to workers."""

import functools
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pickle_cases
import pickled_kernels
import tilewright

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(tilewright.__file__).absolute().parents[1]


def run(python, *arguments, path=(PACKAGE, HERE)):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run([python, *map(str, arguments)], capture_output=True, text=True, timeout=200, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def other_pythons():
    """The Pythons of other versions on the path, those that are installed next to this one, and pyenv's."""
    found = {}
    installed = sorted(pathlib.Path(sys.base_prefix).parent.glob("*/bin/python3"))
    shims = [pathlib.Path(folder).parent for folder in os.environ.get("PATH", "").split(os.pathsep) if folder.endswith("/shims")]
    managed = [python for root in shims for python in sorted(root.glob("versions/3.*/bin/python3"))]
    for minor in range(10, 16):
        for candidate in [f"python3.{minor}", *installed, *managed]:
            try:
                done = subprocess.run([candidate, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, timeout=60)
            except OSError:
                continue
            if done.stdout.split() == ["3", str(minor)] and minor != sys.version_info[1]:
                found.setdefault(minor, str(candidate))
    return found


def test_in_this_python():
    classes, objects = pickle_cases.check()
    assert classes > 150 and objects > 60


def test_in_other_pythons(tmp_path):
    """The package's Python part in Pythons for which no extension was built: the extension's answers are played back to it."""
    if not other_pythons():
        pytest.skip("there is no other Python here")
    answers = tmp_path / "answers.json"
    run(sys.executable, HERE / "pickle_cases.py", "record", answers)
    for python in other_pythons().values():
        classes, objects = map(int, run(python, HERE / "pickle_cases.py", answers).split())
        assert classes > 150 and objects > 60, python


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_have_the_same_objects(method, monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    sent = pickle_cases.objects()
    sent.remove(pickled_kernels.Pair)
    with multiprocessing.get_context(method).Pool(1) as pool:
        for value, (kind, text) in zip(sent, pool.map(pickled_kernels.made_here, sent)):
            # An earlier test may have installed the package as triton in this process.
            names = kind, f"{type(value).__module__}.{type(value).__qualname__}"
            assert len({name.removeprefix("tilewright.").removeprefix("triton.") for name in names}) == 1, names
            assert text == repr(value) or " at 0x" in text
        assert pool.apply(pickled_kernels.launched, [pickled_kernels.scale]) == 3 * sum(range(20))
        for value, again in zip(sent, pool.map(pickle_cases.handed_back, sent)):
            assert type(again) is type(value)


SENDER = """
    import sys
    if sys.argv[1] == "installed":
        import tilewright
        tilewright.install()
    import pickle, pickle_cases
    pickle.dump(pickle_cases.objects(), open(sys.argv[2], "wb"))
"""
RECEIVER = """
    import sys
    if sys.argv[1] == "installed":
        import tilewright
        tilewright.install()
    import pickle, pickle_cases
    received = pickle.load(open(sys.argv[2], "rb"))
    assert not any(name == "triton" for name in sys.modules) or sys.argv[1] == "installed"
    assert all(pickle_cases._are_same(value, again) for value, again in zip(pickle_cases.objects(), received))
    import tilewright
    tilewright.install()
    import triton
    assert type(received[0]) is triton.backends.compiler.GPUTarget and isinstance(received[-1](1, 2), triton.language.core.base_value)
    print(len(received))
"""


@pytest.mark.parametrize("sender", ["installed", "plain"])
@pytest.mark.parametrize("receiver", ["installed", "plain"])
def test_both_names_of_the_package_are_one(sender, receiver, tmp_path):
    """A worker may unpickle before it has installed Tilewright as `triton`, and may not have another Triton."""
    (tmp_path / "send.py").write_text(textwrap.dedent(SENDER))
    (tmp_path / "receive.py").write_text(textwrap.dedent(RECEIVER))
    run(sys.executable, tmp_path / "send.py", sender, tmp_path / "sent")
    assert int(run(sys.executable, tmp_path / "receive.py", receiver, tmp_path / "sent")) > 60


def test_compiled_kernels_launch_in_another_process(tmp_path):
    out = np.zeros(20, np.float32)
    kernel = pickled_kernels.scale[(2,)](np.arange(20, dtype=np.float32), out, 20, 3.0)
    (tmp_path / "kernel").write_bytes(pickle.dumps((kernel, kernel.metadata, kernel.asm)))
    (tmp_path / "launch.py").write_text(textwrap.dedent("""
        import pickle, sys
        kernel, metadata, asm = pickle.load(open(sys.argv[1], "rb"))
        import numpy as np, pickled_kernels
        out = np.zeros(20, np.float32)
        kernel[(2, 1, 1)](np.arange(20, dtype=np.float32), out, 20, 3.0, 16)
        assert kernel.metadata == metadata and kernel.asm["obj"] == asm["obj"] and kernel.src.fn is pickled_kernels.scale
        print(out.sum())
    """))
    assert float(run(sys.executable, tmp_path / "launch.py", tmp_path / "kernel")) == 3 * sum(range(20)) == out.sum()


def test_a_name_that_is_not_found_is_told():
    @tilewright.jit
    def local(x):
        tilewright.language.store(x, 1)

    with pytest.raises(pickle.PicklingError, match="is not found as test_pickling.*local"):
        pickle.dumps(local)
