"""The place of the running program in its profile."""

from . import session as sessions


def depth(session=0):
    """The number of scopes around the current point of this thread; None if no profile is being taken."""
    return len(sessions.stack()) if sessions.are_taken() else None
