"""What a process that launches kernels must survive: Ctrl-C, bad addresses, its own end, fork, and kernels by the thousand. Each case runs
in a process of its own, for a bounded time."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

PRELUDE = '''
import gc, os, signal, sys, threading, time
import numpy as np
import tilewright as triton
import tilewright.language as tl

@triton.jit
def fill(out, value, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, value, mask=at < n)

@triton.jit
def forever(out, n):
    i = 0
    while i < n:
        tl.atomic_add(out, 1)
        if i > 100:
            i = 50
        i += 1

@triton.jit
def forever_in_libm(out, n):
    tl.atomic_add(out, 1.0)
    x = 1.5
    i = 0
    while i < n:
        x = tl.erf(tl.sin(x)) + 1.5
        i = tl.where(i > 100, 50, i + 1)
    tl.store(out, x)

@triton.jit
def forever_printing(out, n):
    tl.atomic_add(out, 1.0)
    i = 0
    while i < n:
        tl.device_print("again", i)
        i = i * 0

@triton.jit
def far(out, distance, BLOCK: tl.constexpr):
    tl.store(out + distance + tl.arange(0, BLOCK), 1.0)

def child_succeeds(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if work() else 3)
    return os.waitpid(child, 0)[1] == 0

def wait_until(condition):
    while not condition():
        time.sleep(0.001)

def is_pending(number):
    """Whether a signal has been sent to this process and has not reached it."""
    [pending] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("ShdPnd")]
    return int(pending, 16) >> number - 1 & 1

def interrupt(out, times=1):
    """Interrupts the launch when its kernel has added to out[0]; and again when it has added more after the interrupt has arrived."""
    sent, count = [], out[0]
    def run(count):
        for _ in range(times):
            wait_until(lambda: out[0] != count)
            os.kill(os.getpid(), signal.SIGINT)
            sent.append(1)
            wait_until(lambda: not is_pending(signal.SIGINT))
            count = out[0]
    threading.Thread(target=run, args=(count,), daemon=True).start()
    return sent
'''


def run(tmp_path, text, seconds=60, *options, **environment):
    """The finished process and how long it took."""
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + textwrap.dedent(text))
    start = time.monotonic()
    done = subprocess.run([sys.executable, *options, str(script)], capture_output=True, text=True, timeout=seconds, check=False,
                          env={**os.environ, **environment})
    return done, time.monotonic() - start


def succeed(tmp_path, text, seconds=60, *options, **environment):
    done, _ = run(tmp_path, text, seconds, *options, **environment)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return done.stdout


# ---- Ctrl-C


@pytest.mark.parametrize("kernel", ["forever", "forever_in_libm", "forever_printing"])
def test_ctrl_c_ends_a_compiled_kernel(tmp_path, kernel):
    out = succeed(tmp_path, f'''
        kernel = {kernel}
        kernel[(1,)](np.zeros(1, np.int32 if kernel is forever else np.float32), 0)
        for grid in (1,), (64,):
            out = np.zeros(1, np.int32 if kernel is forever else np.float32)
            interrupt(out)
            try:
                kernel[grid](out, 1 << 30)
            except KeyboardInterrupt:
                print("\\ninterrupted")
        out = np.zeros(4096, np.float32)
        fill[(64,)](out, 3.0, 4096, BLOCK=64)
        print("\\nafterwards", (out == 3).all())
    ''')
    lines = out.splitlines()
    assert lines.count("interrupted") == 2 and lines[-1] == "afterwards True"


@pytest.mark.parametrize("engine", ["interpret", "simulate"])
def test_ctrl_c_ends_the_other_engines(tmp_path, engine):
    out = succeed(tmp_path, f'''
        out = np.zeros(1, np.int32)
        interrupt(out)
        with triton.engine("{engine}"):
            try:
                forever[(1,)](out, 1 << 30)
            except KeyboardInterrupt:
                print("interrupted")
    ''')
    assert out == "interrupted\n"


def test_ctrl_c_ends_a_program_as_usual(tmp_path):
    done, _ = run(tmp_path, '''
        out = np.zeros(1, np.int32)
        interrupt(out)
        forever[(1,)](out, 1 << 30)
    ''')
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_while_compiling(tmp_path):
    """The signal arrives when the launch has begun and the kernel has not: nothing else would notice it before the kernel ends."""
    out = succeed(tmp_path, '''
        compiling = np.zeros(1)

        def width():
            compiling[0] = 1
            return 16

        @triton.jit
        def slow_to_compile(out, n, TURNS: tl.constexpr):
            x = tl.load(out + tl.arange(0, width()))
            for i in tl.static_range(TURNS):
                x = tl.exp(x) + tl.load(out + i + tl.arange(0, 16))
            tl.store(out, tl.sum(x, 0))
            forever(out, n)

        os.environ["TILEWRIGHT_CACHE"] = "0"
        interrupt(compiling)
        try:
            slow_to_compile[(1,)](np.zeros(2000, np.float32), 1 << 30, TURNS=1000)
        except KeyboardInterrupt:
            print("interrupted")
    ''')
    assert out == "interrupted\n"


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
@pytest.mark.parametrize("used", ["sizes.width", "sizes.missing", "width()", "Lazy.width", "Number()", "hidden"])
def test_ctrl_c_in_what_the_compiler_calls(tmp_path, engine, used):
    """Wherever the compiler calls Python, the signal's handler may run as well: what it raises is not the kernel's error."""
    out = succeed(tmp_path, f'''
        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000): pass
            return 16

        class Sizes:
            width = property(lambda self: interrupt())
            def __getattr__(self, name): return interrupt()

        class OfClass:
            def __get__(self, instance, owner): return interrupt()

        class Lazy:
            width = OfClass()

        class Number:
            def __index__(self): return interrupt()

        class Hidden:
            def __getattr__(self, name): return interrupt()

        def width():
            return interrupt()

        sizes, number, hidden = Sizes(), Number(), Hidden()

        @triton.jit
        def kernel(out):
            tl.store(out + tl.arange(0, 16), {used if used != "Number()" else "number"})

        out = np.zeros(16, np.float32)
        for _ in range(2):
            try:
                with triton.engine("{engine}"):
                    kernel[(1,)](out)
            except KeyboardInterrupt:
                print("interrupted")
        try:
            print(kernel.cache_key != "")
        except KeyboardInterrupt:
            print("True")
        fill[(1,)](out, 3.0, 16, BLOCK=16)
        print((out == 3).all())
    ''')
    assert out.splitlines() == ["interrupted", "interrupted", "True", "True"]


def test_a_helper_may_end_the_process(tmp_path):
    done, _ = run(tmp_path, '''
        def leave():
            sys.exit(7)

        @triton.jit
        def kernel(out):
            tl.store(out, leave())

        kernel[(1,)](np.zeros(1, np.float32))
    ''')
    assert done.returncode == 7


def test_a_handler_of_the_program_decides(tmp_path):
    """A handler that does not raise sees the first SIGINT after the launch; a second SIGINT ends the launch (interruptedLaunch)."""
    out = succeed(tmp_path, '''
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        out = np.zeros(1, np.int32)
        sent = interrupt(out, times=2)
        try:
            forever[(1,)](out, 1 << 30)
        except KeyboardInterrupt as error:
            print(error, len(sent), len(seen))
    ''')
    assert out == "the launch of kernel 'forever' was interrupted 2 1\n"


def test_a_handler_of_the_program_may_raise(tmp_path):
    out = succeed(tmp_path, '''
        class Enough(Exception): pass
        def enough(*_): raise Enough
        out = np.zeros(1, np.int32)
        signal.signal(signal.SIGINT, enough)
        interrupt(out, times=2)
        try:
            forever[(1,)](out, 1 << 30)
        except Enough:
            print("enough")
    ''')
    assert out == "enough\n"


def test_ignored_signals_stay_ignored(tmp_path):
    out = succeed(tmp_path, '''
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        @triton.jit
        def long(out, n):
            for i in range(n):
                tl.atomic_add(out, 1)
        out = np.zeros(1, np.int32)
        sent = interrupt(out)
        long[(1,)](out, 1 << 27)
        print(out[0] == 1 << 27, len(sent))
    ''')
    assert out == "True 1\n"


def test_launches_of_other_threads_go_on(tmp_path):
    """As in Python, signals are for the main thread."""
    out = succeed(tmp_path, '''
        @triton.jit
        def long(out, n):
            for i in range(n):
                tl.atomic_add(out, 1)
        out = np.zeros(1, np.int32)
        done = threading.Event()
        interrupt(out)
        thread = threading.Thread(target=lambda: (long[(1,)](out, 1 << 28), done.set()))
        try:
            thread.start()
            done.wait()
        except KeyboardInterrupt:
            print("interrupted")
        done.wait()
        print(out[0] == 1 << 28)
    ''')
    assert out == "interrupted\nTrue\n"


def command(tmp_path, *arguments):
    """The command line that runs a kernel of the prelude."""
    program = os.path.join(os.path.dirname(os.environ["PYTHONPATH"].split(os.pathsep)[0]), "bin", "tilewright")
    if not os.path.exists(program):
        pytest.skip("there is no command next to this package")
    kernels = tmp_path / "kernels.py"
    kernels.write_text(PRELUDE)
    return [program, "run", str(kernels), "--grid", "1", *arguments]


def test_the_command_ends_by_ctrl_c(tmp_path):
    arguments = command(tmp_path, "--kernel", "forever_printing", "--arg", "out=zeros:f32[1]", "--arg", "n=1073741824")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert "again" in process.stdout.readline()  # the kernel runs
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == -signal.SIGINT


# ---- bad addresses


def test_a_bad_address_is_explained(tmp_path):
    done, _ = run(tmp_path, '''
        x = np.zeros(64, np.float32)
        far[(1,)](x, 0, BLOCK=64)
        far[(1,)](x, 1 << 40, BLOCK=64)
    ''')
    assert done.returncode == -signal.SIGSEGV
    assert "tilewright: kernel 'far' used the address 0x" in done.stderr
    assert "The nearest argument is 'out': the address is 4398046511" in done.stderr
    assert 'tilewright.engine("interpret", check_bounds=True)' in done.stderr and "tilewright run --sanitize" in done.stderr


@pytest.mark.parametrize("when", ["before", "after"])
def test_faulthandler_has_its_say(tmp_path, when):
    done, _ = run(tmp_path, f'''
        import faulthandler
        x = np.zeros(64, np.float32)
        if "{when}" == "before": faulthandler.enable()
        far[(1,)](x, 0, BLOCK=64)
        if "{when}" == "after": faulthandler.enable()
        far[(1,)](x, 1 << 40, BLOCK=64)
    ''')
    assert done.returncode == -signal.SIGSEGV
    assert "tilewright: kernel 'far' used" in done.stderr and "Fatal Python error: Segmentation fault" in done.stderr


def test_the_command_explains_a_bad_address(tmp_path):
    arguments = command(tmp_path, "--kernel", "far", "--arg", "out=zeros:f32[64]", "--arg", "distance=-1099511627776", "--arg", "BLOCK=64")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert "tilewright: kernel 'far' used the address 0x" in done.stderr and "The nearest argument is 'out'" in done.stderr


def test_bad_addresses_elsewhere_are_not_ours(tmp_path):
    done, _ = run(tmp_path, '''
        fill[(1,)](np.zeros(64, np.float32), 1.0, 64, BLOCK=64)
        import ctypes
        ctypes.string_at(8)
    ''')
    assert done.returncode == -signal.SIGSEGV
    assert "tilewright" not in done.stderr


# ---- small stacks


def test_a_small_stack_is_refused(tmp_path):
    """smallStack: the error comes before anything runs; kernels that are compiled already need little stack."""
    out = succeed(tmp_path, '''
        @triton.jit
        def sort(out, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(out + at, tl.sort(tl.load(out + at)))
        def work():
            numbers = np.arange(64, dtype=np.float32)[::-1].copy()
            try:
                sort[(1,)](numbers, BLOCK=64)
                print((numbers == np.arange(64)).all())
            except RuntimeError as error:
                print(error)
        threading.stack_size(64 << 10)
        for _ in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            work()
    ''')
    lines = out.splitlines()
    assert lines[0].startswith("the stack of this thread is too small for kernels: ") and "threading.stack_size" in lines[0]
    assert lines[1:] == ["True"] * 3


@pytest.mark.parametrize("stack, count", [(1 << 20, 10000), (256 << 10, 1000)])
def test_a_long_chain_on_a_small_stack(tmp_path, stack, count):
    """Analyses that follow a tile back through the operations that made it stop at some depth, and the compiler takes the stack that it needs."""
    out = succeed(tmp_path, f'''
        @triton.jit
        def long(x, out, COUNT: tl.constexpr):
            at = tl.arange(0, 1024)
            x = tl.load(x + at)
            y = x
            for _ in tl.static_range(COUNT):
                y = y * 0.5 + x
            tl.store(out + at, y)
        def work():
            x, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
            long[(1,)](x, out, COUNT={count})
            print((out == 2 * x).all())
        threading.stack_size({stack})
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    ''')
    assert out == "True\n"


# ---- the end of the interpreter, and fork


@pytest.mark.parametrize("work", ["fill[(1024,)](x, 1.0, 1 << 20, BLOCK=1024)", "fill[(1,)](x, 1.0, 64, BLOCK=64, num_stages=next(count))",
                                  "forever[(4,)](i, 1 << 30)", "interpret()"])
def test_daemon_threads_at_the_end(tmp_path, work):
    text = f'''
        import itertools
        count = itertools.count()
        x, i, done = np.zeros(1 << 20, np.float32), np.zeros(1, np.int32), []
        def interpret():
            with triton.engine("interpret"):
                forever[(1,)](i, 1 << 30)
        def run():
            while True:
                {work}
                done.append(1)
        for _ in range(3): threading.Thread(target=run, daemon=True).start()
        wait_until(lambda: len(done) > 10 or i[0] > 0)
        print("end")
    '''
    for _ in range(4):
        assert succeed(tmp_path, text) == "end\n"


def test_fork_while_compiling(tmp_path):
    out = succeed(tmp_path, '''
        import itertools
        def compile():
            for stages in itertools.count(): fill[(1,)](np.zeros(64, np.float32), 1.0, 64, BLOCK=64, num_stages=stages % 60000)
        for _ in range(2): threading.Thread(target=compile, daemon=True).start()
        ok = 0
        for i in range(12):
            time.sleep(0.02)
            def filled():
                out = np.zeros(1 << 16, np.float32)
                fill[(1024,)](out, float(i), 1 << 16, BLOCK=64, num_stages=60001 + i)
                return (out == i).all()
            ok += child_succeeds(filled)
        print(ok)
    ''', 120)
    assert out == "12\n"


# Makes the construction of C++ statics slow, so that forks happen in the middle of one.
SLOW_CONSTRUCTION = '''
#include <dlfcn.h>
#include <time.h>
int __cxa_guard_acquire(long *guard) {
  static int (*real)(long *);
  if (!real) real = (int (*)(long *))dlsym(dlopen("libstdc++.so.6", RTLD_LAZY), "__cxa_guard_acquire");
  struct timespec pause = {0, 4000000};
  int first = real(guard);
  if (first) nanosleep(&pause, 0);
  return first;
}
'''


def test_fork_during_the_first_launch(tmp_path):
    (tmp_path / "slow.c").write_text(SLOW_CONSTRUCTION)
    slow = str(tmp_path / "slow.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", slow, str(tmp_path / "slow.c"), "-ldl"], check=True)
    for _ in range(3):
        out = succeed(tmp_path, '''
            def launch(): fill[(1,)](np.zeros(64, np.float32), 1.0, 64, BLOCK=64)
            def filled():
                out = np.zeros(1 << 16, np.float32)
                fill[(1024,)](out, 7.0, 1 << 16, BLOCK=64)
                return (out == 7).all()
            threads = [threading.Thread(target=launch) for _ in range(4)]
            for thread in threads: thread.start()
            ok = 0
            while any(thread.is_alive() for thread in threads) or ok < 3:
                assert child_succeeds(filled)  # fork waits for the compiler: then the first launch is under way
                ok += 1
            print(ok >= 3)
        ''', 120, LD_PRELOAD=slow)
        assert out == "True\n"


def test_fork_while_a_launch_compiles_another_version(tmp_path):
    out = succeed(tmp_path, '''
        import itertools
        @triton.jit
        def product(a, c, M, turn: tl.constexpr):
            i, k = tl.program_id(0) * 32 + tl.arange(0, 32), tl.arange(0, 32)
            rows = tl.load(a + i[:, None] * 32 + k[None, :])
            columns = tl.load(a + k[:, None] * 32 + k[None, :])
            tl.store(c + i[:, None] * 32 + k[None, :], tl.dot(rows, columns), mask=i[:, None] < M)
        a = np.ones((64, 32), np.float32)
        def sums(turn):
            for m in (31, 33):  # one row is left over: faster code is made for it
                c = np.zeros((64, 32), np.float32)
                product[(2,)](a, c, m, turn)
                assert c.sum() == m * 32 * 32
            return True
        def launch():
            for turn in itertools.count(): sums(turn)
        for _ in range(2): threading.Thread(target=launch, daemon=True).start()
        ok = 0
        for i in range(30):
            time.sleep(0.005)
            ok += child_succeeds(lambda: sums(-1 - i))
        print(ok)
    ''', 300)
    assert out == "30\n"


def test_a_forked_child_is_interrupted_too(tmp_path):
    out = succeed(tmp_path, '''
        forever[(1,)](np.zeros(1, np.int32), 0)
        child = os.fork()
        if child == 0:
            out = np.zeros(1, np.int32)
            interrupt(out)
            try:
                forever[(4,)](out, 1 << 30)
            except KeyboardInterrupt:
                os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    ''')
    assert out == "7\n"


# ---- many kernels


def test_kernels_are_freed(tmp_path):
    """2,000 kernels compiled, launched and dropped release all code and memory."""
    out = succeed(tmp_path, '''
        import importlib.util, weakref
        def load(number):
            path = os.path.join(os.path.dirname(__file__), f"kernel_{number % 10}.py")
            with open(path, "w") as file:
                file.write("import tilewright as triton, tilewright.language as tl\\n"
                           "SCALE = 2\\n"
                           "@triton.jit\\ndef helper(x):\\n    return x * SCALE\\n"
                           "@triton.jit\\ndef kernel(out, f: tl.constexpr, B: tl.constexpr):\\n"
                           f"    tl.store(out + tl.arange(0, B), f({number % 10}.0))\\n")
            spec = importlib.util.spec_from_file_location("kernels", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        def use(number):
            module = load(number)
            out = np.zeros(64, np.float32)
            compiled = module.kernel[(1,)](out, module.helper, B=64)
            assert (out == 2.0 * (number % 10)).all()
            return weakref.ref(module.kernel), compiled
        def mappings(): return sum(1 for _ in open("/proc/self/maps"))
        def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096
        for number in range(200): use(number)
        gc.collect()
        kernel, compiled = use(1)
        gc.collect()
        assert kernel() is not None and "store" in compiled.asm["ttir"]  # what was compiled keeps its kernel
        del compiled
        gc.collect()
        assert kernel() is None
        before = mappings(), resident()
        for number in range(2000): use(number)
        gc.collect()
        print(mappings() - before[0], (resident() - before[1]) >> 20)
    ''', 300)
    more, megabytes = map(int, out.split())
    assert more <= 20 and megabytes <= 20, out
