"""Where a program is in its profile."""

from . import session as sessions


def depth(session=0):
    """How many scopes this thread is in, or None where no profile is taken."""
    return len(sessions.stack()) if sessions.are_taken() else None
