"""Hooks, listeners, dumps, caches and helpers of the host, by upstream's interface."""

import pickle
import re
import shutil
import time
from collections import namedtuple
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright._filecheck import run_filecheck_test
from tilewright._internal_testing import _fresh_knobs_impl, run_in_process
from tilewright.backends.compiler import GPUTarget
from tilewright.backends.driver import CPUDriver, GPUDriver
from tilewright.runtime._allocation import NullAllocator, get_allocator
from tilewright.runtime._async_compile import active_mode
from tilewright.runtime.cache import FileCacheManager, RemoteCacheManager, get_cache_manager
from tilewright.runtime.jit import get_device_key
from tilewright.tools import disasm


@pytest.fixture
def knobs():
    begin, end = _fresh_knobs_impl()
    try:
        yield begin()
    finally:
        end()


def make_kernel(**options):
    @triton.jit(**options)
    def put(x_ptr, a: tl.constexpr):
        tl.store(x_ptr, a)

    return put


@triton.jit
def seventeen():
    return 17


@triton.jit
def thirty_one():
    return 31


@triton.jit
def put_result(x_ptr, FUNCTION: tl.constexpr, n):
    tl.store(x_ptr, FUNCTION() + n)


def one():
    return np.zeros(1, np.int32)


# ---- hooks

def test_hooks_of_compilations(knobs):
    put, before, after = make_kernel(), [], []
    knobs.runtime.jit_cache_hook = lambda **told: before.append(told)
    knobs.runtime.jit_post_compile_hook = lambda **told: after.append(told)
    x = one()
    put[(1,)](x, 3)
    put[(1,)](x, 3)
    put.warmup(x, 4, grid=(1,))
    assert [told["is_manual_warmup"] for told in before] == [told["is_manual_warmup"] for told in after] == [False, True]
    told = before[0]["compile"]
    assert told["signature"] == {"x_ptr": "*i32", "a": "constexpr"} and told["constants"] == {(1,): 3} and told["num_warps"] == 4
    assert told["configs"] == [{(0,): [["tt.divisibility", 16]]}] or told["configs"] == [{}]
    assert before[0]["fn"].jit_function is put and before[0]["key"] == put[(1,)](x, 3).hash


def test_a_hook_may_say_no(knobs):
    put, x = make_kernel(), one()
    knobs.runtime.jit_cache_hook = lambda **told: True
    assert put[(1,)](x, 5) is None and x[0] == 0
    knobs.runtime.jit_cache_hook = None
    assert put[(1,)](x, 5) is not None and x[0] == 5


def test_hooks_of_loading_and_launching(knobs):
    seen = []
    knobs.runtime.kernel_load_start_hook.add(lambda module, function, name, group, hash: seen.append(("start", module is None, hash)))
    knobs.runtime.kernel_load_end_hook.add(lambda module, function, name, group, hash: seen.append(("end", module is None, hash)))
    put = make_kernel(launch_metadata=lambda grid, kernel, args: {"grid": grid, "a": args["a"], "warps": kernel.num_warps})
    kernel = put[(1,)](one(), 3)
    assert seen == [("start", True, kernel.hash), ("end", False, kernel.hash)]
    launches = []
    knobs.runtime.launch_enter_hook.add(lambda metadata: launches.append(metadata.get()))
    put[(2, 1)](one(), 3)
    kernel[(2, 1, 1)](one(), 3)
    assert [(told["name"], tuple(told["grid"]), told["a"], told["warps"]) for told in launches] == [
        ("put", (2, 1), 3, 4), ("put", (2, 1, 1), 3, 4)]
    gone = []
    knobs.runtime.kernel_unload_hook.add(lambda *about: gone.append(about[2]))
    kernel.__del__()
    assert gone == ["put"] and kernel.module is None


def test_the_times_of_a_compilation(knobs):
    told = []
    knobs.compilation.listener = lambda **about: told.append(about)
    put = make_kernel()
    put[(1,)](one(), 3)
    put.device_caches.clear()
    put[(1,)](one(), 3)
    fresh, cached = told
    assert not fresh["cache_hit"] and fresh["times"].total_lowering > 0 and fresh["times"].store_results > 0
    assert cached["cache_hit"] and cached["times"].total_lowering == 0 and cached["times"].total > 0
    assert fresh["metadata"]["hash"] == cached["metadata"]["hash"] and fresh["src"].fn is put


# ---- dumps

@pytest.mark.parametrize("value,shown", [("1", True), ("put", True), ("another", False), ("0", False)])
def test_dumps_of_steps(monkeypatch, capfd, value, shown):
    monkeypatch.setenv("MLIR_ENABLE_DUMP", value)
    make_kernel()[(1,)](one(), 3)
    told = capfd.readouterr().err
    assert ("IR Dump Before " in told and " (put) " in told and "tt.func public @put" in told) == shown


def test_dumps_of_stages_and_times(monkeypatch, capfd, tmp_path, knobs):
    monkeypatch.setenv("LLVM_IR_ENABLE_DUMP", "1")
    monkeypatch.setenv("MLIR_ENABLE_TIMING", "1")
    knobs.compilation.dump_ir = True
    knobs.cache.dump_dir = str(tmp_path / "dump")
    kernel = make_kernel()[(1,)](one(), 3)
    told = capfd.readouterr().err
    assert "define" in told and "Timing of put" in told and "emit-tiles" in told
    folder = tmp_path / "dump" / kernel.src.hash()
    assert (folder / "put.ttir").read_text() == kernel.asm["ttir"] and (folder / "put.obj").read_bytes() == kernel.asm["obj"]


def test_a_dump_that_finds_no_space_names_its_file(monkeypatch, tmp_path, knobs):
    put = make_kernel()
    folder = tmp_path / put[(1,)](one(), 3).src.hash()
    folder.mkdir()
    (folder / "put.ttir").symlink_to("/dev/full")
    knobs.compilation.dump_ir, knobs.cache.dump_dir = True, str(tmp_path)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    put.device_caches.clear()
    with pytest.raises(OSError, match=r"TRITON_KERNEL_DUMP: No space left on device: '.*put\.ttir'"):
        put[(1,)](one(), 3)


def test_compiling_always(monkeypatch):
    put = make_kernel()
    assert not put[(1,)](one(), 3).from_cache
    put.device_caches.clear()
    assert put[(1,)](one(), 3).from_cache
    put.device_caches.clear()
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert not put[(1,)](one(), 3).from_cache


def test_asm_is_a_dict_of_all_stages():
    asm = make_kernel().warmup(one(), 3, grid=(1,)).asm
    assert asm and len(asm) == len(list(asm)) == len(asm.keys()) >= 5
    copy = dict(asm)
    assert list(copy) == list(asm) and list(copy.values()) == asm.values() == [asm[stage] for stage in asm] and all(copy.values())



def test_names_and_places_in_ir(tmp_path):
    put = make_kernel()
    text = put[(1,)](one(), 3).asm["ttir"]
    assert "%x_ptr: !tt.ptr<i32>" in text
    store, = re.findall(r"tt.store .* loc\((#loc\d*)\)", text)
    line = put.fn.__code__.co_firstlineno + 2
    assert f'{store} = loc("{__file__}":{line}:9)' in text
    module, = re.findall(r"^} loc\((#loc\d*)\)", text, re.MULTILINE)
    assert f'{module} = loc("{__file__}":{line - 1}:9)' in text
    path = tmp_path / "put.ttir"  # any IR serves here
    path.write_text(text)
    assert re.findall(r"tt.store .*", triton.compile(str(path)).asm["ttir"])


@pytest.mark.parametrize("engine", ["cpu", "interpret"])
def test_ir_in_place_of_the_kernels_own(tmp_path, engine):
    @triton.autotune(configs=[triton.Config({"BLOCK": 32, "ir_override": str(tmp_path / "tripled.ttir")})], key=["n"])
    @triton.jit
    def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)

    plain = tuned.fn
    x, out = np.arange(1, 65, dtype=np.float32), np.zeros(64, np.float32)
    path = tmp_path / "tripled.ttir"
    path.write_text(plain[(2,)](x, out, 64, BLOCK=32).asm["ttir"].replace("2.000000e+00", "3.000000e+00"))
    with triton.engine(engine):
        for n in (64, 50):  # the text declares n a multiple of 16, but the launch decides
            out[:] = 0
            kernel = plain[(2,)](x, out, n, BLOCK=32, ir_override=path)
            np.testing.assert_array_equal(out[:n], 3 * x[:n])
            assert not out[n:].any() and "3.000000e+00" in kernel.asm["ttir"]
        plain[(2,)](x, out, 64, BLOCK=32)
        np.testing.assert_array_equal(out, 2 * x)
        path.write_text(path.read_text().replace("3.000000e+00", "5.000000e+00"))
        tuned[(2,)](x, out, 64)
        np.testing.assert_array_equal(out, 5 * x)
        with pytest.raises(Exception, match="ir_override: the text has no kernel 'tuned' with the type"):
            plain[(2,)](x.astype(np.int32), out, 64, BLOCK=32, ir_override=path)
        with pytest.raises(ValueError, match="no .ttir and no .ptx file"):
            plain[(2,)](x, out, 64, BLOCK=32, ir_override="tripled.ttgir")
        (tmp_path / "code.ptx").write_text(".visible .entry tuned()")
        with pytest.raises(Exception, match="ir_override: PTX only runs on GPUs"):
            plain[(2,)](x, out, 64, BLOCK=32, ir_override=tmp_path / "code.ptx")
        with pytest.raises(FileNotFoundError, match="ir_override: cannot read"):
            plain[(2,)](x, out, 64, BLOCK=32, ir_override="nowhere.ttir")


# ---- specializations

def test_the_specializations_in_memory():
    put, x = make_kernel(), one()
    kernel = put[(1,)](x, 3)
    put[(1,)](x, 4)
    kept = put.device_caches[get_device_key()][0]
    assert len(kept) == 2 and kernel.hash in kept and kept[kernel.hash] is kernel and set(kept.values()) >= {kernel}
    binder = put.device_caches[get_device_key()][4]
    bound, properties, options = binder(x, 5, num_warps=2)
    assert bound["a"] == 5 and properties[0][0] == "*i32" and properties[1] == ("constexpr", 5) and options == {"num_warps": 2}
    kept.clear()
    assert len(put.device_caches[get_device_key()][0]) == 0


def test_preload(knobs, tmp_path):
    data = []
    knobs.runtime.jit_cache_hook = lambda **told: data.append(told["compile"]["specialization_data"])
    x = one()
    kernel = put_result[(1,)](x, seventeen, 16, num_warps=2)
    put_result.device_caches.clear()
    assert put_result.preload(data[0]).hash == kernel.hash
    count = len(data)
    assert put_result[(1,)](x, seventeen, 32, num_warps=2).hash == kernel.hash and len(data) == count and x[0] == 49
    put_result[(1,)](x, thirty_one, 32, num_warps=2)
    assert len(data) == count + 1 and x[0] == 63
    with pytest.raises(RuntimeError, match="Specialization data is for .*put_result but trying to preload for .*seventeen"):
        seventeen.preload(data[0])


Pair = namedtuple("Pair", ["left", "right"])


@triton.jit
def put_members(x_ptr, pair, nested):
    tl.store(x_ptr, pair.left + pair.right * 10 + nested[1][1] * 100)
    tl.store(nested[0], 7)


def test_preload_of_tuples(knobs):
    """Members are constants, numbers and tensors at any depth; a namedtuple keeps its names."""
    data, x = [], np.zeros(2, np.int32)
    knobs.runtime.jit_cache_hook = lambda **told: data.append(told["compile"])
    arguments = (x, Pair(5, tl.constexpr(2)), (x[1:], (1, 48)))
    kernel = put_members[(1,)](*arguments)
    assert list(x) == [4825, 7] and len(data) == 1
    assert data[0]["constants"] == {(1, 1): 2, (2, 1, 0): 1} and data[0]["signature"]["nested"] == ("*i32", ("constexpr", "i32"))
    put_members.device_caches.clear()
    assert put_members.preload(data[0]["specialization_data"]).hash == kernel.hash
    assert put_members[(1,)](*arguments).hash == kernel.hash and len(data) == 2
    described = triton.compile(kernel.src)
    assert "arith.constant 20" in described.asm["ttir"]
    copied = pickle.loads(pickle.dumps(kernel))
    x[:] = 0
    copied[(1, 1, 1)](*arguments)
    assert list(x) == [4825, 7]


def test_a_kernel_names_itself():
    put = make_kernel(repr=lambda told: f"put_{told.constants['a']}_{told.signature['x_ptr'][1:]}")
    assert put[(1,)](one(), 3).name == "put_3_i32" and put[(1,)](one().astype(np.int64), 4).name == "put_4_i64"


class Later(Executor):
    """An executor that runs its tasks on request."""

    def __init__(self):
        self.work = []

    def submit(self, function):
        future = Future()
        self.work.append(lambda: future.set_result(function()))
        return future

    def run_all(self):
        while self.work:
            self.work.pop(0)()


def test_compilation_in_the_background():
    put, later, x = make_kernel(), Later(), one()
    with triton.AsyncCompileMode(later):
        futures = [put.warmup(x, a, grid=(1,)) for a in (1, 2, 1)]
        assert len(later.work) == 2 and futures[0] is futures[2]
        assert len(put.device_caches[get_device_key()][0]) == 2
        later.run_all()
        assert futures[0].name == "put" and futures[0].result() is put[(1,)](x, 1) and x[0] == 1
    assert active_mode.get() is None
    with ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        put.warmup(x, 5, grid=(1,))
        with pytest.raises(RuntimeError, match="collected by another AsyncCompileMode"):
            triton.AsyncCompileMode(pool).__enter__()
    assert put[(1,)](x, 5) is not None and x[0] == 5


# ---- files of host code

def test_files_under_a_key(knobs, tmp_path):
    knobs.cache.dir = str(tmp_path)
    manager = FileCacheManager("key")
    paths = {"kernel.json": manager.put("{}", "kernel.json"), "kernel.cubin": manager.put(b"\0binary", "kernel.cubin")}
    manager.put_group("kernel.json", paths)
    assert manager.get_group("kernel.json") == paths and manager.get_group("other") is None
    assert open(manager.get_file("kernel.cubin"), "rb").read() == b"\0binary" and manager.get_file("none") is None
    (tmp_path / "key" / "kernel.cubin").unlink()
    assert manager.get_group("kernel.json") is None
    (tmp_path / "key" / "__grp__kernel.json").write_text("{")
    assert manager.get_group("kernel.json") is None
    assert isinstance(get_cache_manager("00ff"), FileCacheManager)
    knobs.cache.dump_dir = str(tmp_path / "dump")
    assert FileCacheManager("key", dump=True).put("text", "a").startswith(str(tmp_path / "dump"))


class Shelf:
    """A remote store that is a dict."""

    kept = {}

    def __init__(self, key):
        self.key = key

    def get(self, names):
        return {name: self.kept[name] for name in names if name in self.kept}

    def put(self, name, data):
        self.kept[name] = data


def test_files_in_a_remote_store(knobs, tmp_path):
    knobs.cache.dir = str(tmp_path)
    with pytest.raises(RuntimeError, match="TRITON_REMOTE_CACHE_BACKEND is not set"):
        RemoteCacheManager("key")
    knobs.cache.remote_manager_class = Shelf
    Shelf.kept = {}
    manager = RemoteCacheManager("key")
    manager.put("{}", "kernel.json")
    manager.put(b"binary", "kernel.cubin")
    manager.put_group("kernel.json", {"kernel.json": "a path", "kernel.cubin": "another"})
    shutil.rmtree(tmp_path / "key")
    (tmp_path / "key").mkdir()
    group = manager.get_group("kernel.json")
    assert open(group["kernel.cubin"], "rb").read() == b"binary" and set(group) == {"kernel.json", "kernel.cubin"}
    del Shelf.kept["kernel.cubin"]
    assert manager.get_group("kernel.json") is None and manager.get_file("kernel.cubin") is None


# ---- settings and the rest

def test_settings_from_the_environment(knobs, monkeypatch):
    monkeypatch.setenv("TRITON_HOME", "/somewhere")
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "tilewright.runtime.cache:FileCacheManager")
    monkeypatch.setenv("TRITON_REDIS_PORT", "many")
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    assert knobs.cache.dir == "/somewhere/.triton/cache" and knobs.cache.dump_dir == "/somewhere/.triton/dump"
    assert knobs.cache.manager_class is FileCacheManager
    with pytest.raises(RuntimeError, match="takes an integer"):
        knobs.redis.port
    knobs.redis.port = 1
    assert knobs.redis.port == 1
    knobs.redis.port = knobs.env
    monkeypatch.delenv("TRITON_REDIS_PORT")
    assert knobs.redis.port == 6379
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "collections:OrderedDict")
    with pytest.raises(RuntimeError, match="not a subclass of CacheManager"):
        knobs.cache.manager_class
    monkeypatch.setenv("TRITON_CUDART_PATH", "/cuda")
    assert knobs.build.backend_dirs == {"/cuda"}


def test_tools_of_the_toolkit(knobs, tmp_path):
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.86'\n")
    tool.chmod(0o755)
    knobs.nvidia.ptxas = str(tool)
    assert (knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version) == (str(tool), "12.9")
    knobs.nvidia.nvdisasm = str(tmp_path / "none")
    if shutil.which("nvdisasm") is None:
        with pytest.raises(RuntimeError, match="Cannot find nvdisasm"):
            knobs.nvidia.nvdisasm


def test_machine_code_as_text(monkeypatch):
    listing = b"""Function : kernel
        /*fff0*/     @P0 BRA 0x10000 ;      /* 0x0000000000007918 */
                                            /* 0x000fe20000000000 */
        /*10000*/    EXIT;                  /* 0x000000000000794d */
                                            /* 0x003fea0003800000 */
"""
    monkeypatch.setattr(disasm, "path_to_cuobjdump", lambda: "cuobjdump")
    monkeypatch.setattr(disasm.subprocess, "check_output", lambda command: listing)
    text = disasm.extract("kernel.cubin", None)
    assert text.splitlines()[0] == "Function:kernel" and "\t@P0 BRA L0;" in text and "L0:\n" in text and "\tEXIT;" in text


def test_allocators():
    with pytest.raises(RuntimeError, match="no allocator was set"):
        NullAllocator()(1, 1, None)
    triton.set_allocator(print)
    assert get_allocator() is print
    triton.set_allocator(None)
    assert isinstance(get_allocator(), NullAllocator)


def test_the_driver():
    driver = triton.runtime.driver
    assert driver.get_active_gpus() in ([], ["nvidia"])
    driver.set_active_to_cpu()
    assert isinstance(driver.active, CPUDriver) and not isinstance(driver.active, GPUDriver)
    event = driver.active.get_device_interface().Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    begin.record()
    end.record()
    assert begin.elapsed_time(end) >= 0
    driver.reset_active()
    properties = driver.active.utils.get_device_properties(0)
    kernel = make_kernel()[(1,)](one(), 3)
    kernel._init_handles()
    # In the way in which upstream's tutorials count the programs that fit onto a machine.
    assert properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * kernel.metadata.num_warps) >= 1
    assert properties["max_shared_mem"] // kernel.metadata.shared >= 1


def fail():
    raise ValueError("as expected")


def test_a_function_in_a_process_of_its_own():
    done = run_in_process(fail)
    assert isinstance(done.exc, ValueError) and str(done.exc) == "as expected"
    assert run_in_process(one).exc is None


@pytest.mark.skipif(shutil.which("FileCheck-22") is None and shutil.which("/usr/lib/llvm-22/bin/FileCheck") is None, reason="needs FileCheck")
def test_ir_against_comments():
    @triton.jit
    def good(x_ptr):
        # CHECK: tt.store %arg0
        tl.store(x_ptr, 1)

    @triton.jit
    def bad():
        # CHECK: tt.load
        pass

    @triton.jit
    def called(x, pair, width: tl.constexpr):
        return x + pair[0]

    @triton.aggregate
    class Held:
        tile: tl.tensor
        count: tl.constexpr

    @triton.jit
    def take(held):
        pass

    @triton.jit
    def calls():
        # Calls are as the front end made them, values have numbers, and names contain the types.
        # CHECK: %c11_i32 = arith.constant 11 : i32
        # CHECK: %[[TILE:.*]] = tt.make_range {end = 4 : i32, start = 0 : i32}
        # CHECK: tt.call @test_host_api.called__i32_Ti32S4S_c2T_c8(%c11_i32, %[[TILE]])
        # CHECK: tt.call @"test_host_api.take__test_host_api.Held<i32S4S, c3>"(%[[TILE]])
        scalar = 11
        tile = tl.arange(0, 4)
        called(scalar, (tile, 2), 8)
        take(Held(tile, tl.constexpr(3)))

    run_filecheck_test(calls)
    run_filecheck_test_with = triton._filecheck.run_parser(good, (one(),)).str_nodebug()
    triton._filecheck.run_filecheck("good", run_filecheck_test_with, good.src)
    with pytest.raises(ValueError, match="expected string not found"):
        run_filecheck_test(bad)


def test_data_for_another_machine(knobs):
    data = []
    knobs.runtime.jit_cache_hook = lambda **told: data.append(told["compile"]["specialization_data"])
    put = make_kernel()
    put[(1,)](one(), 3)
    with pytest.raises(RuntimeError, match="Specialization data is for .*another"):
        put.preload(data[0].replace('"backend": "cpu"', '"backend": "another"'))


@triton.constexpr_function
def chosen():
    return 1


@triton.jit
def put_chosen(x_ptr):
    value: tl.constexpr = chosen()
    tl.store(x_ptr, value)


def test_the_source_of_a_compile_time_function_is_in_keys():
    before, source = put_chosen.cache_key, chosen.src
    chosen._unsafe_update_src(source.replace("1", "2"))
    put_chosen.hash = None
    assert put_chosen.cache_key != before and chosen.src != source
    chosen._unsafe_update_src(source)
    put_chosen.hash = None
    assert put_chosen.cache_key == before and chosen.src == source


@triton.jit
def put_typed(x_ptr, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), tl.full((BLOCK,), 3, TYPE).to(tl.float32))


def test_types_as_constants(knobs):
    """A constexpr parameter takes a type as its value; elsewhere, a type in a warm-up stands for a tensor."""
    data = []
    knobs.runtime.jit_cache_hook = lambda **told: data.append(told["compile"]["specialization_data"])
    kernel = put_typed.warmup(tl.float32, tl.int8, 16, grid=(1,))
    assert kernel.signature.startswith("x_ptr=*fp32") and "TYPE=i8" in kernel.signature
    put_typed.device_caches.clear()
    knobs.runtime.jit_cache_hook = None
    assert put_typed.preload(data[0]).hash == kernel.hash


def test_workers_by_upstreams_name_and_time_between_hooks():
    @triton.jit
    def fill(x_ptr, VALUE: tl.constexpr):
        tl.store(x_ptr + tl.program_id(0), VALUE)

    x = np.zeros(64, np.float32)
    fill[(64,)](x, VALUE=1, num_cpu_threads=1)
    assert (x == 1).all()
    with pytest.raises(ValueError, match="must not be negative"):
        fill[(64,)](x, VALUE=1, num_cpu_threads=-1)
    config = triton.Config({"VALUE": 2}, num_cpu_threads=1)
    assert config.all_kwargs()["num_cpu_threads"] == 1 and pickle.loads(pickle.dumps(config)) == config
    assert "num_cpu_threads" not in triton.Config({"VALUE": 2}).all_kwargs()
    triton.autotune(configs=[config, triton.Config({"VALUE": 2})], key=[])(fill)[(64,)](x)
    assert (x == 2).all()

    def slow():
        time.sleep(0.02)
        fill[(64,)](x, VALUE=3)

    triton.runtime.driver.set_active_to_cpu()
    try:
        whole = triton.testing.do_bench(slow, warmup=1, rep=1)
        launches = triton.testing.do_bench(slow, warmup=1, rep=1, measure_time_with_hooks=True)
    finally:
        triton.runtime.driver.reset_active()
    assert whole >= 20 > launches > 0 and not triton.knobs.runtime.launch_enter_hook


def compiled_for(target, source, constants=None):
    constants = constants or {}
    signature = {name: "*fp32" for name in source.arg_names if name not in constants} | {name: "constexpr" for name in constants}
    return triton.compile(triton.compiler.ASTSource(source, signature, {(source.arg_names.index(name),): value for name, value in constants.items()}),
                          target=target)


CPU, HOPPER = GPUTarget("cpu", "", 1), GPUTarget("cuda", 90, 32)


def test_a_condition_that_is_no_boolean():
    @triton.jit
    def kernel(x):
        tl.store(x, tl.sum(tl.where(tl.arange(0, 16), 1, 2)))

    with pytest.warns(UserWarning, match="the condition of tl.where is int32 and not a boolean"):
        compiled_for(CPU, kernel)


def test_matmul_of_a_type_that_hopper_lacks(recwarn):
    @triton.jit
    def kernel(x):
        a = tl.full((32, 32), 1.0, tl.float8e4b15)
        tl.store(x, tl.sum(tl.dot(a, a)))

    compiled_for(CPU, kernel)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="fp8e4b15 is deprecated on Hopper"):
        compiled_for(HOPPER, kernel)


def test_a_default_that_kernels_of_others_repeat():
    @triton.jit
    def kernel(x_ptr, descending: tl.constexpr = tl.core.CONSTEXPR_0):
        tl.store(x_ptr, 5 - descending)

    x = one()
    kernel[(1,)](x)
    assert x[0] == 5 and tl.core.CONSTEXPR_0.value == 0


def test_extremes_of_constants():
    @triton.jit
    def kernel(x, A: tl.constexpr, B: tl.constexpr):
        tl.store(x, min(A, B) + max(A, B))

    compiled_for(CPU, kernel, {"A": 1.0, "B": 0.0})
    for value in (-0.0, float("nan")):
        with pytest.raises(triton.CompilationError, match="min.. of constants is ambiguous for NaN and -0.0: use tl.minimum"):
            compiled_for(CPU, kernel, {"A": 1.0, "B": value})


def test_host_code_asks_for_the_target():
    assert tl.target_info.current_target() == triton.runtime.driver.active.get_current_target()
    assert tl.target_info.is_cuda() is (tl.target_info.current_target().backend == "cuda") and not tl.target_info.is_hip()
    assert tl.target_info.cuda_capability_geq(8) is tl.target_info.is_cuda() and not tl.target_info.is_hip_gfx1250()


def test_where_a_kernel_is_defined():
    @triton.jit(
        debug=True,
    )
    def kernel(x):
        tl.store(x, 1)

    assert kernel.file_name == __file__ and kernel.def_file_col_number == 5
    assert open(__file__).read().splitlines()[kernel.def_file_line_number - 1] == "    def kernel(x):"


def test_static_print(capsys):
    @triton.jit
    def kernel(x, N: tl.constexpr):
        tile = tl.load(x + tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :])
        tl.static_print("kernel", N, tile, tl.sum(tile), tl.float16)
        tl.store(x, tl.sum(tile))

    compiled_for(CPU, kernel, {"N": 8})
    assert capsys.readouterr() == ("kernel 8 fp32[constexpr[4], constexpr[8]] fp32[] fp16\n", "")


C_MODULE = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(%d); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "said_in_c", 0, -1, methods};
PyMODINIT_FUNC PyInit_said_in_c(void) { return PyModule_Create(&module); }
"""


def test_modules_of_c_sources(tmp_path, monkeypatch):
    """triton.runtime.build: the library is kept in the cache folder; a damaged one is built again, and invalid C is an error with the compiler's message."""
    from tilewright.runtime.build import compile_module_from_src, compile_so_from_src
    if not any(map(shutil.which, ("gcc", "clang", "cc"))):
        pytest.skip("no C compiler")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    module = compile_module_from_src(C_MODULE % 42, "said_in_c")
    assert module.answer() == 42
    assert compile_module_from_src(C_MODULE % 42, "said_in_c").__file__ == module.__file__
    path = compile_so_from_src(C_MODULE % 43, "said_in_c")
    assert path != module.__file__
    with open(path, "w") as file:
        file.write("no library")
    assert compile_module_from_src(C_MODULE % 43, "said_in_c").answer() == 43
    with pytest.raises(RuntimeError, match="could not build the module 'said_in_c'"):
        compile_module_from_src("no C", "said_in_c")


@triton.jit
def replaced_kernel(out_ptr, n):
    tl.store(out_ptr, n * 3)


def test_a_file_takes_a_kernels_place(tmp_path):
    out, folder = np.zeros(1, np.int32), tmp_path / "stages"
    with triton.knobs.cache.scope(), triton.knobs.compilation.scope():
        triton.knobs.cache.dump_dir, triton.knobs.compilation.dump_ir = str(folder), True
        replaced_kernel[(1,)](out, 7)
        assert out[0] == 21
        gpu = replaced_kernel.warmup(out, 7, grid=(1,), arch="sm90")
    written, = folder.glob("*/replaced_kernel.ttir")
    text = written.read_text()
    for other in folder.glob("*/*"):
        other.unlink()
    with triton.knobs.cache.scope(), triton.knobs.compilation.scope():
        triton.knobs.cache.override_dir, triton.knobs.compilation.override = str(folder), True
        written.write_text(re.sub(r"constant 3 : i32", "constant 5 : i32", text))
        replaced_kernel._unsafe_update_src(replaced_kernel.src)  # now no specialization is in memory
        replaced_kernel[(1,)](out, 7)
        assert out[0] == 35
        written.with_suffix(".ptx").write_text("// mine\n" + gpu.asm["ptx"])
        assert "// mine" in replaced_kernel.warmup(out, 7, grid=(1,), arch="sm90").asm["ptx"]
        replaced_kernel[(1,)](out, 16)  # another specialization, for which there is no file
        assert out[0] == 48


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no ptxas")
def test_settings_of_the_assembler(monkeypatch, capfd):
    def compiled():
        replaced_kernel._unsafe_update_src(replaced_kernel.src)
        return replaced_kernel.warmup(np.zeros(1, np.int32), 7, grid=(1,), arch="sm90")

    plain = compiled().asm["cubin"]
    monkeypatch.setenv("TRITON_DUMP_PTXAS_LOG", "1")
    monkeypatch.setenv("PTXAS_OPTIONS", "--maxrregcount 32 --warn-on-spills")
    compiled()
    assert "Compiling entry function 'replaced_kernel' for 'sm_90a'" in capfd.readouterr().err
    monkeypatch.delenv("PTXAS_OPTIONS")
    for word in ("1", "Yes", "on"):
        monkeypatch.setenv("DISABLE_PTXAS_OPT", word)
        assert compiled().asm["cubin"] != plain
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "off")
    assert compiled().asm["cubin"] == plain
    monkeypatch.setenv("PTXAS_OPTIONS", "--no-such-option")
    with pytest.raises(Exception, match="no-such-option"):
        compiled()
    monkeypatch.delenv("PTXAS_OPTIONS")
    with pytest.raises(Exception, match="no-option-either"):
        replaced_kernel.warmup(np.zeros(1, np.int32), 7, grid=(1,), arch="sm90", ptx_options="--no-option-either")


@triton.jit
def power_kernel(out):
    tl.store(out, tl.exp2(tl.load(out)))


def test_denormals_of_exp2():
    x = np.zeros(1, np.float32)
    flushing, keeping = (power_kernel.warmup(x, grid=(1,), arch="sm90", enable_reflect_ftz=flag).asm["ptx"] for flag in (True, False))
    assert "ex2.approx.ftz.f32" in flushing and "ex2.approx.f32" in keeping


@triton.jit
def waiting_kernel(flag, out):
    tl.store(out, tl.atomic_poll(flag, 7, timeout_ns=1000).to(tl.int32))


def test_waiting_for_some_time():
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    ptx = waiting_kernel.warmup(flag, out, grid=(1,), arch="sm90").asm["ptx"]
    assert ptx.count("%globaltimer") == 2 and "atom.global.acquire.gpu.cas" in ptx
    with pytest.raises(triton.CompilationError, match="measured by a GPU's clock"):
        waiting_kernel[(1,)](flag, out)


def test_kernels_with_libraries_are_others(monkeypatch):
    told = []
    monkeypatch.setattr(triton.knobs.runtime, "jit_post_compile_hook", lambda compile, **_: told.append(compile["extern_libs"]))
    x = np.zeros(1, np.float32)
    for libraries in (None, {}, {"libdevice": "somewhere.bc"}, {"libdevice": "somewhere.bc"}):
        power_kernel[(1,)](x, extern_libs=libraries)
    assert told == [None, (), (("libdevice", "somewhere.bc"),)]


def test_cdiv_rounds_up():
    assert triton.cdiv(7, 2) == 4 and triton.cdiv(x=8, y=2) == 4 and triton.cdiv(0, 5) == 0 and triton.cdiv(-7, 2) == -3
    assert triton.cdiv(tl.constexpr(9), 4) == 3 and triton.cdiv(9, tl.constexpr(4)) == 3


def test_the_package_of_nvidias_back_end(knobs, tmp_path, monkeypatch):
    """Libraries import these names where they ask for the assembler's version or link with CUDA's driver."""
    from tilewright.backends.nvidia.compiler import CUDABackend, get_ptxas, get_ptxas_version
    from tilewright.backends.nvidia.driver import CudaDriver, libcuda_dirs
    from tilewright.compiler.compiler import get_cache_manager as same

    assert triton.backends.backends["nvidia"].compiler is CUDABackend and triton.backends.backends["nvidia"].driver is CudaDriver
    assert same is get_cache_manager
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tool))
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert get_ptxas(90).version == get_ptxas(100).version == "13.0" and get_ptxas(100).path == str(tool)
    assert "release 13.0" in get_ptxas_version(100)
    knobs.nvidia.libcuda_path = "/some/folder"
    libcuda_dirs.cache_clear()
    assert libcuda_dirs() == ["/some/folder"]
    libcuda_dirs.cache_clear()
