"""Files of host code under a key, in a folder or a remote store, by upstream's interface.

The runtime keeps compiled kernels by itself (src/runtime/cache); this file is for host code that stores its own files in the same
folder, for dumps, and for tools that read the folder.
"""

import base64
import hashlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial

from .. import _core, knobs


class CacheManager(ABC):
    """Files by name under one key, and groups of files that are complete or absent."""

    def __init__(self, key, override=False, dump=False):
        pass

    @abstractmethod
    def get_file(self, filename):
        """The path of a file, or None."""

    @abstractmethod
    def put(self, data, filename, binary=True):
        """Stores text or bytes; returns the path of the file."""

    @abstractmethod
    def get_group(self, filename):
        """{name: path} of a group's files, or None if one of them is missing."""

    @abstractmethod
    def put_group(self, filename, group):
        """Stores a group, {name: path} of its files; returns the path of the group's own file."""


def _as_bytes(data):
    return data if isinstance(data, bytes) else str(data).encode()


def _read_group(path):
    """The files that a group's file lists, or None if it is damaged."""
    try:
        with open(path) as file:
            return json.load(file).get("child_paths")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


class FileCacheManager(CacheManager):
    """Files in the folder knobs.cache.dir/KEY. They are written under another name and renamed, so that readers see complete files only."""

    def __init__(self, key, override=False, dump=False):
        self.key = key
        root = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        if not root:
            raise RuntimeError("knobs.cache names no folder for these files")
        self.cache_dir = os.path.join(root, key)
        self.lock_path = None if override else os.path.join(self.cache_dir, "lock")
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data, filename, binary=True):
        path = self._make_path(filename)
        number, aside = tempfile.mkstemp(dir=self.cache_dir, prefix="tmp.")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(_as_bytes(data))
            os.replace(aside, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(aside)
            raise
        return path

    def get_group(self, filename):
        group = _read_group(self._make_path(f"__grp__{filename}"))
        return group if group is not None and all(map(os.path.exists, group.values())) else None

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


class RemoteCacheBackend(ABC):
    """A store that several machines share."""

    def __init__(self, key):
        self.key = key

    @abstractmethod
    def get(self, filenames):
        """{name: bytes} of the files that the store has."""

    @abstractmethod
    def put(self, filename, data):
        """Stores bytes under a name."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A Redis server (knobs.redis), through the package `redis`."""

    def __init__(self, key):
        from redis import Redis
        super().__init__(key)
        self._store = Redis(host=knobs.redis.host, port=knobs.redis.port)
        self._place = partial(knobs.redis.key_format.format, key=key)

    def put(self, filename, data):
        self._store.set(self._place(filename=filename), data)

    def get(self, filenames):
        places = [self._place(filename=name) for name in filenames]
        values = dict(zip(filenames, self._store.mget(places)))
        return {name: value for name, value in values.items() if value is not None}


class RemoteCacheManager(CacheManager):
    """Files in the store of knobs.cache.remote_manager_class; those that are read are also written to the folder, because callers want paths. Dumps and
    overrides are local files."""

    def __init__(self, key, override=False, dump=False):
        kind = knobs.cache.remote_manager_class
        if kind is None:
            raise RuntimeError("TRITON_REMOTE_CACHE_BACKEND is not set; it names the class of the store, as MODULE:CLASS")
        self._local = FileCacheManager(key, override=override, dump=dump)
        self._backend = None if override or dump else kind(key)

    def get_file(self, filename):
        if self._backend is None:
            return self._local.get_file(filename)
        found = self._backend.get([filename])
        return self._local.put(found[filename], filename) if filename in found else None

    def put(self, data, filename, binary=True):
        if self._backend is not None:
            self._backend.put(filename, _as_bytes(data))
        return self._local.put(data, filename)

    def get_group(self, filename):
        if self._backend is None:
            return self._local.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        names = _read_group(path) if path is not None else None
        if names is None:
            return None
        found = self._backend.get(list(names))
        return {name: self._local.put(found[name], name) for name in names} if all(name in found for name in names) else None

    def put_group(self, filename, group):
        if self._backend is None:
            return self._local.put_group(filename, group)
        return self.put(json.dumps({"child_paths": sorted(group)}), f"__grp__{filename}")


def _manager(key, **kind):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), **kind)


def get_cache_manager(key):
    return _manager(key)


def get_override_manager(key):
    return _manager(key, override=True)


def get_dump_manager(key):
    return _manager(key, dump=True)


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    """A key for host code that was built for a signature, in which the element types of pointers do not matter."""
    words = "".join("ptr" if word.startswith("*") else word for word in signature.values())
    text = "-".join(map(str, (version_hash, words, constants, ids, *kwargs.values())))
    return _base32(hashlib.sha256(text.encode()).hexdigest())


def triton_key():
    """A text that identifies this build of the compiler."""
    return _core.build_id()


def default_cache_dir():
    """The folder of compiled kernels."""
    return _core.cache_directory()


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{sorted(env_vars.items())}"


def _base32(key):
    """A hexadecimal key as the name of a folder."""
    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")
