"""`import triton` finds Tilewright: the same module objects under a second name.

The package itself is a separate module, because `triton.__version__` is a release of Triton and `tilewright.__version__` is Tilewright's. It has the
same names and the same values.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types


class _Triton(types.ModuleType):
    """The module `triton`: the names of `tilewright`, and Triton's __version__. An attribute that is set here is set in `tilewright`."""

    def __getattr__(self, name):
        try:
            return getattr(sys.modules["tilewright"], name)
        except AttributeError:
            raise AttributeError(f"module 'triton' has no attribute {name!r}") from None

    def __setattr__(self, name, value):
        if name != "__version__":
            setattr(sys.modules["tilewright"], name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        if name != "__version__":
            delattr(sys.modules["tilewright"], name)
        vars(self).pop(name, None)

    def __dir__(self):
        return dir(sys.modules["tilewright"])


def _make_triton():
    own = sys.modules["tilewright"]
    module = _Triton("triton")
    vars(module).update(vars(own), __version__=own.triton_version)
    return module


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        module = _make_triton() if spec.name == "triton" else importlib.import_module("tilewright" + spec.name.removeprefix("triton"))
        self._own_spec, self._own_loader = module.__spec__, module.__loader__  # of the package as well: children start by this name
        return module

    def get_code(self, name):
        """The code that `python -m triton.NAME` runs."""
        own = importlib.util.find_spec("tilewright" + name.removeprefix("triton"))
        return own.loader.get_code(own.name)

    def exec_module(self, module):
        # Importing a module under its second name must not change its __name__ and __spec__.
        module.__spec__, module.__loader__ = self._own_spec, self._own_loader
        _share_loaded()


def _share_loaded():
    """Gives all loaded modules their second name now. Else `import triton.runtime.driver` would load that module again, and put it into its
    package, where an object has the same name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tilewright."):
            sys.modules.setdefault("triton" + name.removeprefix("tilewright"), module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        own = "tilewright" + fullname.removeprefix("triton")
        found = sys.modules.get(own) or importlib.util.find_spec(own)
        if found is None:
            return None
        is_package = hasattr(found, "__path__") or getattr(found, "submodule_search_locations", None) is not None
        file = getattr(found, "origin", None) or getattr(found, "__file__", None)
        return importlib.machinery.ModuleSpec(fullname, _Loader(), origin=file, is_package=is_package)


def path():
    """The folder that contains a package `triton` which is Tilewright."""
    # Links are not resolved: in a build folder the sources are links, and the extension is in the folder of the links.
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_as_triton")


def _hand_on():
    """Makes `import triton` give Tilewright in child processes, too: through their environment, and through the sys.path that multiprocessing passes."""
    folder = path()
    if folder not in sys.path:
        sys.path.insert(1, folder)
    inherited = os.environ.get("PYTHONPATH", "")
    if folder not in inherited.split(os.pathsep):
        os.environ["PYTHONPATH"] = folder + (os.pathsep + inherited if inherited else "")


def install():
    """Makes `import triton` give Tilewright in this process and in those that it starts. A Triton that was imported before is replaced."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
        if not getattr(sys.modules[name], "__name__", "").startswith("tilewright"):
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    _hand_on()
    importlib.import_module("triton")
    # Code generators write annotations such as `tl.constexpr` into text that imports only triton.
    sys.modules["tilewright.language.core"].constexpr.__module__ = "triton.language.core"
