"""@autotune and @heuristics: choosing the constants that a kernel leaves open, by measuring or by rules.

The tuner in C++ (src/tune) chooses the configuration and stores the result on disk; the command line and the
C++ interface use it as well. This file has the Python parts: objects, hooks, the user's functions, threads.
"""

import inspect
import os
import sys
import threading
import warnings
from functools import partial

from .. import _core, _measure, knobs
from .._progress import progress
from .._errors import AutotunerError, CompilationError, InterpreterError, OutOfResources, PTXASError
from ..backends.driver import CPUDriver
from .driver import driver
from .guess import guess
from .jit import DRY_RUN, JITFunction, KernelInterface, pickled_by_name
from .rules import KeptRule


_NUMBERS = frozenset((int, float, bool))


_PASSED = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override", "num_cpu_threads")
_OPTIONS = (*_PASSED, "pre_hook")
_THREADS = ("num_threads", "num_cpu_threads")  # options of a launch


class Config:
    """One way to compile a kernel: values for its constexpr parameters, and launch options.

    pre_hook: a function of the dict of arguments by name, called before each run. Options of GPUs are stored, and the CPU ignores
    those that it does not have. num_cpu_threads: the number of workers on a CPU; 0 for all.
    """

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None, num_cpu_threads=0):
        vars(self).update(kwargs=kwargs, num_warps=num_warps, num_stages=num_stages, num_ctas=num_ctas, maxnreg=maxnreg, pre_hook=pre_hook,
                          ir_override=ir_override, num_cpu_threads=num_cpu_threads)

    def all_kwargs(self):
        """The keywords of a launch: the values, and the options that are set."""
        options = {name: value for name in _PASSED if (value := getattr(self, name)) is not None}
        if not self.num_cpu_threads:
            options.pop("num_cpu_threads", None)
        return {**self.kwargs, **options}

    def __setstate__(self, state):
        self.__init__(state.get("kwargs", {}), **{name: state[name] for name in _OPTIONS if name in state})

    def __str__(self):
        shown = {**self.kwargs, **{name: getattr(self, name) for name in _PASSED[:4]}}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    __repr__ = __str__

    def _identity(self):
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self):
        return hash(self._identity())

    def __eq__(self, other):
        return isinstance(other, Config) and self._identity() == other._identity()


def _zero(tensor):
    if hasattr(tensor, "zero_"):
        tensor.zero_()
    else:
        tensor[...] = 0


def _is_tensor(value):
    return hasattr(value, "dtype") and (hasattr(value, "data_ptr") or hasattr(value, "__array_interface__"))


def _clone(tensor):
    return tensor.clone() if hasattr(tensor, "clone") else tensor.copy()


def _copy_back(tensor, saved):
    if hasattr(tensor, "copy_"):
        tensor.copy_(saved)
    else:
        tensor[...] = saved


_WORK_TO_CONFIRM = 1 << 25  # elements that the interpreter may compute for one configuration: a second or two

_FAILURES = (OutOfResources, CompilationError, PTXASError, MemoryError)


def _decorated(decorator, fn):
    """The parameter names of the kernel below a decorator."""
    if not hasattr(fn, "arg_names"):
        raise TypeError(f"@{decorator} needs a kernel, not {fn!r}: write it above @jit")
    return fn.arg_names


def _jit_function(fn):
    while not isinstance(fn, JITFunction) and hasattr(fn, "fn"):
        fn = fn.fn
    return fn if isinstance(fn, JITFunction) else None


def _rules_and_kernel(fn):
    """The @heuristics between a tuner and its kernel, outermost first, so that a launch goes through one call and not through one for
    each; the kernel is None if there is another decorator in between."""
    rules = []
    while type(fn) is Heuristics:
        rules.append(fn)
        fn = fn.fn
    return rules, fn if isinstance(fn, JITFunction) else None


def _config_of(sizes):
    """A Config from the sizes that guess.py estimates."""
    options = {name: value for name, value in sizes.items() if name in _OPTIONS}
    return Config({name: value for name, value in sizes.items() if name not in options}, **options)


def _kept_on_disk(asked, measures_itself):
    """True if results are stored on disk: if the user asks for it, or by default if the tuner's own measurement is used."""
    if _core.switch_of(os.environ.get("TILEWRIGHT_CACHE_AUTOTUNING", "")) is False:
        return False
    return bool(asked) or knobs.autotuning.cache or (asked is None and not measures_itself)


class _Measuring:
    """Lets one thread at a time measure, undisturbed by other measurements. Threads that waited to measure the same find it done."""

    def __init__(self):
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.under_way = set()  # the keys for which the thread that holds the lock measures


def _compilations_are_watched():
    """True if hooks observe compilations, so that they must run one after the other, each before its launch."""
    runtime = knobs.runtime
    return bool(runtime.debug or runtime.jit_cache_hook or runtime.jit_post_compile_hook or knobs.compilation.listener)


def _is_watched():
    """True if hooks observe compilations or launches."""
    return bool(_compilations_are_watched() or knobs.runtime.launch_enter_hook or knobs.runtime.launch_exit_hook)


def _innermost(fn):
    """The Python function below all decorators of a kernel."""
    return fn if inspect.isfunction(fn) else _innermost(fn.fn)


class Autotuner(KernelInterface):
    """Measures all configurations at the first launch with new values of the key, and uses the fastest from then on."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None, prune_configs_by=None,
                 warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=None):
        self.fn, self.base_fn = fn, _innermost(fn)
        self.__name__ = self.base_fn.__name__
        self.__doc__ = self.base_fn.__doc__
        self.arg_names = arg_names
        self._arg_set = set(arg_names)
        self.guesses = configs == "auto"
        if isinstance(configs, str) and not self.guesses:
            raise TypeError(f"@autotune needs a list of Config, or 'auto' for an estimate, not {configs!r}")
        self.configs = [] if self.guesses else list(configs)
        self._was_empty = not self.guesses and not self.configs
        if self._was_empty:  # an empty list means one configuration without values, as upstream has it
            self.configs = [Config({})]
        for config in self.configs:
            if not hasattr(config, "all_kwargs"):
                raise TypeError(f"@autotune needs a list of Config, but {config!r} is not a Config")
        self.keys = list(key)
        self._key_places = [(list(arg_names).index(name), name) for name in self.keys if name in self._arg_set]
        self.cache = {}
        self.configs_timings = {}
        self.best_config = None
        self._launched = {}  # {id of a configuration: (the configuration, names and values that it adds to a launch)}
        self._call = threading.local()  # each thread's current call: arguments by name, copies to restore
        self._measuring_state = _Measuring()
        self._rules, self._launches = _rules_and_kernel(fn)
        self._fixed = self._fixed_part()
        self.bench_time = None
        self.reset_to_zero = list(reset_to_zero or [])
        self.restore_value = list(restore_value or [])
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._prepare
        self.post_hook = post_hook or self._restore
        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.use_cuda_graph, self.num_warmups, self.num_reps = use_cuda_graph, warmup, rep
        self._asked_to_keep = cache_results
        self._has_own_ways = bool(pre_hook or post_hook or use_cuda_graph or warmup is not None or rep is not None)
        self._do_bench = do_bench
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn("warmup, rep and use_cuda_graph are deprecated: give do_bench instead", DeprecationWarning, stacklevel=3)

    @property
    def _tilewright_value(self):
        return self.fn

    # Hooks read these two attributes by name. Several threads may launch at once, so each thread has its own values.

    @property
    def nargs(self):
        """The arguments by name while this thread measures; else None."""
        return getattr(self._call, "nargs", None)

    @nargs.setter
    def nargs(self, named):
        self._call.nargs = named

    @property
    def restore_copies(self):
        return getattr(self._call, "copies", {})

    @restore_copies.setter
    def restore_copies(self, copies):
        self._call.copies = copies

    # The measuring function can be set later, too, by either name.

    @property
    def _do_bench(self):
        return self._given_bench

    @_do_bench.setter
    def _do_bench(self, bench):
        self._given_bench = bench
        self._measures_itself = self._has_own_ways or bench is not None
        self.cache_results = _kept_on_disk(self._asked_to_keep, self._measures_itself)

    @property
    def do_bench(self):
        if self._do_bench is not None:
            return self._do_bench
        warmup = 25 if self.num_warmups is None else self.num_warmups
        rep = 100 if self.num_reps is None else self.num_reps
        if self.use_cuda_graph:
            return partial(_measure.do_bench_cudagraph, driver.active, rep=rep)
        if self.num_warmups is None and self.num_reps is None:
            return driver.active.get_benchmarker()
        return partial(driver.active.get_benchmarker(), warmup=warmup, rep=rep)

    @do_bench.setter
    def do_bench(self, bench):
        self._do_bench = bench

    def _tensor(self, kwargs, name, where):
        """The argument `name`, which `where` mentions; None if this call leaves the tensor out."""
        if name not in kwargs and name not in self._arg_set:
            raise KeyError(f"{where} names '{name}', which is not a parameter of kernel '{self.__name__}'")
        return kwargs.get(name)

    def _prepare(self, kwargs, reset_only=False):
        for name in self.reset_to_zero:
            if (tensor := self._tensor(kwargs, name, "reset_to_zero")) is not None:
                _zero(tensor)
        if not reset_only:
            tensors = {name: self._tensor(kwargs, name, "restore_value") for name in self.restore_value}
            self.restore_copies = {name: _clone(tensor) for name, tensor in tensors.items() if tensor is not None}

    def _restore(self, kwargs, exception):
        for name, copy in self.restore_copies.items():
            _copy_back(kwargs[name], copy)
        self.restore_copies = {}

    def _run_of(self, args, meta, config):
        """(all arguments by name, function to call before, launch, function to call afterwards) for a run of a configuration."""
        current = {**meta, **config.all_kwargs()}
        named = {**self.nargs, **current}

        def before():
            if config.pre_hook:
                config.pre_hook(named)
            self.pre_hook(named)

        def run():
            try:
                self.fn.run(*args, **current)
            except Exception as error:
                self.post_hook(named, exception=error)
                raise

        def after():
            self.post_hook(named, exception=None)

        return named, before, run, after

    def _bench(self, *args, config, **meta):
        """The times of a configuration in milliseconds, infinite if it fails. For subclasses that override `run`."""
        self._check_conflicts(meta, [config])
        try:
            return self.do_bench(self._whole_run_of(args, meta, config), quantiles=(0.5, 0.2, 0.8))
        except _FAILURES as error:
            self._print_failure(config, error)
            return [float("inf")] * 3

    def _whole_run_of(self, args, meta, config):
        """One function for all of `_run_of`."""
        _, before, run, after = self._run_of(args, meta, config)

        def call():
            before()
            run()
            after()

        return call

    def _print_failure(self, config, error):
        if knobs.autotuning.print:
            print(f"{self.base_fn.__name__}: {config} fails: {error}")

    def _times_of(self, args, meta, config, best):
        """The times of a configuration in milliseconds, or the error with which it fails."""
        if knobs.autotuning.print:
            print(f"{self.base_fn.__name__}: measuring {config}")
        try:
            if self._measures_itself:
                if config not in self._call.groups and self._checks_results():
                    self._try_out(args, meta, config)
                return self.do_bench(self._whole_run_of(args, meta, config), quantiles=(0.5, 0.2, 0.8))
            named, before, run, after = self._run_of(args, meta, config)
            check = self._check_of(args, meta, config, named) if config not in self._call.groups else None
            on_cpu = isinstance(driver.active, CPUDriver)
            threads = next((named[name] for name in _THREADS if named.get(name)), 0)
            where = (-1, 0, threads) if on_cpu else (driver.active.get_current_device(), driver.active.get_current_stream())
            times, group = _core.measure_calls(before, run, after, list(filter(_is_tensor, named.values())), best, check, *where)
            self._call.groups.setdefault(config, group)
            return times
        except _FAILURES as error:
            self._print_failure(config, error)
            return error

    def _checks_results(self):
        """True if the results of configurations are compared: False if the user's hooks may change the inputs of a run, or count runs."""
        has_hooks = self.user_defined_pre_hook or self.user_defined_post_hook
        return (_core.results_are_checked() and not has_hooks and _core.engine() == "cpu" and _jit_function(self.fn) is not None
                and not _is_watched())

    def _check_of(self, args, meta, config, named):
        """The ResultCheck that compares the results of configurations; None if they are not compared. The first configuration that works creates it."""
        if not self._checks_results():
            return None
        if self._call.check is None:
            if config.pre_hook:  # the hook may give descriptors the shape of the configuration's tiles
                config.pre_hook(named)
            compiled = self.fn.run(*args, **{**meta, **config.all_kwargs(), "warmup": True})
            self._call.check = _core.ResultCheck({name: named[name] for name in compiled._handle.written if _is_tensor(named.get(name))})
        self._call.check.give_up()
        return self._call.check

    def _try_out(self, args, meta, config):
        """Runs a configuration once, from the common initial state. Returns the group of its results; 0 if results are not compared."""
        named, before, run, after = self._run_of(args, meta, config)
        check = self._check_of(args, meta, config, named)
        group = 0 if check is None else None
        while group is None:
            check.restore()
            before()
            run()
            group = check.compare()
            after()
        self._call.groups[config] = group
        return group

    def _group(self, args, meta, config):
        """The same; None if the configuration does not work."""
        try:
            return self._try_out(args, meta, config)
        except _FAILURES:
            return None

    def _is_confirmed(self, args, meta, config, group):
        """True if the interpreter computes the results of a group for a configuration, and finds no race and no bad access. None: unknown."""
        named, before, run, after = self._run_of(args, meta, config)
        check = self._call.check
        check.restore()
        before_engine = _core.set_engine("interpret", True, None, True, _WORK_TO_CONFIRM)
        try:
            before()
            run()
        except InterpreterError:
            return None if _core.interpreter_gave_up() else False
        except (ValueError, *_FAILURES):  # tensors on a GPU
            return None
        finally:
            _core.set_engine(*before_engine)
        is_same = check.holds_results_of(group)
        after()
        return is_same

    def _check_conflicts(self, kwargs, configs):
        conflicts = kwargs.keys() & {name for config in configs for name in config.all_kwargs()}
        if conflicts:
            raise ValueError(f"chosen by the tuner, and given by the call as well: {', '.join(sorted(conflicts))}")

    def _problem(self, kernel, args, kwargs, keeps):
        """The key under which the result is stored; None if it is neither stored nor pinned by TILEWRIGHT_TUNED."""
        if kernel is None or _core.engine() != "cpu" or not (keeps or os.environ.get("TILEWRIGHT_TUNED")):
            return None
        launch = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        return _core.tune_problem(kernel, kernel.cache_key, self.keys, args, launch)

    def _compiles_ahead(self, kernel, configs):
        """True if configurations can be compiled ahead of their launches, on other threads, without an effect on the user's functions."""
        return (kernel is not None and _core.engine() == "cpu" and not self._measures_itself and not kernel.pre_run_hooks
                and not _compilations_are_watched() and not any(config.pre_hook for config in configs))

    def _grid_of(self, args, kwargs, config):
        """The grid of a configuration's launch; None if only the launch computes it. The thread that tunes finds it, not those that
        compile: a grid function may launch this kernel, and would wait for the tuning to end."""
        grid = kwargs.get("grid")
        if not callable(grid):
            return grid
        if self._launches is None:
            return None
        call = {name: value for name, value in {**kwargs, **config.all_kwargs()}.items() if name not in ("grid", "warmup")}
        try:
            for rules in self._rules:
                rules.derive(args, call)
            return grid(self._launches._bind(*args, **call))
        except Exception:  # the launch raises the same error
            return None

    def _same_as(self, kernel, configs):
        """For each configuration, the index of the first equivalent one, which is measured for both."""
        if kernel is None or self._measures_itself or not isinstance(driver.active, CPUDriver):
            return list(range(len(configs)))
        known = {}
        return [known.setdefault((first, config.pre_hook), index)
                for index, (config, first) in enumerate(zip(configs, _core.alike_configs(kernel, configs)))]

    def _choose(self, key, args, kwargs):
        """Sets cache[key]. Returns whether the configurations were measured now."""
        if self.guesses:
            self.cache[key] = guess(self, _jit_function(self.fn), _config_of, args, kwargs, _FAILURES)
            self.configs_timings, self.bench_time = {}, 0
            return False
        configs = self.prune_configs(kwargs)
        self._check_conflicts(kwargs, configs)
        kernel = _jit_function(self.fn)
        keeps = self.cache_results and not any(config.pre_hook for config in configs)  # a hook cannot be part of a key on disk
        times = {}

        def measure(index, best):
            result = self._times_of(args, kwargs, configs[index], best)
            bar.step(texts[index])
            if isinstance(result, Exception):
                times[index] = [float("inf")] * 3
                return str(result), 0
            times[index] = result
            return result if isinstance(result, (list, tuple)) else [result], self._call.groups.get(configs[index], 0)

        def try_out(index):
            return self._group(args, kwargs, configs[index])

        def is_confirmed(index, group):
            return self._is_confirmed(args, kwargs, configs[index], group)

        def compile(index):
            grid = grids[index]
            how = dict(warmup=True) if grid is None else dict(warmup=DRY_RUN, grid=grid)
            try:
                self.fn.run(*args, **{**kwargs, **configs[index].all_kwargs(), **how})
            except _FAILURES as error:
                return str(error)
            return None

        texts = [str(config) if kernel is None else _core.config_text(kernel, config) for config in configs]
        same_as = self._same_as(kernel, configs)
        ahead = self._compiles_ahead(kernel, configs)
        threads = _core.target()["threads"] if ahead else 0
        grids = [self._grid_of(args, kwargs, config) if ahead else None for config in configs]
        problem = self._problem(kernel, args, kwargs, keeps)
        needs_quiet = problem is None or problem.device.startswith("cpu")
        self._call.check, self._call.groups = None, {}
        constants = list(range(len(configs))) if kernel is None else _core.same_constants(kernel, configs)
        with progress(f"tuning {self.__name__}", len(set(same_as))) as bar:
            best, results, measured, seconds, disagreements = _core.tune(
                problem, texts, measure, try_out, compile, keeps, not self._measures_itself, threads, needs_quiet, same_as,
                lambda: self._call.check, is_confirmed, constants)
        if not (measured and self._measures_itself):  # a user's benchmark may return other things than lists of times
            times = dict(enumerate(results))
        times.update((index, [float("inf")] * 3) for index, result in enumerate(results) if isinstance(result, str))
        if self._call.check is not None:
            self._call.check.restore()
            self._call.check = None
        for disagreement in disagreements:
            warnings.warn(f"the configurations of kernel '{self.__name__}' disagree: {disagreement}", RuntimeWarning, stacklevel=2)
        self.bench_time = seconds
        self.configs_timings = {configs[index]: time for index, time in sorted(times.items())}
        self.cache[key] = configs[best]
        if measured:
            self.pre_hook({**self.nargs, **kwargs, **configs[best].all_kwargs()}, reset_only=True)
        return measured

    def _key(self, args, kwargs):
        """The values of the key parameters, the element types of all tensors, and the number of threads if the
        launch sets it, as a tuple. Every launch calls this."""
        count = len(args)
        key = [args[at] if at < count else kwargs[name] for at, name in self._key_places if at < count or name in kwargs]
        for value in args:
            if type(value) not in _NUMBERS:
                dtype = getattr(value, "dtype", None)
                if dtype is not None:
                    key.append(dtype)
        for name, value in kwargs.items():
            if name in self._arg_set and type(value) not in _NUMBERS:
                dtype = getattr(value, "dtype", None)
                if dtype is not None:
                    key.append(dtype)
        key += [kwargs[name] for name in _THREADS if name in kwargs]
        return tuple(key)

    def _measuring(self):
        """This process's _Measuring: a child may inherit one whose lock is held."""
        if self._measuring_state.process != os.getpid():
            self._measuring_state = _Measuring()
        return self._measuring_state

    def _first(self, key, args, kwargs):
        measuring = self._measuring()
        with measuring.lock:
            if key in self.cache:
                return self.cache[key]
            if key in measuring.under_way:
                raise AutotunerError(f"kernel '{self.__name__}' is launched for {key} while it is being tuned for the same key; "
                                     "its grid function, hooks and benchmark may launch it only with another key")
            outer = self.nargs
            self.nargs = dict(zip(self.arg_names, args))
            measuring.under_way.add(key)
            try:
                measured = self._choose(key, args, kwargs)
            finally:
                measuring.under_way.discard(key)
                self.nargs = outer
            config, timings, seconds = self.cache[key], self.configs_timings, self.bench_time
        if knobs.autotuning.listener is not None:
            knobs.autotuning.listener(fn=_jit_function(self.fn), key=key, best_config=config, configs_timings=timings,
                                      duration=seconds if measured else None, cache_hit=not measured)
        if knobs.autotuning.print and measured:
            print(f"{self.base_fn.__name__}: {config} is the fastest for {key}, after {seconds:.2f} s")
        return config

    def _has_own_rules(self):
        """True if launches may apply the rules themselves: False if a program has replaced Heuristics.run."""
        return Heuristics.run is _RULES_RUN and not any("run" in vars(rules) for rules in self._rules)

    def __getitem__(self, grid):
        if type(self).run is _RUN and "run" not in vars(self) and not self._was_empty and (not self._rules or self._has_own_rules()):
            return _core.tuned_launcher(self, grid)
        return super().__getitem__(grid)

    def __copy__(self):
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __reduce__(self):
        return pickled_by_name(self, self.base_fn)

    def _fixed_part(self):
        """The data that launches with a known configuration read (bindings/tuned_launch.cpp): kernel, rules, parameters, names and positions of
        the key's parameters, defaults, and a cache of calls. None if launches have to call `run`."""
        kernel = self._launches
        if kernel is None or any(param.is_variadic for param in kernel.params):
            return None
        defaults = {param.name: param.default for param in kernel.params if param.has_default}
        return kernel, tuple(self._rules), tuple(self.arg_names), tuple(name for _, name in self._key_places), defaults, _core.LaunchPlans()

    def run(self, *args, **kwargs):
        if not self._was_empty:
            return self._run(args, kwargs)
        try:
            return self._run(args, kwargs)
        except TypeError as error:
            raise TypeError(f"{error}; @autotune of '{self.__name__}' was given an empty list, which chooses nothing") from None

    def _run(self, args, kwargs):
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            key = self._key(args, kwargs)
            config = self.cache.get(key)
            if config is None:
                config = self._first(key, args, kwargs)
        if id(config) not in self._launched:
            added = config.all_kwargs()
            self._launched[id(config)] = (config, tuple(map(sys.intern, added)), tuple(added.values()))
        self.best_config, names, values = self._launched[id(config)]
        chosen = dict(zip(names, values))
        if not chosen.keys().isdisjoint(kwargs):
            self._check_conflicts(kwargs, [config])
        if config.pre_hook is not None:
            config.pre_hook({**dict(zip(self.arg_names, args)), **kwargs, **chosen})
        if self._launches is not None and not kwargs.get("warmup") and kwargs.get("grid") is not None and self._has_own_rules():
            kwargs.pop("warmup", None)
            grid = kwargs.pop("grid")
            kwargs.update(chosen)
            for rules in self._rules:
                rules.derive(args, kwargs)
            return self._launches[grid](*args, **kwargs)
        return self.fn.run(*args, **kwargs, **chosen)

    def _max_kept(self):
        """How many configurations remain after the user's model has ranked them: at least one."""
        limit = self.configs_top_k
        if isinstance(limit, float) and limit <= 1.0:
            limit = int(limit * len(self.configs))
        if not isinstance(limit, int):
            raise TypeError(f"top_k is a number of configurations, or a share of them up to 1.0, not {limit!r}")
        return max(1, limit)

    def prune_configs(self, kwargs):
        """The configurations that remain for this call after pruning by the user's functions."""
        kept = self.early_config_prune(self.configs, self.nargs, **kwargs) if self.early_config_prune else self.configs
        if not kept and self.early_config_prune:
            raise AutotunerError("No valid autotuner configs after pruning. `early_config_prune` should return at least one config.")
        if not self.perf_model or len(kept) <= (limit := self._max_kept()):
            return kept

        def estimate(config):
            return self.perf_model(**self.nargs, **kwargs, **config.all_kwargs())

        return sorted(kept, key=estimate)[:limit]

    def warmup(self, *args, **kwargs):
        outer = self.nargs
        self.nargs = dict(zip(self.arg_names, args))
        try:
            configs = [self._first(self._key(args, kwargs), args, {**kwargs, "warmup": True})] if self.guesses else self.prune_configs(kwargs)
            return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in configs]
        finally:
            self.nargs = outer

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")


_RUN = Autotuner.run  # launches with a known configuration skip this function, unless a program has replaced it


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None, rep=None,
             use_cuda_graph=False, do_bench=None, cache_results=None):
    """Measures `configs` and chooses the fastest, separately for each combination of values of the parameters named in `key`.

    configs="auto": nothing is measured; the constexpr parameters that a launch leaves open, and whose names speak of blocks, tiles or
    groups, get sizes by an estimate. Two combinations run once and are compared: if their results differ, the launch is refused.
    prune_configs_by: {"early_config_prune": function, "perf_model": function, "top_k": number}. reset_to_zero, restore_value:
    names of tensors to zero before, or to restore after, each measured run. pre_hook(kwargs, reset_only), post_hook(kwargs, exception)
    replace both. do_bench(call, quantiles) measures. cache_results: if True, results are stored on disk; the default is
    True unless one of the above replaces the tuner's own measurement. TILEWRIGHT_CACHE_AUTOTUNING=0 turns it off.
    """

    def decorate(fn):
        arg_names = _decorated("autotune", fn)
        inner = fn
        while hasattr(inner, "fn"):
            if isinstance(inner, Autotuner):
                raise TypeError(f"kernel '{inner.__name__}' has two @autotune: put all configurations into one list")
            inner = inner.fn
        return Autotuner(fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook, post_hook=post_hook,
                         prune_configs_by=prune_configs_by, warmup=warmup, rep=rep, use_cuda_graph=use_cuda_graph, do_bench=do_bench,
                         cache_results=cache_results)

    return decorate


class Heuristics(KernelInterface):
    """Computes constexpr parameters from the arguments."""

    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values
        self._kept = {}  # {name of a parameter: KeptRule}
        self._is_plain = isinstance(fn, JITFunction)
        self.__name__ = getattr(fn, "__name__", "kernel")
        self.__doc__ = getattr(fn, "__doc__", None)

    @property
    def _tilewright_value(self):
        return self.fn

    __copy__ = Autotuner.__copy__

    def __reduce__(self):
        return pickled_by_name(self, _innermost(self.fn))

    def derive(self, args, kwargs):
        """Adds the values that the rules give to `kwargs`."""
        named = None
        for name, rule in self.values.items():
            kept = self._kept.get(name)
            if kept is None or kept.rule is not rule:
                kept = self._kept[name] = KeptRule(rule, self.arg_names)
            key = kept.key(args, kwargs)
            value = kept.said.get(key, kept) if key is not None else kept
            if value is kept:
                if named is None:
                    named = dict(zip(self.arg_names, args), **kwargs)
                value = rule(named)
                kept.keep(key, value)
            kwargs[name] = value
            if named is not None:
                named[name] = value

    def run(self, *args, grid=None, warmup=False, **kwargs):
        self.derive(args, kwargs)
        if self._is_plain and not warmup and grid is not None:
            return self.fn[grid](*args, **kwargs)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")


_RULES_RUN = Heuristics.run


def heuristics(values):
    """`@heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})`: rules for constexpr parameters."""

    def decorate(fn):
        return Heuristics(fn, _decorated("heuristics", fn), values)

    return decorate
