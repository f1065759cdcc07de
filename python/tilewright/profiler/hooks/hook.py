"""Hooks that run before and after launches during a profile."""

from ... import knobs


class Hook:
    """Actions around launches. Hooks of a higher priority are entered first and left last."""

    priority = 0

    def init_handle(self, module, function, name, metadata_group, hash):
        """A kernel has been loaded."""

    def destroy_handle(self, module, function, name, metadata_group, hash):
        """A kernel has been unloaded."""

    def enter(self, metadata):
        """A launch begins. metadata.get(): a dict with its name and the entries that the kernel's `launch_metadata` gives."""

    def exit(self, metadata):
        """A launch has returned."""

    def activate(self):
        """The profile is resumed."""

    def deactivate(self):
        """The profile pauses."""


class HookManager:
    """The hooks of all profiles. Those of active profiles are called."""

    active_hooks = []
    session_hooks = {}  # {profile: {hook: whether it is active}}
    _timers = {}  # the profiler's own hooks, in the same form
    _called = []

    @classmethod
    def _refresh(cls):
        def active_of(hooks_of):
            active = {hook: None for hooks in hooks_of.values() for hook, is_active in hooks.items() if is_active}
            return sorted(active, key=lambda hook: -hook.priority)

        cls.active_hooks = active = active_of(cls.session_hooks)
        cls._called = sorted(active + active_of(cls._timers), key=lambda hook: -hook.priority)
        runtime = knobs.runtime
        chains = ((runtime.launch_enter_hook, cls.enter), (runtime.launch_exit_hook, cls.exit),
                  (runtime.kernel_load_end_hook, cls.init_handle), (runtime.kernel_unload_hook, cls.destroy_handle))
        for chain, call in chains:
            chain.add(call) if cls._called else chain.remove(call)

    @classmethod
    def enter(cls, metadata):
        for hook in cls._called:
            hook.enter(metadata)

    @classmethod
    def exit(cls, metadata):
        for hook in reversed(cls._called):
            hook.exit(metadata)

    @classmethod
    def init_handle(cls, *about):
        for hook in cls._called:
            hook.init_handle(*about)

    @classmethod
    def destroy_handle(cls, *about):
        for hook in cls._called:
            hook.destroy_handle(*about)

    @classmethod
    def register(cls, hook, session):
        cls.session_hooks.setdefault(session, {})[hook] = True
        hook.activate()
        cls._refresh()

    @classmethod
    def time(cls, timer, session):
        """Registers the hook by which the profiler itself times launches."""
        cls._timers[session] = {timer: True}
        cls._refresh()

    @classmethod
    def unregister(cls, session=None):
        cls.deactivate(session)
        for hooks_of in (cls.session_hooks, cls._timers):
            for number in list(hooks_of) if session is None else [session]:
                hooks_of.pop(number, None)
        cls._refresh()

    @classmethod
    def _switch(cls, session, on):
        for hooks_of in (cls.session_hooks, cls._timers):
            for number in list(hooks_of) if session is None else [session]:
                for hook, was_on in hooks_of.get(number, {}).items():
                    hooks_of[number][hook] = on
                    if on != was_on:
                        hook.activate() if on else hook.deactivate()
        cls._refresh()

    @classmethod
    def activate(cls, session=None):
        cls._switch(session, True)

    @classmethod
    def deactivate(cls, session=None):
        cls._switch(session, False)

    @classmethod
    def timed_by(cls, timer):
        """The profiles whose launches this timer records."""
        return [number for number, timers in cls._timers.items() if timers.get(timer)]

    @classmethod
    def hook_of(cls, session, kind):
        return next((hook for hook in cls.session_hooks.get(session, {}) if isinstance(hook, kind)), None)
