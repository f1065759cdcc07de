"""Upstream's module for the functions that begin and end profiles."""

from .session import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start

__all__ = ["activate", "deactivate", "DEFAULT_PROFILE_NAME", "finalize", "profile", "start"]
