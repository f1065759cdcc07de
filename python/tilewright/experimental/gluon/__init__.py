"""Gluon, Triton's lower-level language, in name only: modules that import it and define kernels in it can be imported, since most of their
kernels are Triton's. A launch of a Gluon kernel is refused by name.

    from triton.experimental import gluon                      both work,
    from triton.experimental.gluon import language as gl
    @gluon.jit                                                 so does this,
    def kernel(x, layout: gl.constexpr): ...
    kernel[(1,)](x, gl.BlockedLayout(...))                     NotImplementedError: kernel 'kernel' is written in Gluon, ...
"""

import functools
import importlib.machinery
import inspect
import sys
import types

from ... import language as tl
from ...compiler.sources import ASTSource
from ...language.aggregate import aggregate
from ...runtime.jit import KernelInterface, constexpr_function

MODULES = """
_compiler _runtime amd amd.cdna5 amd.gfx1250 language language._core language._layouts language._math language._semantic language._standard language.extra language.fpsan
language.amd language.amd._layouts language.amd._ops language.amd.cdna3 language.amd.cdna4 language.amd.cdna4.async_copy language.amd.cdna5
language.amd.cdna5.async_copy language.amd.cdna5.cluster language.amd.cdna5.mbarrier language.amd.cdna5.tdm language.amd.gfx1250 language.amd.hint
language.amd.rdna3 language.amd.rdna4 language.amd.slice language.amd.warp_pipeline language.nvidia language.nvidia.ampere
language.nvidia.ampere.async_copy language.nvidia.ampere.mbarrier language.nvidia.blackwell language.nvidia.blackwell.clc language.nvidia.blackwell.tma
language.nvidia.hopper language.nvidia.hopper.cluster language.nvidia.hopper.mbarrier language.nvidia.hopper.tma language.nvidia.rubin
language.nvidia.rubin.mbarrier nvidia nvidia.blackwell nvidia.hopper
""".split()


class Absent:
    """Something of Gluon's, which host code may name, call and pass on."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *args, **kwargs):
        return Absent(f"{self._name}(...)")

    def __getitem__(self, index):
        return Absent(f"{self._name}[...]")

    __iter__ = None

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __instancecheck__(self, value):
        return False

    def __mro_entries__(self, bases):
        return ()

    def __repr__(self):
        return f"<{self._name}, which is Gluon's and not here>"


class GluonJITFunction(KernelInterface):
    """A kernel in Gluon: everything but its launch."""

    def __init__(self, fn, **options):
        functools.update_wrapper(self, fn)
        self.fn, self.options = fn, options
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)

    def is_gluon(self):
        return True

    def run(self, *args, **kwargs):
        raise NotImplementedError(f"kernel '{self.__name__}' is written in Gluon, another language than Triton, which Tilewright does not compile; "
                                  "most libraries have a Triton kernel for the same, and a switch that takes it")

    warmup = run

    def __repr__(self):
        return "a kernel in Gluon, which is not compiled"

    def __getitem__(self, grid):
        return self.run


class GluonASTSource(ASTSource):
    """The source of a compilation in Gluon, which is refused."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        fn.run()


def jit(fn=None, **options):
    if fn is None:
        return functools.partial(jit, **options)
    return GluonJITFunction(fn, **options)


def must_use_result(value, *rest):
    return (lambda function: function) if isinstance(value, str) else value


class _Module(types.ModuleType):
    """A module of Gluon. Names that its language shares with Triton's are the same objects."""

    def __getattr__(self, name):
        if name.startswith(("__", "_tilewright")):
            raise AttributeError(name)
        if self.__name__.endswith("gluon.language") and hasattr(tl, name):
            return getattr(tl, name)
        return Absent(f"{self.__name__.partition('.')[2]}.{name}")


def _add(path):
    """A module of Gluon's, found by imports and as an attribute of the one that it is in."""
    name = f"{__name__}.{path}"
    module = _Module(name, "A module of Gluon's, in name only.")
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    setattr(sys.modules[parent], own, module)


for _path in sorted(MODULES):
    _add(_path)
for _object in (GluonASTSource, GluonJITFunction, constexpr_function, jit):
    setattr(_runtime, _object.__name__, _object)  # noqa: F821

__all__ = ["aggregate", "amd", "constexpr_function", "GluonASTSource", "GluonJITFunction", "jit", "must_use_result", "nvidia"]
