"""The names of `triton.language` as Python sees them.

Kernels are compiled from their source, so Python does not execute builtins: a builtin is a name with a signature and
documentation, from the compiler's own table. The parts that host code uses are implemented here: element types with
their properties, `constexpr`, and the classes that annotations and isinstance name.
"""

import builtins
import enum
import operator
from math import copysign as _copysign  # a module called math would hide tl.math
from typing import NamedTuple

from .. import _core

TRITON_MAX_TENSOR_NUMEL = 1048576
TRITON_BUILTIN = "__triton_builtin__"


# ---- element types


class base_type:
    """The base class of all types."""

    def mangle(self):
        """A name for the type that can be part of a function's name."""
        raise NotImplementedError(f"{type(self).__name__} has no such name")


class _Element(NamedTuple):
    """A row of the table of element types. Integers have a sign; floats have mantissa bits and an exponent bias."""

    family: str  # "signed", "unsigned", "float", "none"
    bits: int
    word: str  # the word for the type in mangled names
    long_name: str
    mantissa: int = 0
    bias: int = 0

    @property
    def is_integer(self):
        return self.family in ("signed", "unsigned")

    def bounds(self):
        """(minimum, maximum) of the type."""
        if self.family == "signed":
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, (1 << self.bits) - 1


_FAMILIES = {"boolean": "unsigned", "signedInt": "signed", "unsignedInt": "unsigned", "fp8": "float", "floating": "float", "none": "none"}


def _elements():
    """The rows by name, from the compiler's table of element types."""
    for name, _, attribute, group, bits, mantissa, bias, _ in _core.element_types():
        family = _FAMILIES[group]
        word = {"none": "V", "signed": f"i{bits}", "unsigned": f"u{bits}", "float": name}[family]
        yield name, _Element(family, bits, word, attribute, mantissa, bias)


_ELEMENTS = dict(_elements())


def _names(chosen):
    return [name for name, element in _ELEMENTS.items() if chosen(element)]


class dtype(base_type):
    """An element type. `name` is "fp32", "int32", "uint8", "bf16", "fp8e4nv" and so on."""

    SIGNEDNESS = enum.Enum("SIGNEDNESS", ["SIGNED", "UNSIGNED"], start=0, module=__name__, qualname="dtype.SIGNEDNESS")
    KIND = enum.Enum("KIND", ["BOOLEAN", "INTEGRAL", "FLOATING"], start=0, module=__name__, qualname="dtype.KIND")
    SINT_TYPES = _names(lambda element: element.family == "signed")
    UINT_TYPES = _names(lambda element: element.family == "unsigned")
    FP_TYPES = _names(lambda element: element.family == "float")
    STANDARD_FP_TYPES = _names(lambda element: element.family == "float" and element.bits > 8)
    OTHER_TYPES = _names(lambda element: element.family == "none")

    _tilewright_path = "triton.language.dtype"

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        element = _ELEMENTS.get(name) if isinstance(name, str) else None
        if element is None:
            raise AssertionError(f"there is no element type '{name}'")
        self.name = name
        self.primitive_bitwidth, self.itemsize = element.bits, -(-element.bits // 8)
        if element.family == "float":
            self.fp_mantissa_width, self.exponent_bias = element.mantissa, element.bias
        elif element.is_integer:
            self.int_bitwidth, self.int_signedness = element.bits, dtype.SIGNEDNESS[element.family.upper()]

    @staticmethod
    def is_dtype(name):
        return name in _ELEMENTS

    @property
    def _row(self):
        """The type's row in the table; None for composite types."""
        return _ELEMENTS.get(self.name)

    @property
    def _tilewright_name(self):
        return self.name

    @property
    def cache_key_part(self):
        return self.name

    def kind(self):
        return dtype.KIND.BOOLEAN if self.is_bool() else dtype.KIND.INTEGRAL if self.is_int() else dtype.KIND.FLOATING

    def _bounds(self):
        if not self.is_int():
            raise AssertionError(f"{self.name} is no integer type")
        return self._row.bounds()

    def get_int_min_value(self):
        return self._bounds()[0]

    def get_int_max_value(self):
        return self._bounds()[1]

    # A tile's type has an element type; an element type is its own.
    @property
    def scalar(self):
        return self

    element_ty = scalar

    def with_element_ty(self, element_ty):
        return element_ty

    def codegen_name(self):
        return self._row.long_name if self._row else self.name

    def mangle(self):
        return self._row.word

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return type(other) is dtype and other.name == self.name

    def __hash__(self):
        return hash((self.name,))

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"triton.language.{self.codegen_name()}"


def _add_questions():
    """Adds is_floating(), is_int32() and so on: questions about the row, which are False for types without one."""

    def ask(question):
        return lambda self: self._row is not None and question(self._row)

    questions = {
        "is_fp8": lambda row: row.family == "float" and row.bits == 8,
        "is_floating": lambda row: row.family == "float",
        "is_standard_floating": lambda row: row.family == "float" and row.bits > 8,
        "is_int_signed": lambda row: row.family == "signed",
        "is_int_unsigned": lambda row: row.family == "unsigned",
        "is_int": lambda row: row.is_integer,
        "is_bool": lambda row: row.is_integer and row.bits == 1,
        "is_void": lambda row: row.family == "none",
    }
    for name, element in _ELEMENTS.items():
        questions.setdefault(f"is_{name}", lambda row, element=element: row == element)
    for name, question in questions.items():
        setattr(dtype, name, ask(question))
    # The composite types pointer_type and block_type override these results.
    for name in ("is_block", "is_ptr", "is_const"):
        setattr(dtype, name, staticmethod(lambda: False))


_add_questions()


class _OfParts:
    """A composite type. It equals every type of its class with equal `_parts`."""

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return type(other) is type(self) and other._parts() == self._parts()

    def __hash__(self):
        return hash(self._parts())

    def __repr__(self):
        return self.name


class _OfElements(_OfParts, dtype):
    """A type of addresses or tiles of an element type."""

    element_ty = property(lambda self: self._element)


class pointer_type(_OfElements):
    """The type of an address of elements."""

    _tilewright_path = "triton.language.pointer_type"
    primitive_bitwidth, itemsize = 64, 8

    def __init__(self, element_ty, address_space=1, const=False):
        self._element, self.address_space, self.const = _unwrap_if_constexpr(element_ty), address_space, const
        if not isinstance(self._element, dtype):
            raise TypeError(f"the elements of a type have a dtype, not a {type(self._element).__name__}")
        self.name = ("const_" if const else "") + f"pointer<{self._element}>"

    def _parts(self):
        return self._element, self.address_space, self.const

    @property
    def _tilewright_name(self):
        return ("*k" if self.const else "*") + self._element._tilewright_name

    is_ptr = staticmethod(lambda: True)

    def is_const(self):
        return self.const

    def mangle(self):
        return "P" + self._element.mangle()


class block_type(_OfElements):
    """The type of a tile."""

    _tilewright_path = "triton.language.block_type"

    def __init__(self, element_ty, shape):
        self._element = _unwrap_if_constexpr(element_ty)
        self.shape = builtins.tuple(_unwrap_shape(shape))
        if not self.shape:
            raise TypeError("a tile has a dimension at least")
        self.numel = 1
        for extent in self.shape:
            if not isinstance(extent, int):
                raise TypeError(f"the sizes of a tile are integers, not {type(extent).__name__}")
            if extent <= 0 or extent & (extent - 1):
                raise ValueError(f"the sizes of a tile are powers of two, not {extent}")
            self.numel *= extent
        if self.numel > TRITON_MAX_TENSOR_NUMEL:
            raise ValueError(f"a tile of {self.numel} elements is too large: at most {TRITON_MAX_TENSOR_NUMEL}")
        self.name = f"<{[str(extent) for extent in self.shape]}, {self._element}>"
        self.primitive_bitwidth = self._element.primitive_bitwidth
        self.itemsize = self._element.itemsize

    def _parts(self):
        return self._element, self.shape

    scalar = _OfElements.element_ty
    is_block = staticmethod(lambda: True)

    def get_block_shapes(self):
        return self.shape

    def with_element_ty(self, element_ty):
        return block_type(element_ty, self.shape)

    @property
    def nbytes(self):
        return self.numel * self.itemsize

    def mangle(self):
        return f"{self._element.mangle()}S{'_'.join(map(str, self.shape))}S"


class tuple_type(_OfParts, base_type):
    """The type of a tuple of values, with their names if they have some."""

    _tilewright_path = "triton.language.tuple_type"

    def __init__(self, types, fields=None):
        self.types, self.fields = types, fields or len(types) * [""]

    def _parts(self):
        return builtins.tuple(self.types), builtins.tuple(self.fields)

    @property
    def name(self):
        members = (":".join(filter(None, (field, str(kind)))) for field, kind in zip(self.fields, self.types))
        return f"[{','.join(members)}]"

    def mangle(self):
        return "T" + "_".join(kind.mangle() for kind in self.types) + "T"

    __str__ = _OfParts.__repr__


class tensor_descriptor_base_type(base_type):
    def __init__(self, block_type):
        self.block_type = block_type

    def mangle(self):
        return f"TD{self.block_type.mangle()}"

    def __str__(self):
        return f"tensor_descriptor<{self.block_type}>"


class tensor_descriptor_type(tensor_descriptor_base_type):
    pass


class slice_type(dtype):
    def __init__(self):
        self.name = "slice_type"


# ---- constants


class constexpr_type(_OfParts, base_type):
    """The type of one constant: every value has its own type."""

    _tilewright_path = "triton.language.constexpr_type"

    def __init__(self, value):
        self.value = value

    def _parts(self):
        return self.value

    name = property(lambda self: f"constexpr_type[{self.value}]")

    def mangle(self):
        return f"c{self.value}"


class base_value:
    """The base class of all values of the language."""

    type = None


class constexpr(base_value):
    """A value that is known when a kernel is compiled."""

    _tilewright_path = "triton.language.constexpr"

    def __init__(self, value):
        self.value = _unwrap_if_constexpr(value)
        self.type = constexpr_type(self.value)

    @property
    def _tilewright_value(self):
        return self.value

    def __reduce__(self):
        # Not by the class: if Tilewright is installed as `triton`, the class has that name (_alias.py), which a worker may not have yet.
        return constexpr_of, (self.value,)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((self.value, constexpr_type))

    def __getitem__(self, index):
        return constexpr(self.value[_unwrap_if_constexpr(index)])

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __not__(self):
        return constexpr(not self.value)

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))


def constexpr_of(value):
    return constexpr(value)


def _ask_member(kind, member, **questions):
    """Lets a class answer Python's own functions (len=len, bool=bool) by asking one of its members."""
    for name, question in questions.items():
        setattr(kind, f"__{name}__", lambda self, question=question: question(getattr(self, member)))


def _add_operators():
    def forward(function):
        return lambda self, other: constexpr(function(self.value, _unwrap_if_constexpr(other)))

    def reflected(function):
        return lambda self, other: constexpr(function(_unwrap_if_constexpr(other), self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
        function = getattr(operator, name if name not in ("and", "or") else name + "_")
        setattr(constexpr, f"__{name}__", forward(function))
        setattr(constexpr, f"__r{name}__", reflected(function))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(constexpr, f"__{name}__", forward(getattr(operator, name)))
    _ask_member(constexpr, "value", index=operator.index, int=int, float=float, bool=bool, iter=iter, len=len)
    for name in ("neg", "pos", "invert"):
        setattr(constexpr, f"__{name}__", lambda self, function=getattr(operator, name): constexpr(function(self.value)))


_add_operators()


def _unwrap_if_constexpr(value):
    if isinstance(value, list):
        return [_unwrap_if_constexpr(item) for item in value]
    if type(value) is builtins.tuple:
        return builtins.tuple(_unwrap_if_constexpr(item) for item in value)
    return value.value if isinstance(value, constexpr) else value


def _unwrap_shape(shape):
    return [_unwrap_if_constexpr(extent) for extent in _unwrap_if_constexpr(shape)]


# ---- classes that annotations and isinstance name, and that kernels use by name


class const:
    """Annotates a pointer through which a kernel must not store."""

    _tilewright_path = "triton.language.const"


class tensor(base_value):
    """A value of a running kernel. Host code has no such values."""

    _tilewright_path = "triton.language.tensor"

    def __init__(self, handle, type):
        raise RuntimeError("tl.tensor values exist in kernels only")


class tuple(base_value):
    """A tuple of values in kernels."""

    _tilewright_path = "triton.language.tuple"

    def __init__(self, args, type=None, fields=None):
        self.values = list(args)
        self._fields = fields

    def __getattr__(self, name):
        fields = self.__dict__.get("_fields") or ()
        if name in fields:
            return self.values[fields.index(name)]
        raise AttributeError(name)

    @property
    def _tilewright_value(self):
        return builtins.tuple(self.values)

    def __getitem__(self, index):
        return self.values[_unwrap_if_constexpr(index)]

    def __eq__(self, other):
        if not isinstance(other, (tuple, builtins.tuple, list)):
            return NotImplemented
        return builtins.tuple(self.values) == builtins.tuple(other)

    def __hash__(self):
        return hash(builtins.tuple(self.values))


_ask_member(tuple, "values", iter=iter, len=len)


class slice:
    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()


class tensor_descriptor_base(base_value):
    pass


class tensor_descriptor(tensor_descriptor_base):
    """A descriptor in kernels: a strided tensor, and the shape of the blocks that are loaded from it or stored to it."""

    _tilewright_path = "triton.language.tensor_descriptor"


class range(base_value):
    """`for i in tl.range(...)`: a loop at run time, with hints for the compiler."""

    _tilewright_path = "triton.language.range"

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False,
                 warp_specialize=False, disable_licm=False, early_exit=False):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor

    def __iter__(self):
        raise RuntimeError("tl.range is for the loops of kernels")

    __next__ = __iter__


class static_range(base_value):
    """`for i in tl.static_range(...)`: a loop that is unrolled at compile time."""

    _tilewright_path = "triton.language.static_range"

    def __init__(self, arg1, arg2=None, step=None):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step

    def __iter__(self):
        raise RuntimeError("tl.static_range can only be used in @triton.jit'd functions")

    __next__ = __iter__


class condition(base_value):
    """`while tl.condition(...)`: a loop's condition, with hints for the compiler."""

    _tilewright_path = "triton.language.condition"

    def __init__(self, arg1, disable_licm=False, early_exit=False):
        self.condition = arg1
        self.disable_licm = disable_licm


class PropagateNan(enum.Enum):
    """How minimum, maximum and clamp treat NaN."""

    NONE = 0
    ALL = 0xFFFF


PropagateNan._tilewright_path = "triton.language.PropagateNan"
for _rule in PropagateNan:
    _rule._tilewright_value = _rule.name.lower()


class builtin_function:
    """A function of the language. Kernels call it; host code can pass it on, or read its documentation."""

    _tilewright_builtin = True
    __triton_builtin__ = True

    def __init__(self, path, signature, summary):
        self._tilewright_path = path
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__module__ = path.rpartition(".")[0]
        text = _core.reference(path.removeprefix("triton.language."))
        self.__doc__ = "\n\n".join(part for part in (signature, f"{summary}." if signature else summary, text) if part)
        self._tilewright_signature = signature

    @property
    def __signature__(self):
        """The parameters, for inspect.signature."""
        import inspect
        text = self._tilewright_signature or "f(*args, **kwargs)"
        scope = {}
        exec(f"def made{text[text.index('('):]}: pass", scope)
        return inspect.signature(scope["made"])

    def __call__(self, *args, **kwargs):
        host = _ON_HOST.get(self.__name__)
        if host and not any(isinstance(value, tensor) for value in args):
            return host(*map(_unwrap_if_constexpr, args), **kwargs)
        raise ValueError(f"Did you forget to add @triton.jit ? {self._tilewright_path} can only be called in a kernel")

    def __reduce__(self):
        return member_named, (self._tilewright_path.removeprefix("triton.language."),)

    def __repr__(self):
        return f"<function {self._tilewright_path}>"


builtin_max, builtin_min = builtins.max, builtins.min


def is_negative_zero(x):
    """True if the number x is -0.0."""
    return x == 0 and _copysign(1, x) < 0


CONSTEXPR_0 = constexpr(0)  # upstream's default for `descending`; other people's kernels repeat it

# The few builtins that make sense for plain numbers outside of kernels.
_ON_HOST = {"cdiv": lambda x, div: (x + div - 1) // div, "to_tensor": lambda x: x, "static_assert": None}


def builtin(fn):
    """Marks a Python function that calls builtins of the language. Kernels call it; its statements become their code."""
    fn.__triton_builtin__ = True
    fn._tilewright_user_builtin = True
    return fn


def is_builtin(fn):
    return getattr(fn, TRITON_BUILTIN, False) is True


def must_use_result(x, s=True):
    """Marks a function whose result must be used."""
    why = x if isinstance(x, str) else s

    def mark(function):
        function._must_use_result = why
        return function

    return mark if why is x else mark(x)


def extern(fn):
    return builtin(fn)


# ---- the members themselves, from the compiler's table


def _table():
    return {path: (signature, summary) for path, signature, summary in [*_core.builtins(), *_core.library()]}


_ROWS = _table()
# Each element type under its name in the language: int32, float16, ...
_BY_NAME = {name: dtype(name) for name in _ELEMENTS}
globals().update({element.long_name: _BY_NAME[name] for name, element in _ELEMENTS.items()})
pi32_t = pointer_type(_BY_NAME["int32"])
_WORDS = {word: _BY_NAME[name] for name, signature, *_, others in _core.element_types() for word in (name, signature, *others.split())}


def type_named(text):
    """The type for a word of a signature, such as "*fp32" or "i64"."""
    if text.startswith("*k"):
        return pointer_type(type_named(text[2:]), const=True)
    if text.startswith("*"):
        return pointer_type(type_named(text[1:]))
    return _WORDS[text]


def str_to_ty(name, constant=None):
    if name == "constexpr":
        return constexpr_type(constant)
    return type_named(name)


def get_int_dtype(bitwidth, signed):
    name = "int1" if bitwidth == 1 else f"{'int' if signed else 'uint'}{bitwidth}"
    return _BY_NAME[name]


def members(path):
    """The members of a language module that are not types, as Python objects by name."""
    prefix = path.removeprefix("triton.language").lstrip(".")
    made = {}
    for name, kind in _core.language_members(path):
        if kind in ("type", "module", "other"):
            continue
        full = f"{prefix}.{name}" if prefix else name
        signature, summary = _ROWS.get(full, ("", "a function of the language's library"))
        made[name] = builtin_function(f"{path}.{name}", signature, summary)
    return made


def member_named(path):
    """The Python object for a builtin's path below triton.language, such as "math.exp"."""
    import importlib
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module("tilewright.language" + ("." + module if module else "")), name)


_members = members("triton.language")
globals().update({name: value for name, value in _members.items() if name not in globals()})
