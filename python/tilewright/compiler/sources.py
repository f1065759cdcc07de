"""The sources of a compilation: a kernel with types in place of arguments, or IR text."""

import hashlib
from pathlib import Path

from .. import _core
from ..backends.compiler import Language
from .operations import Module


class ASTSource:
    """A kernel, and a description of its arguments in place of the arguments themselves.

    signature: {parameter: "*fp32" | "i32" | "constexpr" | ...}. constexprs: {parameter or (index,): value}.
    attrs: {(index,): [["tt.divisibility", 16]]}.
    """

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.name = fn.__name__
        self.ext = "ttir"
        self.language = Language.TRITON
        if not isinstance(signature, dict):
            raise TypeError("signature is a dict of parameter names and types")
        for key in signature:
            if not isinstance(key, str):
                raise TypeError("Signature keys must be string: they are the names of parameters")
        self.signature = signature
        self.constants = {self._path(key): value for key, value in (constexprs or {}).items()}
        self.attrs = {self._path(key): value for key, value in (attrs or {}).items()}

    @classmethod
    def of_handle(cls, fn, handle):
        """The source that a launch has compiled."""
        types, constants, aligned = handle.description
        names = fn.arg_names
        return cls(fn, {name: word or "constexpr" for name, word in zip(names, types)},
                   constants, {path: [["tt.divisibility", 16]] for path in aligned})

    def _path(self, key):
        """The path of a constant or an attribute: the index of a parameter, followed by indices in nested tuples."""
        if isinstance(key, str):
            return (self.fn.arg_names.index(key),)
        return key if isinstance(key, tuple) else (key,)

    def hash(self):
        """A text that identifies the source."""
        constants = [(path, getattr(value, "cache_key", None) or str(value)) for path, value in sorted(self.constants.items())]
        text = f"{self.fn.cache_key}-{self.attrs}-{sorted(self.signature.items())}-{constants}"
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self):
        """(types in parameter order, None for a constant; {path: constant}; paths of multiples of 16)."""
        types, constants = [], dict(self.constants)
        for index, param in enumerate(self.fn.params):
            word = self.signature.get(param.name)
            if (index,) in constants:
                types.append(None)
            elif word is None or word == "constexpr":
                if word is None and not param.has_default:
                    raise ValueError(f"the signature has no type for the parameter '{param.name}'")
                constants[index,] = param.default if param.has_default else None
                types.append(None)
            else:
                types.append(word)
        aligned = [path for path, attributes in self.attrs.items()
                   if any(name == "tt.divisibility" and value % 16 == 0 for name, value in attributes)]
        return types, constants, aligned

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """The tt IR that the front end emits, as operations to walk over. Arguments other than the target and the options are ignored."""
        name = str(target.arch) if target.backend == "cuda" else ""
        return Module(*_core.operations_described(self.fn, *self.describe(), vars(options), name))


class IRSource:
    """IR text in a .ttir or .ttgir file."""

    def __init__(self, path, context=None, backend=None):
        self.path = Path(path)
        self.ext = self.path.suffix[1:]
        self.language = Language.TRITON
        if self.ext not in ("ttir", "ttgir", "mlir"):
            raise ValueError(f"compile: cannot read '.{self.ext}' files; kernels come as .ttir or .ttgir text")
        self.src = self.path.read_text()

    def hash(self):
        return hashlib.sha256(self.src.encode()).hexdigest()
