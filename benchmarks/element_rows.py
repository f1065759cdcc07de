"""Rows of bench.py that move, gather, scan, sort and count 4 Mi elements, compared with PyTorch: milliseconds per call."""

import tilewright as triton
import tilewright.language as tl
from measure import require_close

ROWS, COLUMNS = 4096, 1024
COUNT = ROWS * COLUMNS
BLOCK = 4096


@triton.jit
def sums_of_rows(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * COLUMNS + tl.arange(0, COLUMNS)), 0))


@triton.jit
def largest_of_rows(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.argmax(tl.load(x_ptr + row * COLUMNS + tl.arange(0, COLUMNS)), 0))


@triton.jit
def sums_of_columns(x_ptr, out_ptr, ROWS, COLUMNS, STEP: tl.constexpr, OWN: tl.constexpr):
    columns = tl.program_id(0) * OWN + tl.arange(0, OWN)
    sums = tl.zeros((STEP, OWN), tl.float32)
    for row in range(0, ROWS, STEP):
        sums += tl.load(x_ptr + (row + tl.arange(0, STEP))[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns, tl.sum(sums, 0))


@triton.jit
def running_sums(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))


@triton.jit
def sorted_rows(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def transposed(x_ptr, out_ptr, ROWS, COLUMNS, SIDE: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    tile = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns[:, None] * ROWS + rows[None, :], tl.trans(tile))


@triton.jit
def gathered_rows(table_ptr, which_ptr, out_ptr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    tl.store(out_ptr + row * WIDTH + columns, tl.load(table_ptr + tl.load(which_ptr + row) * WIDTH + columns))


@triton.jit
def added_to_places(x_ptr, where_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + tl.load(where_ptr + at), tl.load(x_ptr + at), sem="relaxed")


@triton.jit
def counted(x_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def gelu(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)))


@triton.jit
def random_numbers(out_ptr, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.rand(seed, at))


def works(torch, n):
    """(name, ours, PyTorch's, ours once it ran; None where the results are not to be compared)"""
    x, out = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    of_rows, indices, of_columns = torch.empty(ROWS), torch.empty(ROWS, dtype=torch.int32), torch.empty(COLUMNS)
    table, which, gathered = torch.randn(50000, 256), torch.randint(0, 50000, (COUNT // 256,)), torch.empty(COUNT // 256, 256)
    where, places = torch.randint(0, 1 << 16, (COUNT,)), torch.zeros(1 << 16)
    numbers, bins = torch.randint(0, 256, (COUNT,), dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
    flat, options, blocks = x.view(-1), {"num_threads": n}, (COUNT // BLOCK,)
    yield "sums of rows", lambda: sums_of_rows[(ROWS,)](x, of_rows, COLUMNS, **options), lambda: x.sum(1), of_rows
    yield "argmax of rows", lambda: largest_of_rows[(ROWS,)](x, indices, COLUMNS, **options), lambda: x.argmax(1), indices
    yield "sums of columns", lambda: sums_of_columns[(COLUMNS // 128,)](x, of_columns, ROWS, COLUMNS, 8, 128, **options), lambda: x.sum(0), of_columns
    yield "running sums of rows", lambda: running_sums[(ROWS,)](x, out, COLUMNS, **options), lambda: x.cumsum(1), out
    yield "sorted rows", lambda: sorted_rows[(ROWS,)](x, out, COLUMNS, **options), lambda: x.sort(1).values, out
    yield ("transposition", lambda: transposed[(ROWS // 64, COLUMNS // 64)](x, out, ROWS, COLUMNS, 64, **options), lambda: x.t().contiguous(),
           out.view(COLUMNS, ROWS))
    yield ("rows of a table", lambda: gathered_rows[(len(which),)](table, which, gathered, 256, **options),
           lambda: torch.nn.functional.embedding(which, table), gathered)
    yield ("additions to places", lambda: (places.zero_(), added_to_places[blocks](flat, where, places, BLOCK, **options)),
           lambda: torch.zeros(1 << 16).index_add_(0, where, flat), places)
    yield ("histogram", lambda: (bins.zero_(), counted[(COUNT // 65536,)](numbers, bins, 65536, 256, **options)),
           lambda: torch.bincount(numbers, minlength=256), bins)
    yield "GELU by erf", lambda: gelu[blocks](flat, out, BLOCK, **options), lambda: torch.nn.functional.gelu(x), out
    yield "random numbers", lambda: random_numbers[blocks](out, 7, BLOCK, **options), lambda: torch.rand(COUNT), None


def run(bench):
    if bench.torch is None:
        return print("elements: PyTorch is not installed")
    for threads in bench.threads:
        bench.torch.set_num_threads(threads)
        for name, ours, theirs, result in works(bench.torch, threads):
            ours()
            if result is not None:
                require_close(result, theirs(), name)
            taken = bench.times(ours=ours, torch=theirs)
            bench.report.row(
                name, "4 Mi", "int32" if name == "histogram" else "fp32", threads, "ms", 1e3 * taken["ours"], {"torch": 1e3 * taken["torch"]},
                "torch", 1.0, None, more_is_better=False)
