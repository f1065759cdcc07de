"""Guesses signatures for the kernels of a library.

A library's kernels are launched by host code that needs a GPU, models and time. A kernel's signature can mostly be derived from its
source: a parameter from which addresses are computed is a pointer, one whose elements are compared or are indices is a pointer to integers,
a constexpr's value is found at a launch, in a Config or among the defaults, and names tell the rest (a *_scale is a float). Several signatures
are guessed for a kernel, because the source does not tell which element types go together. If all are refused, refine() changes the parameters on which
the refused line depends.
"""

import ast
import collections
import random
import re

DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "int8", "int16": "int16", "int32": "int32",
          "int64": "int64", "uint8": "uint8", "float8e4nv": "fp8e4nv", "float8e5": "fp8e5"}
ELEMENTS = ["fp16", "bf16", "fp32", "i32", "i64"]  # for pointers whose elements nothing tells: one signature for each type
WRAPPERS = {"to", "reshape", "view", "advance", "make_block_ptr", "multiple_of", "max_contiguous", "broadcast_to", "cast", "expand_dims"}
INTEGER = re.compile(r"stride|off|idx|index|size|num|^n_|_n$|len|^(M|N|K|S|T|H|D|B|C|Z|L|B[TKVC])$|block|dim|count|row|col|pid|total|seq")
EXTENT = re.compile(r"stride|^(M|N|K|S|T|H|D|B|C|Z|L|B[TKVC])$|block|dim|size|pid|^n_")
POINTER = re.compile(r"ptr|pointer")
INDICES = re.compile(r"idx|indices|index|_ids|slot|seqlen|seq_len|cu_seq|lens|lengths|offsets|indptr|table|mapping|_locs?$|expert_id|num_tokens|"
                     r"start_loc|positions|count|labels|target")
NUMBER = re.compile(r"eps|scale|scaling|alpha|beta$|^p$|prob|softcap|momentum|lr|decay|temperature|factor|smoothing|theta|slope|coef|limit|weight|"
                    r"gamma|penalt|inv_|sm_|threshold|qmax|qmin|min_val|max_val")
POINTED = [  # (expression for a pointer's name, element types to try in turn)
    (r"mask|flag|has_|is_", ["i1", "i8"]),
    (r"qweight|qzero|packed", ["i32", "u8"]),
    (r"scale|lse|rstd|mean|delta|loss|max|sum|workspace|acc|amax", ["fp32"]),
]
CONSTANTS = [  # (expression for a constexpr's name, values to try in turn)
    (r"acc.*dtype|dtype.*acc", ["fp32"]),
    (r"dtype|_type$", ["fp16", "bf16", "fp32"]),
    (r"^(has|is|use|enable|do|apply|with|even|need|return|store|load|allow|skip|output|include|save|per|fuse|async|quant|disable)_|"
     r"causal|varlen|reverse|debug|training|interleav|transpose", [True, False]),
    (r"activation|^act", ["''", "None"]),
    (r"input_precision|^precision", ["'tf32'"]),
    (r"eps", [1e-6]),
    (r"scale|prob|dropout_p|alpha", [1.0]),
    (r"group_size_m|group_m", [8]),
    (r"bits", [4, 8]),
    (r"stage", [2]),
    (r"split", [1]),
    (r"warps|groups", [4]),
    (r"^(block|tile|chunk|b[a-z]?[a-z]?$)|_pow2|padded|head_?dim|group", [64, 32, 128]),
    (r"^top_?k", [2]),
    (r"^(n|num)_", [8, 2]),
    (r"", [64, 16]),
]
FLOATS, INTEGERS = ["*fp16:16", "*fp32:16", "*bf16:16"], ["*i32:16", "*i64:16", "*u8:16", "*i8:16"]
CHANGES = {  # {kind: kinds that refine() tries in its place}
    "constexpr": ["1", "2", "4", "8", "16", "32", "128", "True", "False", "None", "fp16", "fp32", "''"],
    "pointer": FLOATS + INTEGERS + ["*i1:16", "*fp8e4nv:16", "i32", "fp32"],
    "scalar": ["i32", "fp32", "i64", "*fp16:16", "*i32:16"],
    "descriptor": ["tensordesc<fp16[64,64]>", "tensordesc<fp16[1,64]>", "tensordesc<fp16[64]>", "tensordesc<fp32[64,64]>", "*fp16:16"],
}
GUIDES = [  # (expression for the message, kind that is wrong, kinds that may be right)
    (r"needs a pointer", "scalar", FLOATS + INTEGERS),
    (r"pointer<.*(cannot|is not a condition)|cannot be applied.*pointer<|integer scalars, not pointer", "pointer", ["i32", "fp32"]),
    (r"does not take int", "pointer", FLOATS),
    (r"pointer<.*fp\d+|'(//|%|&|\||<<|>>|\^)' cannot be applied.*fp|integer scalars, not fp|a mask must be", "pointer", INTEGERS + ["*i1:16"]),
    (r"'(//|%)' cannot be applied.*fp|integer scalars, not fp", "scalar", ["i32"]),
    (r"has the value|must be known|static assertion|is not a condition|the new shape has|arange", "constexpr", None),
]


def is_kernel(function):
    names = [ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in function.decorator_list]
    return any(name in ("jit", "triton_jit") or name.endswith("triton.jit") for name in names)


def of_module(tree):
    """The functions that a module binds, also under conditions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from of_module(node)


def literal(node):
    """The text of a constant in a signature; None if the node is no constant."""
    text = ast.unparse(node)
    if text.split(".")[-1] in DTYPES and "." in text:
        return DTYPES[text.split(".")[-1]]
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else None


def base(node):
    """The leftmost operand of an address, from which it is computed."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            node = node.left
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.IfExp):
            node = node.body
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRAPPERS:
            of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in ("tl", "triton")
            given = node.args[:1] + [each.value for each in node.keywords if each.arg in ("base", "input")]
            node = given[0] if of_module and given else node.func.value
        else:
            return node


class Flow:
    """Data flow in a function: from which parameters addresses are computed, and which names depend on which."""

    def __init__(self, function, functions, path):
        arguments = function.args
        self.parameters = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        self.assigned = collections.defaultdict(list)
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) and node.value else []
            for target in targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                    pairs = list(zip(target.elts, node.value.elts))
                for name, value in pairs:
                    if isinstance(name, ast.Name):
                        self.assigned[name.id].append(value)
        self.pointers, self.descriptors, self.integers = set(), set(), set()
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                self.read_call(node, functions, path + (function.name,))
        self.find_integers(function)

    def origin(self, address):
        """The parameter from which an address is computed, or None."""
        node, seen = base(address), set()
        while isinstance(node, ast.Name) and node.id not in self.parameters and node.id not in seen:
            seen.add(node.id)
            node = next((base(value) for value in self.assigned[node.id] if isinstance(base(value), ast.Name)), None)
        leftmost = node.id if isinstance(node, ast.Name) and node.id in self.parameters else None
        if leftmost and (POINTER.search(leftmost.lower()) or not EXTENT.search(leftmost)):
            return leftmost
        reached = [name for name in self.parameters if name in self.parameters_in(address)]
        likely = [name for name in reached if POINTER.search(name.lower())] or [name for name in reached if not INTEGER.search(name)]
        return likely[0] if likely else leftmost

    def parameters_in(self, node):
        """All names on which an expression depends."""
        names, waiting = set(), [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        while waiting:
            name = waiting.pop()
            if name not in names:
                names.add(name)
                waiting += [each.id for value in self.assigned[name] for each in ast.walk(value) if isinstance(each, ast.Name)]
        return names

    def read_call(self, call, functions, path):
        name = ast.unparse(call.func)
        if re.fullmatch(r"tl\.(load|store|atomic_\w+|make_block_ptr|make_tensor_descriptor)", name):
            given = call.args[:1] + [each.value for each in call.keywords if each.arg in ("pointer", "base")]
            if given and (origin := self.origin(given[0])):
                self.pointers.add(origin)
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id in self.parameters:
            if call.func.attr in ("load", "store", "gather", "scatter", "atomic_add"):
                self.descriptors.add(call.func.value.id)
        elif name in functions and name not in path and len(path) < 4:
            callee = Flow(functions[name], functions, path)
            bound = dict(zip(callee.parameters, call.args)) | {each.arg: each.value for each in call.keywords if each.arg}
            for parameter, value in bound.items():
                if parameter in callee.pointers and (origin := self.origin(value)):
                    self.pointers.add(origin)
                if parameter in callee.descriptors and isinstance(value, ast.Name) and value.id in self.parameters:
                    self.descriptors.add(value.id)

    def find_integers(self, function):
        """Finds pointers whose elements are used as addresses, bounds, bits or conditions."""
        names = set()
        for node in ast.walk(function):
            used = []
            if isinstance(node, ast.Call) and re.fullmatch(r"(tl\.|triton\.)?(load|store|atomic_\w+|range|cdiv|static_range)", ast.unparse(node.func)):
                used = node.args[:1] if "range" not in ast.unparse(node.func) else node.args
                used = used + [each.value for each in node.keywords if each.arg == "mask"]
            elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.FloorDiv, ast.BitAnd, ast.BitOr, ast.RShift, ast.LShift, ast.BitXor)):
                used = [node.left, node.right]
            elif isinstance(node, ast.Compare):
                used = [node.left, *node.comparators]
            for each in used:
                names |= {name.id for name in ast.walk(each) if isinstance(name, ast.Name)}
        for name in names:
            for value in self.assigned[name]:
                for call in ast.walk(value):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "tl.load" and call.args and (origin := self.origin(call.args[0])):
                        self.integers.add(origin)


class Kernel:
    """A kernel of a library, with the facts about it in its file."""

    def __init__(self, library, path, tree, function):
        self.library, self.path, self.name, self.function = library, path, function.name, function
        functions = {each.name: each for each in of_module(tree)}
        self.flow = Flow(function, functions, ())
        arguments = function.args
        self.parameters = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        positional = arguments.posonlyargs + arguments.args
        self.defaults = dict(zip([each.arg for each in positional[len(positional) - len(arguments.defaults):]], arguments.defaults))
        self.defaults |= {each.arg: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None}
        self.constants = self.configuration() | self.launched_with(tree)

    def configuration(self):
        """The constexprs of the first Config."""
        for node in ast.walk(ast.Module(self.function.decorator_list, [])):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Config") and node.args and isinstance(node.args[0], ast.Dict):
                pairs = [(key.value, literal(value)) for key, value in zip(node.args[0].keys, node.args[0].values) if isinstance(key, ast.Constant)]
                return {name: value for name, value in pairs if value is not None}
        return {}

    def launched_with(self, tree):
        names, found = [each.arg for each in self.parameters], {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and ast.unparse(node.func.value).split(".")[-1] == self.name:
                bound = dict(zip(names, node.args)) | {each.arg: each.value for each in node.keywords if each.arg in names}
                for name, value in bound.items():
                    if (text := literal(value)) is not None:
                        found.setdefault(name, text)
        return found

    def is_constexpr(self, parameter):
        return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)

    def constant(self, name, attempt):
        if name in self.constants:
            return self.constants[name]
        if name in self.defaults and (text := literal(self.defaults[name])) is not None:
            return text
        values = next(values for expression, values in CONSTANTS if re.search(expression, name.lower()))
        return str(values[attempt % len(values)])

    def pointed(self, name, attempt):
        lower = name.lower()
        if name in self.flow.integers or INDICES.search(lower):
            return ["i32", "i64", ELEMENTS[attempt % 3]][min(attempt // 2, 2)] if name in self.flow.integers else ["i32", "i64"][attempt % 2]
        elements = next((types for expression, types in POINTED if re.search(expression, lower)), ELEMENTS)
        return elements[attempt % len(elements)]

    def guess(self, parameter, attempt):
        """A parameter's type or constant in the signature number `attempt`; None if its default is used."""
        name = parameter.arg
        if self.is_constexpr(parameter):
            return self.constant(name, attempt)
        if name in self.flow.descriptors:
            return f"tensordesc<{ELEMENTS[attempt % 3]}[64,64]>"
        if name in self.flow.pointers or re.search(r"ptr$|_ptr|pointer", name.lower()) and not INTEGER.search(name):
            return f"*{self.pointed(name, attempt)}:16"
        default = literal(self.defaults[name]) if name in self.defaults else None
        if default == "None":
            return None
        if default in ("True", "False"):
            return "i1"
        annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if annotation == "float" or default and "." in default or NUMBER.search(name.lower()) and not re.search("stride|num|off|size", name.lower()):
            return "fp32"
        return "i32:16" if "stride" in name and attempt % 2 == 0 else "i32"

    def signatures(self):
        """The guesses, {parameter: text} each."""
        found = []
        for attempt in range(len(ELEMENTS) + 2):
            one = {each.arg: text for each in self.parameters if (text := self.guess(each, attempt)) is not None}
            if one not in found:
                found.append(one)
        return found

    def smaller(self, signature):
        """The same signature with smaller tiles: a tile with three guessed sizes of 64 is larger than any that is launched."""
        return {name: "16" if self.kind(name, signature) == "constexpr" and text in ("64", "128") else text for name, text in signature.items()}

    def kind(self, name, signature):
        parameter = next(each for each in self.parameters if each.arg == name)
        text = signature.get(name, "i32")
        return "constexpr" if self.is_constexpr(parameter) else "descriptor" if text.startswith("tensordesc") else "pointer" if text.startswith("*") else "scalar"

    def refine(self, signature, line, message, attempt):
        """Another signature, in which a parameter on which the refused line depends has another type or value."""
        nodes = [node for node in ast.walk(self.function) if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno]
        names = self.flow.parameters_in(nodes[-1]) if nodes and not isinstance(nodes[-1], ast.FunctionDef) else set()
        dice = random.Random(f"{self.name} {line} {attempt}")
        candidates = [each.arg for each in self.parameters if each.arg in names] or [each.arg for each in self.parameters]
        for expression, kind, texts in GUIDES:
            guided = [name for name in candidates if self.kind(name, signature) == kind]
            if guided and re.search(expression, message) and dice.random() < 0.8:
                return changed(signature, dice.choice(guided), texts or CHANGES[kind], dice)
        if not candidates:
            return signature
        name = dice.choice(candidates)
        return changed(signature, name, CHANGES[self.kind(name, signature)], dice)


def changed(signature, name, texts, dice):
    return signature | {name: dice.choice([text for text in texts if text != signature.get(name)] or texts)}


def kernels(library, folder):
    """The kernels in a folder that the folder's own host code launches, each name once."""
    files, launched = [], set()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(errors="replace")
        if "triton" not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        files.append((path, tree))
        launched |= {ast.unparse(node.func.value).split(".")[-1] for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)}
    found = {}
    for path, tree in files:
        for node in of_module(tree):
            if is_kernel(node) and node.name in launched:
                found.setdefault(node.name, (path, tree, node))
    return [Kernel(library, path, tree, function) for path, tree, function in found.values()]
