"""Linear layouts: maps of named indices onto named indices that are linear over bits, as Triton describes layouts.

    LinearLayout.from_bases([("reg", [[1, 0], [0, 2]]), ("lane", [[2, 0], [0, 1]])], ["row", "col"])
    .apply({"reg": 3, "lane": 1})    ->    {"row": 3, "col": 2}

The image of a number is the exclusive or of the images of its bits, the bases. Host code computes with such maps; kernels do not use them.
"""

from functools import reduce
from operator import xor


def _bits(size, what):
    if not isinstance(size, int) or size <= 0 or size & (size - 1):
        raise ValueError(f"{what} must be a power of 2, not {size}")
    return size.bit_length() - 1


def _eliminated(columns):
    """Gauss's elimination of numbers as vectors of bits: [(pivot bit, vector, the columns whose exclusive or it is)]."""
    rows = []
    for index, vector in enumerate(columns):
        made_of = 1 << index
        for pivot, other, others in rows:
            if vector >> pivot & 1:
                vector, made_of = vector ^ other, made_of ^ others
        if vector:
            pivot = vector.bit_length() - 1
            rows = [(at, other ^ vector, others ^ made_of) if other >> pivot & 1 else (at, other, others) for at, other, others in rows]
            rows.append((pivot, vector, made_of))
    return rows


class LinearLayout:
    """A map of indices with the names of `bases` onto those with the names of `out_dims`. Instances do not change."""

    def __init__(self):
        self._bases, self._outs = {}, {}

    @classmethod
    def _of(cls, bases, outs):
        made = cls()
        made._bases = {name: [tuple(image) for image in images] for name, images in bases.items()}
        made._outs = dict(outs)
        return made

    @staticmethod
    def from_bases(bases, out_dim_names, out_dim_sizes=None, require_surjective=True):
        """The map with these images: bases is [(name, [image of bit 0, image of bit 1, ...])], an image a number for each of out_dim_names. Without
        out_dim_sizes, each size is the smallest power of two above all images. ValueError if require_surjective and a result never occurs."""
        names = [name for name, _ in bases]
        if len(set(names)) != len(names) or len(set(out_dim_names)) != len(out_dim_names):
            raise ValueError("a name of an index occurs twice")
        images = [image for _, some in bases for image in some]
        if any(len(image) != len(out_dim_names) for image in images):
            raise ValueError(f"each basis has {len(out_dim_names)} numbers, for {', '.join(out_dim_names)}")
        if out_dim_sizes is None:
            out_dim_sizes = [1 << max((image[at].bit_length() for image in images), default=0) for at in range(len(out_dim_names))]
        for at, (name, size) in enumerate(zip(out_dim_names, out_dim_sizes)):
            _bits(size, f"the size of '{name}'")
            if any(not 0 <= image[at] < size for image in images):
                raise ValueError(f"a basis is outside of '{name}', which has {size} indices")
        made = LinearLayout._of(dict(bases), dict(zip(out_dim_names, out_dim_sizes)))
        if require_surjective and not made.is_surjective():
            raise ValueError(f"the layout is not surjective: some indices of {', '.join(out_dim_names)} never occur")
        return made

    @staticmethod
    def strided_1d(size, stride, in_dim, out_dim):
        """index -> stride * index, both powers of two."""
        first = _bits(stride, "stride")
        return LinearLayout._of({in_dim: [(1 << first + bit,) for bit in range(_bits(size, "size"))]}, {out_dim: stride * size})

    @staticmethod
    def identity_1d(size, in_dim, out_dim):
        return LinearLayout.strided_1d(size, 1, in_dim, out_dim)

    @staticmethod
    def zeros_1d(size, in_dim, out_dim, out_dim_size=1):
        """index -> 0."""
        _bits(out_dim_size, "out_dim_size")
        return LinearLayout._of({in_dim: [(0,)] * _bits(size, "size")}, {out_dim: out_dim_size})

    bases = property(lambda self: [(name, [list(image) for image in images]) for name, images in self._bases.items()])
    out_dims = property(lambda self: list(self._outs.items()))
    num_in_dims = property(lambda self: len(self._bases))
    num_out_dims = property(lambda self: len(self._outs))

    def get_in_dim_names(self):
        return list(self._bases)

    def get_out_dim_names(self):
        return list(self._outs)

    # ---- as one map of numbers: the indices' bits one after the other, the first index lowest

    def _packed(self, image, order=None):
        result, shift = 0, 0
        for name in order or self._outs:
            result |= image[list(self._outs).index(name)] << shift
            shift += self._outs[name].bit_length() - 1
        return result

    def _columns(self, order=None):
        return [self._packed(image, order) for images in self._bases.values() for image in images]

    def _unpacked(self, number):
        image = []
        for size in self._outs.values():
            image.append(number & size - 1)
            number >>= size.bit_length() - 1
        return tuple(image)

    def _out_bits(self):
        return sum(size.bit_length() - 1 for size in self._outs.values())

    def get_matrix_view(self):
        """The matrix over bits: a row for each bit of the results, a column for each of the inputs, the lowest of the first index first."""
        return [[column >> row & 1 for column in self._columns()] for row in range(self._out_bits())]

    def is_surjective(self):
        return len(_eliminated(self._columns())) == self._out_bits()

    def is_injective(self):
        columns = self._columns()
        return len(_eliminated(columns)) == len(columns)

    def is_invertible(self):
        return self.is_injective() and self.is_surjective()

    # ---- computing with them

    def _image(self, inputs):
        if set(inputs) != set(self._bases):
            raise ValueError(f"the layout maps indices named {list(self._bases)}, not {list(inputs)}")
        result = (0,) * len(self._outs)
        for name, images in self._bases.items():
            if not 0 <= inputs[name] < 1 << len(images):
                raise ValueError(f"{name} = {inputs[name]} is outside of its {1 << len(images)} indices")
            for bit, image in enumerate(images):
                if inputs[name] >> bit & 1:
                    result = tuple(map(xor, result, image))
        return result

    def apply(self, inputs):
        """The results by name for inputs by name."""
        return dict(zip(self._outs, self._image(inputs)))

    def compose(self, outer):
        """x -> outer(self(x)): outer maps the indices that this layout results in."""
        if set(self._outs) != set(outer._bases):
            raise ValueError(f"the results {list(self._outs)} are not the inputs {list(outer._bases)} of the other layout")
        for name, size in self._outs.items():
            if size > 1 << len(outer._bases[name]):
                raise ValueError(f"'{name}' has {size} indices, of which the other layout maps {1 << len(outer._bases[name])}")
        bases = {name: [outer._image(dict(zip(self._outs, image))) for image in images] for name, images in self._bases.items()}
        return LinearLayout._of(bases, outer._outs)

    def _inverted(self, targets):
        """For each target, a number that the layout maps to it, with zeros in all bits that are not needed. None if one never occurs."""
        rows, found = _eliminated(self._columns()), []
        for target in targets:
            made_of = 0
            for pivot, vector, others in rows:
                if target >> pivot & 1:
                    target, made_of = target ^ vector, made_of ^ others
            if target:
                return None
            found.append(made_of)
        return found

    def _with_sources(self, bases, targets):
        """The layout from `bases`' indices to this one's inputs: each basis goes where this layout maps onto the target."""
        sources = self._inverted(targets)
        if sources is None:
            raise ValueError("the layout to invert does not reach all results of the other one")
        inputs = LinearLayout._of({}, {name: 1 << len(images) for name, images in self._bases.items()})
        left = iter(sources)
        return LinearLayout._of({name: [inputs._unpacked(next(left)) for _ in range(count)] for name, count in bases.items()}, inputs._outs)

    def pseudoinvert(self):
        """A layout g with self(g(y)) = y, for a surjective layout."""
        if not self.is_surjective():
            raise ValueError("only surjective layouts have a right inverse")
        counts = {name: size.bit_length() - 1 for name, size in self._outs.items()}
        return self._with_sources(counts, [1 << bit for bit in range(self._out_bits())])

    def invert(self):
        if not self.is_invertible():
            raise ValueError("only invertible layouts have an inverse")
        return self.pseudoinvert()

    def invert_and_compose(self, outer):
        """A layout c with outer(c(x)) = self(x): from this layout's inputs to those of `outer`, whose results have the same names."""
        if set(self._outs) != set(outer._outs):
            raise ValueError(f"the layouts result in different indices: {list(self._outs)} and {list(outer._outs)}")
        aligned = LinearLayout._of(outer._bases, {name: max(size, self._outs[name]) for name, size in outer._outs.items()})
        order = list(outer._outs)
        mine = [aligned._packed(tuple(image[list(self._outs).index(name)] for name in order)) for images in self._bases.values() for image in images]
        return aligned._with_sources({name: len(images) for name, images in self._bases.items()}, mine)

    def __mul__(self, other):
        """The product: indices of one name continue with the other layout's bits, above this one's."""
        outs = {name: self._outs.get(name, 1) * other._outs.get(name, 1) for name in {**self._outs, **other._outs}}
        bases = {name: [] for name in {**self._bases, **other._bases}}
        for layout, scale in ((self, {}), (other, self._outs)):
            for name, images in layout._bases.items():
                for image in images:
                    values = dict(zip(layout._outs, image))
                    bases[name].append(tuple(values.get(out, 0) * scale.get(out, 1) for out in outs))
        return LinearLayout._of(bases, outs)

    def __eq__(self, other):
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return (list(self._bases.items()), self.out_dims) == (list(other._bases.items()), other.out_dims)

    def __hash__(self):
        return reduce(xor, self._columns(), hash(tuple(self._outs.items())))

    def __str__(self):
        outs = ", ".join(f"{name} (size {size})" for name, size in self._outs.items())
        lines = []
        for name, images in self._bases.items():
            steps = [f"{name}={1 << bit} -> ({', '.join(map(str, image))})" for bit, image in enumerate(images)]
            lines.append(" - " + "\n   ".join(steps or [f"{name} is a size 1 dimension"]))
        return "\n" + "".join(line + "\n" for line in lines) + f"where out dims are: [{outs}]"

    __repr__ = __str__
