"""Profiles while they are being taken."""

from .session import Frame, session_of


def get(session=0):
    """The profile so far, in the form of its file: [tree, devices]."""
    return session_of(session).database()


def clear(session=0):
    """Forgets what was measured so far."""
    session = session_of(session)
    session.root = Frame("ROOT")
    session.events.clear()
