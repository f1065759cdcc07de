"""`asm["ttgir"]`: tiles with layouts as our passes leave them, in Triton's text where Triton has the same operation, type or attribute.

    before: %v = ttg.load_shared %b : <1 x f16, #ttg.shared<64x64, offset [[0, 1], ...], 16>> -> tensor<64x64xf16, #layout>
    after:  %v = ttg.local_load %b : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #blocked>

Each line stays one operation, with three exceptions. An mbarrier of an array gets a ttg.memdesc_index. The initialization of several mbarriers
becomes one operation for each. A buffer with one store, before its other uses, becomes a ttg.local_alloc of the stored tile. Operands that only
Triton's forms have are constants, which the text defines. What Triton does not have keeps our names: operations (ttg.tcgen05_wait, ttg.tensor_scale,
ttg.read_cluster, ...) and attributes, such as `firstWarp` of a wait; `each_warp` marks an arrival by each warp of a partition. Launch guards and
remarks are not part of the text; `tilewright explain` prints them.
"""

import re

from .ttgir_layouts import distributed, shared

_TYPE = r"[\w!.]+(?:<(?:[^<>]|<[^<>]*>)*>)?"
_VALUE = r"[%\w#:.-]+"

# (our operation, Triton's operation, attributes that Triton's has in addition). On the left, <x> is a value or a number, <x..> a list, <:x> a type,
# {} the attributes, and (...)? may be absent. On the right, [...] is printed if its values are present, and `bar` is the mbarrier with index `i` of the array `w`.
_FORMS = [
    ("alloc( live <live>)?{} : <:m>", "ttg.local_alloc{} : () -> <:m>", ""),
    ("stage <b>[<i>]{} : <:s> -> <:m>", "ttg.memdesc_index <b>[<i>]{} : <:s> -> <:m>", ""),
    ("load_shared <b>{} : <:m> -> <:t>", "ttg.local_load <b>{} : <:m> -> <:t>", ""),
    ("store_shared <x>, <b>( plus <zero>)?{} : <:t>, <:m>", "ttg.local_store <x>, <b>{} : <:t> -> <:m>", ""),
    ("copy_async <p>, <b>(, <mask> : <:k>)?{} : <:t> -> <:m>", "ttg.async_copy_global_to_local <p>, <b>[ mask <mask>]{} : <:t> -> <:m>", ""),
    ("copy_commit{}", "ttg.async_commit_group{}", ""),
    ("copy_wait <n>{}", "ttg.async_wait{}", "num = <n> : i32"),
    ("cta_barrier {allCtas}", "ttng.cluster_barrier", ""),
    ("cta_barrier{}", "ttg.barrier all{}", ""),
    ("cluster_arrive{}", "ttng.cluster_arrive{}", "relaxed = false"),
    ("cluster_wait{}", "ttng.cluster_wait{}", ""),
    ("fence_async{}", "ttng.fence_async_shared{}", "bCluster = false"),
    ("alloc_barriers{} : <:m>", "ttg.local_alloc{} : () -> <:m>", ""),
    ("barrier_expect <w>[<i>], <n>( if <c>)?{} : <:w>", "ttng.barrier_expect <bar>, <n>{}, <c> : <:bar>", ""),
    ("barrier_wait <w>[<i>], <p>{} : <:w>", "ttng.wait_barrier <bar>, <p>{} : <:bar>", ""),
    ("barrier_arrive <w>[<i>]( if <k>)?{} : <:w>", "ttng.arrive_barrier <bar>, 1[, <k>]{} : <:bar>", "each_warp"),
    ("tma_load <d>[<at..>] to <b>, <w>[<i>]( if <c>)?{} : <:m>, <:w>",
     "ttng.async_tma_copy_global_to_local <d>[<at>] <b>, <bar>, <c>{} : <:d>, <:bar> -> <:m>", ""),
    ("tma_store <b> to <d>[<at..>]{} : <:m>", "ttng.async_tma_copy_local_to_global <d>[<at>] <b>{} : <:d>, <:m>", ""),
    ("tma_store reduce <k> <b> to <d>[<at..>]{} : <:m>", "ttng.async_tma_reduce <k>, <d>[<at>] <b>{} : <:d>, <:m>", ""),
    ("tma_store_wait <n>{}", "ttng.async_tma_store_wait{}", "pendings = <n> : i32"),
    ("mma_async <a>, <b>, <acc>( if <u>)?( extent <extent..>)?( a_plus <za>)?( b_plus <zb>)?{} : <:x>, <:y> -> <:t>",
     "ttng.warp_group_dot <a>, <b>, <acc>[, <u>]{} : <:x> * <:y> -> <:t>", "inputPrecision = 0 : i32, isAsync = true[, extent = <extent>]"),
    ("mma_async_wait <n>(, <ts..> : <:t>)?{}( -> <:r>)?", "ttng.warp_group_dot_wait[ <ts>]{}[ : <:t>]", "pendings = <n> : i32"),
    ("tensor_tile <a>, <n>{} : <:m>", "ttng.tmem_alloc{} : () -> <:m>", "tensor_memory_col_offset = <n> : i32, tensor_memory_row_offset = 0 : i32"),
    ("tensor_stage <b>[<i>]{} : <:m>", "ttg.memdesc_index <b>[<i>]{} : <:s> -> <:m>", ""),
    ("tensor_load <b>{} : <:m> -> <:t>", "ttng.tmem_load <b>{} : <:m> -> <:t>", ""),
    ("tensor_store <x>, <b>{} : <:t>, <:m>", "ttng.tmem_store <x>, <b>, <c>{} : <:t> -> <:m>", ""),
    ("tcgen05_mma <a>, <b>, <acc> if <u>( to <w> : <:w> at <issued>)?{} : <:x>, <:y>, <:z>",
     "ttng.tc_gen5_mma <a>, <b>, <acc>, <u>, <c>[, <bar>[<c>]]{} : <:x>, <:y>, <:z>[, <:bar>]", "is_async"),
    ("tcgen05_mma <a>, <b>, <acc> if <u>( to <w> : <:w> at <issued>)? scales <as> : <:as>, <bs> : <:bs> in <column> "
     "(#ttg.block_scales)?<a = <ak>, b = <bk>, block = <block>>{} : <:x>, <:y>, <:z>",
     "ttng.tc_gen5_mma_scaled <a>, <b>, <acc>, <as>, <bs>, <u>, <c> lhs = <ak> rhs = <bk>[, <bar>[<c>]]{} : <:x>, <:y>, <:z>, <:as>, <:bs>[, <:bar>]",
     "is_async"),
    ("tcgen05_commit <w>[<i>]{} : <:w>", "ttng.tc_gen5_commit <bar>{} : <:bar>", ""),
    ("unpack_e2m1 <x> {dim = <n> : i32} : <:t> -> <:r>", "ttg.fp4_to_fp <x>{} : <:t> -> <:r>", "axis = <n> : i32"),
    ("view <b> {order = <o..>} : <:s> -> <:m>", "ttg.memdesc_trans <b>{} : <:s> -> <:m>", "order = <o>"),
    ("view <b>{} : <:s> -> <:m>", "ttg.memdesc_reinterpret <b>{} : <:s> -> <:m>", ""),
]

# Attributes with another name in Triton: (ours, Triton's).
_ATTRIBUTES = [
    (r"ttg\.offset = (\d+) : i64", r"allocation.offset = \1 : i32"),
    (r"promotionInterval = ", "maxNumImpreciseAcc = "),
    (r"\bpaired\b", "two_ctas"),
]
_ELEMENTS = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f4E2M1FN": "e2m1", "f6E2M3FN": "e2m3", "f6E3M2FN": "e3m2"}
_MBARRIER = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"


def _compiled(form):
    """The expression that matches our form of an operation."""
    def part(text):
        if found := re.fullmatch(r"<(:?)(\w+)(\.\.)?>", text):
            kind, name, is_list = found.groups()
            if kind:
                return rf"(?P<{name}_type>{_TYPE}(?:, {_TYPE})*?)"
            return rf"(?P<{name}>[^\[\]]*|array<[^>]*>|\[.*?\])" if is_list else rf"(?P<{name}>{_VALUE})"
        return {"(": "(?:", ")?": ")?", "{}": r"(?: \{(?P<attributes>.*)\})?"}.get(text) or re.escape(text)
    return re.compile("".join(map(part, re.split(r"(\(|\)\?|<:?\w+(?:\.\.)?>|\{\})", form))))


_FORMS = [(re.match(r"\w+", form)[0], _compiled(form), theirs, more) for form, theirs, more in _FORMS]


def _mbarriers(of):
    """The number of mbarriers in an array of this type; None for the type of one mbarrier."""
    found = re.match(r"!ttg\.memdesc<(\d+)x1xi64", of)
    return found and int(found[1])


class _Writer:
    """The state of a translation: aliases of layouts, and what later lines need to know of earlier ones."""

    def __init__(self, text):
        self.text = text
        self.aliases = {"#ttg.shared_memory": "#smem"}
        self.described = {}  # tensor maps: type of the tiles that they copy
        self.deep = {}  # circular buffers in tensor memory: their type
        self.lines = []
        self.indexed = 0
        self.needs_true = False
        self.indent = ""

    # ---- types

    def alias(self, kind, attribute):
        """The name of an attribute, which the module defines at its top."""
        if attribute not in self.aliases:
            count = sum(re.fullmatch(rf"#{kind}\d*", name) is not None for name in self.aliases.values())
            self.aliases[attribute] = f"#{kind}{count or ''}"
        return self.aliases[attribute]

    def buffer(self, found):
        depth, element, shape, bases, bits = found.groups()
        layout = self.alias("shared", shared([int(extent) for extent in shape.split("x")], bases, int(bits)))
        stages = "" if depth == "1" else f"{depth}x"
        return f"!ttg.memdesc<{stages}{shape}x{element}, {layout}, #smem, mutable>"

    def barriers(self, found):
        count = "" if found[1] == "1" else f"{found[1]}x"
        return f"!ttg.memdesc<{count}1xi64, {self.alias('mbarrier', _MBARRIER)}, #smem, mutable>"

    def tensor_memory(self, found):
        rows, columns, element, gap = found.groups()
        bits = int(re.sub(r"\D", "", element.partition("E")[0]))
        if gap and int(gap) != int(columns) * bits // 32:
            return f"!ttg.tensor_memory<{rows}x{columns}x{element}, {gap}>"  # Triton's layout has no space between blocks of rows
        layout = f"#ttng.tensor_memory_encoding<blockM = {min(int(rows), 128)}, blockN = {columns}, colStride = 1>"
        return f"!ttg.memdesc<{rows}x{columns}x{element}, {self.alias('tmem', layout)}, #ttng.tensor_memory, mutable>"

    def with_types(self, text):
        text = re.sub(r"(?:!ttg\.buffer)?<(\d+) x (\w+), #ttg\.shared<([\dx]+), offset (\[.*?\]), (\d+)>>", self.buffer, text)
        text = re.sub(r"(?:!ttg\.barriers|(?<=[:,] ))<(\d+)>", self.barriers, text)
        return re.sub(r"(?:!ttg\.tensor_memory|(?<=[:,>] ))<(\d+)x(\d+)x(\w+)(?:, (\d+))?>", self.tensor_memory, text)

    def with_layouts(self, text):
        """Drops the definitions of our layouts, and replaces their names."""
        names = {}
        for name, shape, *bases in re.findall(r"^(#layout\d*) = #ttg\.layout<([\dx]+), reg (\[.*\]), lane (\[.*\]), warp (\[.*\])>$", text, re.MULTILINE):
            kind, layout = distributed([int(extent) for extent in shape.split("x")], *bases)
            names[name] = self.alias(kind, layout)
        text = re.sub(r"^#(?:layout|schedule|loc)\d* = .*\n", "", text, flags=re.MULTILINE)
        return re.sub(r"#layout\d*\b", lambda found: names[found[0]], text)

    # ---- operations

    def index(self, values):
        """A line with the mbarrier that an operation uses."""
        if values.get("w") is None:
            return
        array = values["w_type"]
        count = _mbarriers(array)
        values["bar_type"] = array.replace(f"<{count}x1xi64", "<1xi64") if count else array
        values["bar"] = values["w"]
        if not count:
            return
        index = values.get("i")
        self.indexed += 1
        if index is None:  # MMA number `issued` arrives at the barrier of this number modulo their number, a power of two
            index = f"%mbarrier_index{self.indexed}"
            self.line(f"%mbarrier_mask{self.indexed} = arith.constant {count - 1} : i32")
            self.line(f"{index} = arith.andi {values['issued']}, %mbarrier_mask{self.indexed} : i32")
        values["bar"] = f"%mbarrier{self.indexed}"
        self.line(f"{values['bar']} = ttg.memdesc_index {values['w']}[{index}] : {array} -> {values['bar_type']}")

    def line(self, text):
        for ours, theirs in _ATTRIBUTES:
            text = re.sub(ours, theirs, text)
        self.lines.append(self.indent + text)

    @staticmethod
    def filled(template, values):
        """The template with its values; parts in brackets only if their values are present."""
        def value(found):
            return values[found[1][1:] + "_type" if found[1].startswith(":") else found[1]]

        def part(found):
            names = re.findall(r"<(:?\w+)>", found[0])
            present = all(values.get(name[1:] + "_type" if name.startswith(":") else name) is not None for name in names)
            return found[1] if present else ""
        template = re.sub(r"\[((?:,| )[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*)\]", part, template)
        return re.sub(r"<(:?\w+)>", value, template)

    def operation(self, name, rest):
        """Triton's form of one of our operations, without its results; None if it has none."""
        for kind, expression, theirs, more in _FORMS:
            found = expression.fullmatch(rest) if kind == name else None
            if not found:
                continue
            values = found.groupdict()
            if values.get("c") is None and "<c>" in theirs:
                values["c"], self.needs_true = "%always", True
            self.index(values)
            if "at" in values:
                values["at"] = ", ".join(reversed(values["at"].split(", ")))  # our coordinates are innermost first
                values["d_type"] = self.described[values["d"]]
            if name == "tensor_stage":
                values["s_type"] = self.deep.get(values["b"], values["m_type"])
            for key in ("ak", "bk"):
                values[key] = _ELEMENTS.get(values.get(key), values.get(key))
            attributes = ", ".join(filter(None, (self.filled(more, values), values.get("attributes"))))
            return self.filled(theirs.replace("{}", "\0"), values).replace("\0", f" {{{attributes}}}" if attributes else "")
        return None

    def initialize(self, rest):
        arrays, arrivals, types = re.fullmatch(r"init_barriers (.*) arrivals (?:array<i32: )?\[?([\d, ]*)[\]>](?: \{.*\})? : (.*)", rest).groups()
        types = re.findall(_TYPE, types)
        for array, count, of in zip(arrays.split(", "), arrivals.split(", "), types):
            size = _mbarriers(of)
            for number in range(size or 1):
                constant = f"%mbarrier_number{self.indexed}"
                if size:
                    self.line(f"{constant} = arith.constant {number} : i32")
                values = {"w": array, "w_type": of, "i": constant}
                self.index(values)
                self.line(f"ttng.init_barrier {values['bar']}, {count} : {values['bar_type']}")
        self.line("ttg.barrier all")

    def translate(self, line):
        found = re.fullmatch(r"(\s*)((?:%[^=]* = )?)ttg\.(\w+)(.*)", line)
        if not found:
            self.lines.append(line)
            return
        self.indent, results, name, rest = found.groups()
        rest = name + rest
        if name == "init_barriers":
            self.initialize(rest)
            return
        made = self.operation(name, rest)
        if name == "tensor_tile" and made and (depth := re.search(r"depth = (\d+) : i32", rest)):
            made = made.replace(f", {depth[0]}", "").replace("!ttg.memdesc<", f"!ttg.memdesc<{depth[1]}x")
            self.deep[results[:-3]] = made.rpartition(" -> ")[2]
        self.line(results + (made or f"ttg.{rest}"))

    # ---- the module

    def describe_maps(self, text):
        """What each tensor map copies: the tiles of its first use. A kernel's parameters get this type."""
        copies = re.findall(r"ttg\.tma_(?:load|store (?:reduce \w+ )?%[\w#]+ to) (%\w+)\[.*?!ttg\.memdesc<([^<>]*), #smem, mutable>", text)
        self.described = {name: f"!tt.tensordesc<{tile}>" for name, tile in reversed(copies)}

        def parameter(found):
            return f"{found[1]}: {self.described.get(found[1], '!ptx.tensor_map')}"
        return re.sub(r"(%\w+): !ptx\.tensor_map(?: \{ttg\.tensor_map = #ttg\.tensor_map<(?:[^<>]|<[^<>]*>)*>\})?", parameter, text)

    def module(self, attributes):
        text = fuse_stores(self.describe_maps(self.with_types(self.with_layouts(self.text))))
        for line in text.splitlines():
            line = re.sub(r"^(  tt\.func .*\)) attributes \{(noinline = \w+)?.*\} \{$", r"\1 attributes {\2} {", line)
            self.translate(re.sub(r" \{ttg\.loop_schedule = #schedule\d*\}$", "", line))
        if self.needs_true:
            entry = next(at for at, line in enumerate(self.lines) if line.startswith("  tt.func"))
            self.lines.insert(entry + 1, "    %always = arith.constant true")
        lines = "\n".join(self.lines).replace("module {", f"module attributes {{{attributes}}} {{", 1)
        used = {name: attribute for attribute, name in self.aliases.items() if re.search(rf"{name}\b", lines)}
        return "".join(f"{name} = {attribute}\n" for name, attribute in used.items()) + lines + "\n"


def _depth(line):
    return len(line) - len(line.lstrip())


def fuse_stores(text):
    """ttg.alloc and ttg.store_shared to the buffer before all other uses, in one block: a ttg.local_alloc of the stored tile."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        alloc = re.fullmatch(r"( *)(%[\w#]+) = ttg\.alloc(?: live \w+)?( \{.*\})? : (!ttg\.memdesc<.*>)", line)
        if not alloc:
            continue
        indent, buffer, attributes, of = alloc.groups()
        end = next(i for i in range(at, len(lines)) if lines[i] and _depth(lines[i]) < len(indent))
        uses = [i for i in range(at + 1, end) if re.search(rf"{buffer}(?![\w#])", lines[i])]
        store = re.fullmatch(rf"( *)ttg\.store_shared (%[\w#]+), {buffer} : (.*), !ttg\.memdesc<.*>", lines[uses[0]]) if uses else None
        only_read = all(re.search(r"ttg\.(load_shared|tcgen05_mma|mma_async|fma_dot|tma_store) ", lines[i]) for i in uses[1:])
        if store and only_read and all(_depth(each) >= len(store[1]) for each in lines[uses[0]:uses[-1] + 1] if each):
            lines[uses[0]] = f"{store[1]}{buffer} = ttg.local_alloc {store[2]}{attributes or ''} : ({store[3]}) -> {of}"
            lines[at] = ""
    return "\n".join(filter(None, lines))


def _attributes(text):
    """The module's attributes: the kernel's configuration, and what it takes of shared and tensor memory."""
    warps, ctas, target = re.search(r"#ttg\.config<warps = (\d+), ctas = (\d+), .*?target = \"sm_(\d+)", text).groups()
    found = [f'"ttg.num-ctas" = {ctas} : i32', f'"ttg.num-warps" = {warps} : i32']
    if shared_bytes := re.search(r"ttg\.shared_bytes = (\d+) : i64", text):
        found.append(f"ttg.shared = {shared_bytes[1]} : i32")
    found.append(f'ttg.target = "cuda:{target}"')
    if columns := re.search(r"ttg\.tensor_alloc (\d+)", text):
        found.append(f"ttg.tensor_memory_size = {columns[1]} : i32")
    return ", ".join([*found, '"ttg.threads-per-warp" = 32 : i32'])


def as_ttgir(text):
    """Triton's text of a kernel at our stage `ttg`. Text of another compiler stays as it is."""
    return _Writer(text).module(_attributes(text)) if "#ttg.config<" in text else text
