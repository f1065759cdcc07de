"""Memory of the runtime library: what an open library takes is free after twLibraryClose."""
import ctypes
import mmap
import pathlib

from test_build import build, opened, runtime


def test_closed_libraries_leave_no_memory(tmp_path):
    build(tmp_path, target="cpu:sse2,cuda:sm_80")
    file = tmp_path / "libscale.so"

    def cycle():
        library, _ = opened(file)
        assert runtime().twLibraryFind(library, b"scale", None)
        runtime().twLibraryClose(library)

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    for _ in range(50):
        cycle()
    before = resident()
    for _ in range(500):
        cycle()
    assert resident() - before < 2_000_000
    # A library that is open twice keeps its kernels until both are closed.
    first, second = opened(file)[0], opened(file)[0]
    artifact = runtime().twLibraryFind(first, b"scale", None)
    assert runtime().twLibraryFind(second, b"scale", None) == artifact
    runtime().twLibraryClose(first)
    assert runtime().twArtifactLoad(ctypes.c_void_p(artifact), None, None)
    runtime().twLibraryClose(second)
