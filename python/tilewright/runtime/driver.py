"""`driver.active`: the machine that kernels run on where their arguments do not say: a GPU if there is one, else the CPU."""

from .. import _core
from ..backends.driver import default_driver


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

    def reset_active(self):
        self._active = None
        _core.set_default_device(self.default.default_ordinal())


driver = DriverConfig()
