"""Builds C sources as Python modules, for host code that has some: launchers of other back ends, helpers of libraries. The machine's C compiler
compiles them, and the cache folder keeps them. Kernels need none of this."""

import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile

from .._programs import find_program
from .cache import get_cache_manager


def platform_key():
    """A text that identifies everything besides its source on which a library built here depends."""
    return ",".join([platform.machine(), platform.system(), *platform.architecture(), sys.version])


def _compiler():
    wanted = os.environ.get("CC")
    found = wanted or find_program("gcc") or find_program("clang") or find_program("cc")
    if not found:
        raise RuntimeError("there is no C compiler to build a module with; install gcc or clang, or name one by the environment variable CC")
    return found


def _build(name, src, srcdir, library_dirs=(), include_dirs=(), libraries=(), ccflags=()):
    """Compiles the C file `src` into a shared library in `srcdir`; returns its path."""
    made = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    headers = [*include_dirs, srcdir, sysconfig.get_path("include")]
    command = [*_compiler().split(), src, "-O3", "-shared", "-fPIC", *ccflags, *(f"-I{folder}" for folder in headers),
               *(f"-L{folder}" for folder in library_dirs), *(f"-l{library}" for library in libraries), "-o", made]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"the C compiler could not build the module '{name}': {' '.join(command)}\n{done.stdout}")
    return made


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _built(src, name, parts, damaged):
    """The path of the library, from the cache folder if it was built before, unless that is the one that is `damaged`."""
    cache = get_cache_manager(hashlib.sha256(repr((src, name, platform_key(), parts)).encode()).hexdigest())
    file = name + sysconfig.get_config_var("EXT_SUFFIX")
    known = None if damaged else cache.get_file(file)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, name + ".c")
        with open(source, "w") as out:
            out.write(src)
        with open(_build(name, source, folder, *parts), "rb") as library:
            return cache.put(library.read(), file, binary=True)


def compile_so_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """Builds a shared library from the text of a C source; returns its path."""
    return _built(src, name, [list(part or []) for part in (library_dirs, include_dirs, libraries, ccflags)], damaged=False)


def compile_so_from_file(path, name, **options):
    with open(path) as file:
        return compile_so_from_src(file.read(), name, **options)


def compile_module_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """Builds and imports the Python module `name` that the text of a C source defines."""
    parts = [list(part or []) for part in (library_dirs, include_dirs, libraries, ccflags)]
    try:
        return _load(name, _built(src, name, parts, damaged=False))
    except ImportError:
        return _load(name, _built(src, name, parts, damaged=True))


def compile_module_from_file(path, name, **options):
    with open(path) as file:
        return compile_module_from_src(file.read(), name, **options)
