"""`driver.active`: the machine on which kernels run if their arguments do not decide: a GPU if there is one, else the CPU."""

import functools

from .. import _core, _inductor_cpu
from ..backends.driver import CPUDriver, CUDADriver, default_driver


def _launch_there(machine):
    """Makes launches without tensors run on a machine; on the CPU if a third party's driver names no device."""
    ordinal = getattr(machine, "default_ordinal", None)
    _core.set_default_device(ordinal() if ordinal else -1)


class DriverConfig:
    """The default machine, and the one that was chosen instead, if any."""

    _chosen = None

    @functools.cached_property
    def default(self):
        found = default_driver()
        if self._chosen is None:
            _launch_there(found)
        return found

    @property
    def active(self):
        _inductor_cpu.adapt()
        return self._chosen or self.default

    _default = property(lambda self: vars(self).get("default"), doc="`default`, or None if it was not read yet")
    _active = property(lambda self: self._chosen or self._default, doc="`active`, or None if it was not read yet")

    def set_active(self, driver):
        self._chosen = driver
        _launch_there(driver)

    def set_active_to_cpu(self):
        self.set_active(CPUDriver())

    def set_active_to_gpu(self):
        """Makes the GPU the active machine; returns the name of its back end."""
        if not CUDADriver.is_active():
            raise RuntimeError("0 active GPU drivers: there is no GPU that kernels are compiled for")
        self.set_active(CUDADriver())
        return "nvidia"

    def get_active_gpus(self):
        return ["nvidia"] if CUDADriver.is_active() else []

    def reset_active(self):
        self._chosen = None
        _launch_there(self.default)


driver = DriverConfig()
