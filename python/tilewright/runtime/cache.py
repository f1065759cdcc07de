"""The folder of compiled kernels. The runtime keeps it; this is for tools that look at it."""

import base64

from .. import _core


class CacheManager:
    """Entries by name under one key."""

    def __init__(self, key):
        self.key = key

    def _entry(self, name):
        import hashlib
        return hashlib.sha256(f"{self.key}\0{name}".encode()).hexdigest()

    def get(self, name):
        return _core.cache_load(self._entry(name))

    def put(self, data, name, binary=True):
        _core.cache_store(self._entry(name), data if isinstance(data, bytes) else str(data).encode())


def get_cache_manager(key):
    return CacheManager(key)


def triton_key():
    """Identifies this build of the compiler."""
    return _core.build_id()


def default_cache_dir():
    return _core.cache_directory()


def _base32(key):
    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")
