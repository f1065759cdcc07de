"""Profiles in progress.

A long profile may be divided into phases: advance_phase() begins another one, and complete phases can be read and cleared while the profile continues.
"""

import struct

from .session import Frame, session_of


def get(session=0, phase=None):
    """The current profile, or a phase of it, in the form of its file: [tree, devices]."""
    return None if session is None else session_of(session).database(phase)


def get_msgpack(session=0, phase=None):
    """The same as MessagePack."""
    return None if session is None else _packed(get(session, phase))


def advance_phase(session=0):
    """Begins another phase and returns its number."""
    return None if session is None else session_of(session).advance()


def is_phase_complete(session=0, phase=0):
    """True if a phase and all work that it started have ended."""
    return session is not None and session_of(session).is_complete(phase)


def clear(session=0, phase=None, clear_up_to_phase=False):
    """Discards the measurements of all phases, of one phase, or of all up to that one."""
    if session is None:
        return
    session = session_of(session)
    for number in list(session.phases):
        if phase is None or number == phase or clear_up_to_phase and number < phase:
            session.phases[number] = Frame("ROOT")
    if phase is None:
        session.events.clear()


def _packed(value):
    """A value that JSON can hold, as MessagePack bytes."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return b"\xd3" + struct.pack(">q", value) if value < 1 << 63 else b"\xcf" + struct.pack(">Q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"\xdb" + struct.pack(">I", len(text)) + text
    if isinstance(value, dict):
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(_packed(part) for pair in value.items() for part in pair)
    return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(_packed, value))
