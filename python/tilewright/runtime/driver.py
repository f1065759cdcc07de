"""`driver.active`: the machine that kernels run on where their arguments do not say: a GPU if there is one, else the CPU."""

from .. import _core
from ..backends.driver import CPUDriver, CUDADriver, default_driver


class DriverConfig:
    def __init__(self):
        self._default = None
        self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = default_driver()
            if self._active is None:
                _core.set_default_device(self._default.default_ordinal())
        return self._default

    @property
    def active(self):
        return self._active or self.default

    def set_active(self, driver):
        self._active = driver
        _core.set_default_device(getattr(driver, "default_ordinal", lambda: -1)())

    def set_active_to_cpu(self):
        self.set_active(CPUDriver())

    def set_active_to_gpu(self):
        """The name of the back end whose device is the active one from now on."""
        if not CUDADriver.is_active():
            raise RuntimeError("0 active GPU drivers: there is no GPU that kernels are compiled for")
        self.set_active(CUDADriver())
        return "nvidia"

    def get_active_gpus(self):
        return ["nvidia"] if CUDADriver.is_active() else []

    def reset_active(self):
        self._active = None
        _core.set_default_device(self.default.default_ordinal())


driver = DriverConfig()
