"""What happens before and after launches while a profile is taken."""

import re

from .. import knobs


class Hook:
    """Something to do around launches. Hooks of a higher priority begin first and end last."""

    priority = 0

    def init_handle(self, module, function, name, metadata_group, hash):
        """A kernel has been loaded."""

    def destroy_handle(self, module, function, name, metadata_group, hash):
        """A kernel is gone."""

    def enter(self, metadata):
        """A launch begins. metadata.get(): its name, and what the kernel's `launch_metadata` says."""

    def exit(self, metadata):
        """A launch has returned."""

    def activate(self):
        """The profile goes on."""

    def deactivate(self):
        """The profile pauses."""


class LaunchHook(Hook):
    """Kernels have the metrics that their `launch_metadata` gives, and its name, if it gives one."""

    _WIDTHS = ("", "4", "8", "16", "32", "64")
    metrics = ("bytes", *(f"flops{width}" for width in _WIDTHS))

    def __init__(self):
        self._include = self._exclude = None

    def configure(self, *, include=None, exclude=None):
        """Patterns of the names of kernels that are looked at, and of those that are not."""
        self._include, self._exclude = include, exclude

    def looks_at(self, name):
        return not (self._include and not re.search(self._include, name)) and not (self._exclude and re.search(self._exclude, name))

    def describe(self, metadata):
        """(name, metrics) of a launch."""
        told = metadata.get()
        if not self.looks_at(told["name"]):
            return None
        return told["name"], {name: value for name, value in told.items() if name in self.metrics}


class HookManager:
    """The hooks of all profiles. Those of active ones are called."""

    active_hooks = []
    session_hooks = {}  # by profile: {hook: whether it is active}

    @classmethod
    def _refresh(cls):
        active = {hook: None for hooks in cls.session_hooks.values() for hook, is_active in hooks.items() if is_active}
        cls.active_hooks = sorted(active, key=lambda hook: -hook.priority)
        runtime = knobs.runtime
        chains = ((runtime.launch_enter_hook, cls.enter), (runtime.launch_exit_hook, cls.exit),
                  (runtime.kernel_load_end_hook, cls.init_handle), (runtime.kernel_unload_hook, cls.destroy_handle))
        for chain, call in chains:
            chain.add(call) if active else chain.remove(call)

    @classmethod
    def enter(cls, metadata):
        for hook in cls.active_hooks:
            hook.enter(metadata)

    @classmethod
    def exit(cls, metadata):
        for hook in reversed(cls.active_hooks):
            hook.exit(metadata)

    @classmethod
    def init_handle(cls, *about):
        for hook in cls.active_hooks:
            hook.init_handle(*about)

    @classmethod
    def destroy_handle(cls, *about):
        for hook in cls.active_hooks:
            hook.destroy_handle(*about)

    @classmethod
    def register(cls, hook, session):
        cls.session_hooks.setdefault(session, {})[hook] = True
        hook.activate()
        cls._refresh()

    @classmethod
    def unregister(cls, session=None):
        cls.deactivate(session)
        for number in list(cls.session_hooks) if session is None else [session]:
            cls.session_hooks.pop(number, None)
        cls._refresh()

    @classmethod
    def _switch(cls, session, on):
        for number in list(cls.session_hooks) if session is None else [session]:
            for hook, was_on in cls.session_hooks.get(number, {}).items():
                cls.session_hooks[number][hook] = on
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
    def sessions_of(cls, hook):
        return [number for number, hooks in cls.session_hooks.items() if hooks.get(hook)]

    @classmethod
    def hook_of(cls, session, kind):
        return next((hook for hook in cls.session_hooks.get(session, {}) if isinstance(hook, kind)), None)
