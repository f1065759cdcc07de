"""Layouts in Triton's text: `#ttg.blocked<...>` and `#ttg.nvmma_shared<...>` where one of these is the same map, else the map itself,
`#ttg.linear<...>` and `#ttg.shared_linear<...>`.

A layout is linear over XOR. It is given by the elements (coordinates) of the hardware locations with one bit set.
"""

import itertools
import json


def _power(dim, bit, rank):
    return [1 << bit if i == dim else 0 for i in range(rank)]


def _plain(shape, order):
    """Bases of elements in order, order[0] the fastest."""
    return [_power(dim, bit, len(shape)) for dim in order for bit in range(shape[dim].bit_length() - 1)]


def _blocked(shape, size, lanes, warps, order):
    """(registers, lanes, warps): the bases of a blocked layout. Registers repeat the block over the tile."""
    done = [0] * len(shape)

    def take(extents):
        bases = []
        for dim in order:
            count = extents[dim].bit_length() - 1
            bases += [_power(dim, done[dim] + bit, len(shape)) for bit in range(count)]
            done[dim] += count
        return bases

    parts = [take(size), take(lanes), take(warps)]
    repeats = [max(1, extent >> bits) for extent, bits in zip(shape, done)]
    parts[0] += take(repeats)
    return parts


def _as_blocked(shape, registers, lanes, warps):
    """The parameters of the blocked layout with these bases; None if there is none."""
    rank, outer = len(shape), lanes + warps
    if any(sum(x != 0 for x in basis) != 1 for basis in registers + outer):
        return None
    count = lambda bases, dim: 1 << sum(basis[dim] != 0 for basis in bases)
    size = [min((basis[dim] for basis in outer if basis[dim]), default=count(registers, dim)) for dim in range(rank)]
    for order in itertools.permutations(reversed(range(rank))):
        parameters = (size, [count(lanes, dim) for dim in range(rank)], [count(warps, dim) for dim in range(rank)], list(order))
        if _blocked(shape, *parameters) == [registers, lanes, warps]:
            return parameters
    return None


def distributed(shape, registers, lanes, warps):
    """(kind, attribute) of the layout of a tile in registers, for the bases as text."""
    parameters = _as_blocked(shape, *map(json.loads, (registers, lanes, warps)))
    if parameters is None:
        return "linear", f"#ttg.linear<{{register = {registers}, lane = {lanes}, warp = {warps}, block = []}}>"
    return "blocked", "#ttg.blocked<{{sizePerThread = {}, threadsPerWarp = {}, warpsPerCTA = {}, order = {}}}>".format(*parameters)


def _swizzled(shape, bits, width, order):
    """Bases of a tile of two dimensions in blocks of `width` bytes of each row, whose chunks of 16 bytes are permuted."""
    bases, element = _plain(shape, order), bits.bit_length() - 4  # log2 of the bytes of an element
    inner, span = shape[order[0]].bit_length() - 1, width.bit_length() - 1 - element
    if span > inner:
        return None
    bases = bases[:span] + bases[inner:] + bases[span:inner]
    for bit in range((width // 16).bit_length() - 1):
        source, target = 7 + bit - element, 4 + bit - element
        if source < len(bases):
            bases[source] = [x ^ y for x, y in zip(bases[source], bases[target])]
    return bases


def shared(shape, bases, bits):
    """The attribute of the layout of a tile in shared memory, for the bases as text."""
    offsets, rank = json.loads(bases), len(shape)
    for order in itertools.permutations(reversed(range(rank))):
        if offsets == _plain(shape, order):
            return f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = {list(order)}}}>"
        for width in (128, 64, 32) if rank == 2 else ():
            if offsets == _swizzled(shape, bits, width, order):
                transposed = "true" if order[0] == 0 else "false"
                return f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {transposed}, elementBitWidth = {bits}}}>"
    return f"#ttg.shared_linear<{{offset = {bases}}}, alignment = 128>"
