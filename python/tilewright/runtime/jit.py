"""@jit: a Python function as a kernel. The compiler reads its source; Python never runs its body."""

import ast
import importlib
import inspect
import itertools
import math
import os
import pickle
import re
import textwrap
import weakref
from functools import partial

from .. import _core, knobs
from .._utils import find_paths_if, get_iterable_path, type_canonicalisation_dict
from ..backends import make_backend
from ..language.core import _unwrap_if_constexpr, constexpr, constexpr_type, dtype
from ..tools.tensor_descriptor import TensorDescriptor
from ._async_compile import active_mode
from .driver import driver
from .fingerprint import named_fingerprint
from .events import JitFunctionInfo, LazyDict  # noqa: F401
from .specialization import (  # noqa: F401
    DeviceCaches, compute_cache_key, convert_to_tuple_if_list, get_device_key, make_binder, pack_arguments, preload, serialize_specialization_data)


DRY_RUN = "dry_run"  # a value of `warmup`: compiles the version for these arguments, which may differ from the version for their types


class KernelInterface:
    """The base class of objects that are launched by `kernel[grid](...)`."""

    def warmup(self, *args, grid=None, **kwargs):
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True,
                        **{name: MockTensor.wrap_dtype(value) for name, value in kwargs.items()})

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run")

    def __getitem__(self, grid):
        return partial(self.run, grid=grid, warmup=False)


_TYPE_WORD = re.compile(r"(\*k?)?([a-z][a-z0-9]*)")


class KernelParam:
    """One parameter of a kernel, as it was declared."""

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self._param, self.num, self.name = param, num, param.name
        self.do_not_specialize, self.do_not_specialize_on_alignment = do_not_specialize, do_not_specialize_on_alignment

    @property
    def annotation(self):
        note = self._param.annotation
        if note is inspect.Parameter.empty:
            return ""
        if isinstance(note, str):
            return note
        if isinstance(note, dtype):
            return note._tilewright_name
        return getattr(note, "__name__", None) or str(note)

    @property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @property
    def is_const(self):
        return not self.is_constexpr and (self.annotation.rpartition(".")[2] == "const" or self.annotation.startswith("*k"))

    @property
    def annotation_type(self):
        """The type that the annotation fixes, such as "i32"; "" if it fixes none."""
        text = self.annotation.rpartition(".")[2]
        if self.is_constexpr or not _TYPE_WORD.fullmatch(text):
            return ""
        return text

    def __getstate__(self):
        """The annotation travels as text: it may be an object of a module that another process does not have."""
        return {**vars(self), "_param": self._param.replace(annotation=self.annotation or inspect.Parameter.empty)}

    default = property(lambda self: self._param.default)
    has_default = property(lambda self: self.default is not inspect.Parameter.empty)
    is_variadic = property(lambda self: self._param.kind is inspect.Parameter.VAR_POSITIONAL)

    def row(self):
        row = (self.name, self.is_constexpr, self.is_variadic, self.annotation_type or None, self.is_const)
        return row + (self.default,) if self.has_default else row


def _nested_codes(code):
    yield code
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _nested_codes(constant)


def executed_source(fn):
    """The lines of a function that `exec` is defining from a text, and the number of the first line: the text is a local variable of a caller.

    None if no local variable of a caller holds a text that compiles to the function's code.
    """
    code, frame = fn.__code__, inspect.currentframe()
    while frame is not None:
        for text in {value for value in frame.f_locals.values() if isinstance(value, str) and f"def {code.co_name}" in value}:
            try:
                whole = compile(text, code.co_filename, "exec")
            except (SyntaxError, ValueError):
                continue
            if any(nested == code for nested in _nested_codes(whole)):
                lines = text.splitlines(keepends=True)
                return inspect.getblock(lines[code.co_firstlineno - 1:]), code.co_firstlineno
        frame = frame.f_back
    return None


def _shown(file):
    """A file's name as valid UTF-8: Python represents bytes that the locale cannot decode in a form of its own."""
    return os.fsencode(file).decode("utf-8", "replace")


def _take_names(wrapper, fn, *others):
    """Copies a function's names and documentation to its wrapper."""
    for name in ("__name__", "__qualname__", "__doc__", "__module__", *others):
        setattr(wrapper, name, getattr(fn, name))


def _lines_of(fn):
    """The lines of a function and the number of the first, from its file, or, on the interpreter, from the text that exec was given."""
    try:
        return inspect.getsourcelines(fn)
    except OSError as error:
        found = executed_source(fn) if knobs.runtime.interpret else None
        if found is None:
            raise ValueError(f"a kernel's source is read from its file, and {fn.__name__} has none: define it in one") from error
        return found


def _held(module, name):
    """The object at a place of a module, and what it wraps, from the outside to the inside."""
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    while found is not None:
        yield found
        found = getattr(found, "fn", None)


def held_at(module, name, depth):
    """The object that `pickled_by_name` has described."""
    return next(itertools.islice(_held(module, name), depth, None))


def pickled_by_name(wrapper, function):
    """What __reduce__ returns for the wrapper of a function: the name of its place in a module, where other wrappers may be around it."""
    module, name = function.__module__, function.__qualname__
    try:
        depth = next(depth for depth, found in enumerate(_held(module, name)) if found is wrapper)
    except (ImportError, AttributeError, StopIteration):
        raise pickle.PicklingError(f"{wrapper!r} cannot be pickled: it is pickled by its name, and is not found as {module}.{name}") from None
    return held_at, (module, name, depth)


class JITCallable:
    """A function that kernels may call."""

    def __init__(self, fn):
        self.fn, self.signature = fn, inspect.signature(fn)
        self.raw_src, self.starting_line_number = _lines_of(fn)
        # The position of `def`: its line in the file, and its column, counted from 1.
        definition = next((index for index, line in enumerate(self.raw_src) if line.lstrip().startswith("def ")), 0)
        self.file_name = fn.__code__.co_filename
        self.def_file_line_number = self.starting_line_number + definition
        self.def_file_col_number = len(self.raw_src[definition]) - len(self.raw_src[definition].lstrip()) + 1
        source = textwrap.dedent("".join(self.raw_src))
        start = re.search(r"^def\s+\w+\s*\(", source, re.MULTILINE)
        self._src = source[start.start():] if start else source
        self._fn_name = f"{fn.__module__}.{fn.__qualname__}"
        _take_names(self, fn, "__globals__")

    def get_capture_scope(self):
        return self.__globals__ | inspect.getclosurevars(self.fn).nonlocals

    def parse(self):
        """The function as a tree of Python's module `ast`: a Module with one FunctionDef."""
        tree = ast.parse(self._src)
        if [type(item) for item in tree.body] != [ast.FunctionDef]:
            raise ValueError(f"the source of {self.__name__} is not one function")
        return tree

    @property
    def type(self):
        return constexpr_type(self)

    @property
    def src(self):
        return self._src

    @src.setter
    def src(self, text):
        raise AttributeError("the source of a kernel cannot be set; _unsafe_update_src replaces it")


def _place(name):
    """A property for the file or the line at which a kernel begins. Programs that make a kernel from another one's text set it afterwards."""

    def put(self, value):
        self.__dict__[name] = value
        if "_cache_key" in self.__dict__:  # the kernel is complete
            self._capture_source(self._src)

    return property(lambda self: self.__dict__[name], put)


_OBSERVED = frozenset(("run", "debug", "pre_run_hooks"))


class JITFunction(_core.Kernel, JITCallable, KernelInterface):
    file_name, def_file_line_number = _place("file_name"), _place("def_file_line_number")
    known = weakref.WeakValueDictionary()  # {name of the function: kernel} of all kernels

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None,
                 repr=None, launch_metadata=None, any_size=False):
        _core.Kernel.__init__(self)
        JITCallable.__init__(self, fn)
        self.module = fn.__module__
        self.version = version
        self.do_not_specialize = list(do_not_specialize or [])
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or [])
        self.debug = debug
        self.noinline = bool(noinline)
        self.any_size = bool(any_size)
        self._repr = repr
        self.launch_metadata = launch_metadata
        self._interpreted = knobs.runtime.interpret  # the setting at the time when the kernel is made
        self.pre_run_hooks = []
        self.used_global_vals = {}
        self.kernel = None
        self.params = []
        for index, param in enumerate(self.signature.parameters.values()):
            listed = [index in names or param.name in names
                      for names in (self.do_not_specialize, self.do_not_specialize_on_alignment)]
            self.params.append(KernelParam(index, param, *listed))
        self.arg_names = [param.name for param in self.params]
        self.constexprs = [param.num for param in self.params if param.is_constexpr]
        self._cache_key = None
        self._pending = {}  # {key: kernel that an AsyncCompileMode is compiling}
        self._given = {}  # {key: kernel that a program has put into `device_caches`}
        self._key_cache = {}  # what compute_cache_key has computed
        JITFunction.known[self._fn_name] = self
        self._capture_source("".join(self.raw_src))

    def _capture_source(self, source):
        code = self.fn.__code__
        line = self.def_file_line_number if source.startswith("def ") else self.starting_line_number
        cells = dict(zip(code.co_freevars, self.fn.__closure__ or ()))
        self._capture(source, _shown(self.file_name), line, self.__name__, self.fn.__globals__, cells, [param.row() for param in self.params],
                      self.noinline, self.any_size, [p.name for p in self.params if p.do_not_specialize],
                      [p.name for p in self.params if p.do_not_specialize_on_alignment], self._interpreted)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name in _OBSERVED:
            self._tell_launches()

    def __delattr__(self, name):
        object.__delattr__(self, name)
        if name in _OBSERVED:
            self._tell_launches()

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._tell_launches()

    def _tell_launches(self):
        """Called when an attribute has changed that launches ask for (isWatched in bindings/launch.cpp)."""
        own = self.__dict__
        hooks = own.get("pre_run_hooks")
        self._observe([] if hooks is None else hooks, own.get("debug") is not None or "run" in own)

    def _watched(self, grid):
        """`kernel[grid]` for launches with hooks, with checks to turn on, or with another `run`."""
        return partial(self.run, grid=grid, warmup=False)

    def run(self, *args, grid, warmup, **kwargs):
        runtime = knobs.runtime
        # A call may turn off the checks that its kernel asks for, but not those that the process asks for.
        if runtime.debug or (self.debug and kwargs.get("debug") is None):
            kwargs["debug"] = True
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        if warmup == DRY_RUN:
            return self.dry_run(grid, *args, **kwargs)
        if warmup:
            return self._warm_up(args, kwargs)
        if not runtime.launch_enter_hook and not runtime.launch_exit_hook:
            return self.launch(grid, *args, **kwargs)
        return self._run_watched(args, kwargs, grid)

    def _run_watched(self, args, kwargs, grid):
        """Launches, with the calls of hooks before and after."""
        runtime = knobs.runtime
        kernel = self.prepare(*args, **kwargs)
        if kernel is None:  # a hook has refused the compilation
            return None
        metadata = LazyDict({"name": kernel.name, "function": kernel.function, "stream": driver.active.get_current_stream()}, kernel)
        metadata.launch = (self, args, kwargs, grid)
        if self.launch_metadata is not None:
            metadata.add(self._described_launch, (kernel, grid, args, kwargs))
        if runtime.launch_enter_hook:
            runtime.launch_enter_hook(metadata)
        kernel = self.launch(grid, *args, **kwargs)
        if runtime.launch_exit_hook:
            runtime.launch_exit_hook(metadata)
        return kernel

    def _described_launch(self, kernel, grid, args, kwargs):
        bound = self._bind(*args, **kwargs)
        return self.launch_metadata(grid(bound) if callable(grid) else grid, kernel.metadata, bound)

    def _warm_up(self, args, kwargs):
        mode = active_mode.get()
        if mode is None or _core.engine() != "cpu":
            return self.launch(None, *args, **kwargs)
        key = self._describe(*args, **kwargs).key
        self._pending[key] = mode.submit((self, key), lambda: self.launch(None, *args, **kwargs), lambda kernel: None)
        return self._pending[key]

    def warmup(self, *args, grid=None, **kwargs):
        driver.active  # types do not tell the machine, so the active one is meant
        constant = {param.name for param in self.params if param.is_constexpr}
        wrapped = [value if index in self.constexprs else MockTensor.wrap_dtype(value) for index, value in enumerate(args)]
        named = {name: value if name in constant else MockTensor.wrap_dtype(value) for name, value in kwargs.items()}
        return self.run(*wrapped, grid=grid, warmup=True, **named)

    def add_pre_run_hook(self, hook):
        """Calls `hook` with the arguments of every launch before the launch."""
        if not callable(hook):
            raise TypeError("a hook is a function")
        self.pre_run_hooks.append(hook)

    def preload(self, specialization_data):
        """Compiles the specialisation that hooks received as `specialization_data`."""
        return preload(self, specialization_data)

    def create_binder(self):
        """({}, {}, target, back end, binder): runtime.specialization.make_binder describes the binder."""
        target = driver.active.get_current_target()
        return {}, {}, target, make_backend(target), make_binder(self)

    # What `device_caches` gives is enough to compile a kernel for arguments without a launch, with these functions.

    def _pack_args(self, backend, kwargs, bound_args, specialization, options):
        """(options, signature, constants by path, facts by path) of an ASTSource, from what a binder has returned."""
        return pack_arguments(self, backend, kwargs, bound_args, specialization)

    @property
    def ASTSource(self):
        from ..compiler import ASTSource
        return ASTSource

    @property
    def CompiledKernel(self):
        from ..compiler import CompiledKernel
        return CompiledKernel

    @staticmethod
    def compile(src, target=None, options=None, _env_vars=None):
        from ..compiler import compile
        return compile(src, target=target, options=options)

    def is_gluon(self):
        return False

    @property
    def cache_key(self):
        """A text that identifies the kernel's source and everything on which it depends."""
        if self._cache_key is None:
            self._cache_key = self._dependency_hash()
        return self._cache_key

    @property
    def hash(self):
        return self._cache_key

    @hash.setter
    def hash(self, value):
        self._cache_key = value
        if value is None:
            self._reset()

    @property
    def device_caches(self):
        """The specialisations in memory, by device."""
        return DeviceCaches(self)

    def _unsafe_update_src(self, new_src):
        """Replaces the source. Kernels that call this function keep the old one until their `hash` is set to None."""
        self._src = new_src
        self._cache_key = None
        self._capture_source(new_src)

    def repr(self, _=None):
        return self.__name__ if self._repr is None else self._repr(_)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__} is code for a kernel: launch it, as {self.__name__}[grid](...), or call it in another one")

    def __repr__(self):
        return f"{type(self).__name__}({self.module}:{self.__qualname__})"

    def __reduce__(self):
        """Pickles the kernel by name. One whose function was removed (as PyTorch does, which needs only the compiled code) is pickled by its description."""
        if self.fn is not None:
            return pickled_by_name(self, self)
        return _without_function, (), {**self.__dict__, "_pending": {}, "_given": {}, "_key_cache": {}, "_cache_key": self.cache_key}


_RUN = JITFunction.run  # launches skip this function unless something watches them, but not one that a program has put in its place


class InterpretedFunction(JITFunction):
    """A kernel that was made while TRITON_INTERPRET=1: PyTorch recognises such kernels by this class."""


def _without_function():
    made = JITFunction.__new__(JITFunction)
    _core.Kernel.__init__(made)
    return made


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None,
        noinline=None, any_size=False):
    """Marks a function as a kernel, or as a function that kernels call.

    repr: a function that returns the name of a specialisation. launch_metadata: a function of (grid, metadata, args) for
    profilers. do_not_specialize: parameters whose values must not lead to new code. debug: keep device_assert and overflow
    checks. noinline: keep calls to this function as calls. any_size: tiles of this kernel may have sizes that are no powers of two
    (beyond upstream).
    """

    def decorate(function):
        if not inspect.isfunction(function):
            raise TypeError(f"@jit needs a function, not {function!r}: write it directly above the function, below all other decorators")
        made = InterpretedFunction if knobs.runtime.interpret else JITFunction
        return made(function, version=version, do_not_specialize=do_not_specialize,
                    do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline, repr=repr,
                    launch_metadata=launch_metadata, any_size=any_size)

    return decorate if fn is None else decorate(fn)


def helper_kernel(function):
    """A kernel from a Python method or constexpr function, which the compiler follows where the arguments are run-time values."""
    function = getattr(function, "fn", function)
    made = _HELPERS.get(function)
    if made is None:
        made = _HELPERS[function] = JITFunction(function)
    return made


_HELPERS = weakref.WeakKeyDictionary()


class BoundConstexprFunction:
    def __init__(self, instance, function):
        self.__self__ = instance
        self.__func__ = function
        self.__name__ = function.__name__

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)


class ConstexprFunction:
    """A Python function that kernels call at compile time, with constants."""

    def __init__(self, fn):
        self.fn = fn
        _take_names(self, fn)
        self._replaced_src = ""

    @property
    def src(self):
        return self._replaced_src or self._own_src()

    def _own_src(self):
        return textwrap.dedent(inspect.getsource(self.fn))

    @property
    def cache_key(self):
        """A text that identifies the function's computation."""
        return named_fingerprint(self)

    def _unsafe_update_src(self, new_src):
        """Changes the keys of kernels that call this function. The function itself does not change."""
        self._replaced_src = "" if new_src == self._own_src() else new_src

    def __reduce__(self):
        return pickled_by_name(self, self)

    def __get__(self, instance, owner):
        return self if instance is None else BoundConstexprFunction(instance, self)

    def __call__(self, *args, _semantic=None, **kwargs):
        if not kwargs:  # the way in which host code calls it
            for value in args:
                if type(value) is not int:
                    break
            else:
                return self.fn(*args)
        return self.fn(*map(_unwrap_if_constexpr, args), **{name: _unwrap_if_constexpr(value) for name, value in kwargs.items()})


class CeilingDivision(ConstexprFunction):
    """cdiv. Grid functions call it in every launch, so it divides two ints without another call."""

    def __call__(self, x, y, _semantic=None):
        if type(x) is int and type(y) is int:
            return (x + y - 1) // y
        return super().__call__(x, y)


def constexpr_function(fn):
    """Lets kernels call a Python function at compile time, with constants as arguments and as result."""
    return ConstexprFunction(fn)


class MockTensor:
    """Stands for a tensor of an element type where only types matter: in warm-ups."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @classmethod
    def wrap_dtype(cls, value):
        """A stand-in for an element type, ours or PyTorch's; any other value is returned unchanged."""
        is_type = isinstance(value, dtype) or f"{type(value).__module__}.{type(value).__name__}" == "torch.dtype"
        return cls(value) if is_type else value

    def stride(self):
        return tuple(math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape)))

    data_ptr = ptr_range = staticmethod(lambda: 0)


def _address(array):
    return array.data_ptr() if hasattr(array, "data_ptr") else array.__array_interface__["data"][0]


def _made_by(*names):
    """A method that wraps the result of the base's first method among these names."""

    def method(self, *args, **kwargs):
        make = next(getattr(self.base, name) for name in names if hasattr(self.base, name))
        return TensorWrapper(make(*args, **kwargs), self.dtype)

    return method


class TensorWrapper:
    """A tensor whose elements are read as another type of the same size. `base` is the tensor; other attributes are its own (shape, device, stride())."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype

    def __getattr__(self, name):
        if name.startswith("__") or "base" not in vars(self):  # asked by copy and pickle
            raise AttributeError(name)
        return getattr(self.base, name)

    stride = property(lambda self: self.base.stride)
    cpu, to, new_empty, clone = _made_by("cpu"), _made_by("to"), _made_by("new_empty"), _made_by("clone", "copy")

    def copy_(self, other):
        self.base.copy_(other.base)

    def data_ptr(self):
        return _address(self.base)

    def element_size(self):
        size = getattr(self.base, "element_size", None)
        return size() if size else self.base.itemsize

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """The same memory with elements of another type of the same size: `reinterpret(bytes, tl.float8e5)`."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr") or hasattr(tensor, "__array_interface__"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"reinterpret takes a tensor or an array, not {type(tensor).__name__}")


def mangle_type(argument):
    """The word for the type of a launch argument in a signature."""
    if argument is None or isinstance(argument, constexpr):
        return "constexpr"
    if isinstance(argument, bool):
        return "i1"
    if isinstance(argument, int):
        return "i32" if -2**31 <= argument < 2**31 else "i64" if argument < 2**63 else "u64"
    if isinstance(argument, float):
        return "fp32"
    if isinstance(argument, str):
        return argument
    if isinstance(argument, tuple):
        return tuple(map(mangle_type, argument))
    if isinstance(argument, TensorDescriptor):
        return f"tensordesc<{mangle_type(argument.base)[1:]}{list(argument.block_shape)}>"
    return "*" + type_canonicalisation_dict[str(argument.dtype).rpartition(".")[2]]


def native_specialize_impl(backend, argument, is_const=False, specialize_value=True, align=True):
    """(type, facts) of a launch argument, for which a kernel is compiled. The facts are letters that backend.parse_attr takes; for a constant,
    the constant takes their place."""
    if isinstance(argument, tuple):
        members = [native_specialize_impl(backend, member, is_const, specialize_value, align) for member in argument]
        return tuple(word for word, _ in members), tuple(facts for _, facts in members)
    word = mangle_type(argument)
    if word == "constexpr" or (specialize_value and type(argument) is int and argument == 1):
        return "constexpr", argument
    if not specialize_value or isinstance(argument, (bool, float, TensorDescriptor)):
        return word, None
    if isinstance(argument, int):
        return word, backend.get_int_specialization(argument, align=align)
    return ("*k" + word[1:] if is_const else word), backend.get_tensor_specialization(argument, align=align)
