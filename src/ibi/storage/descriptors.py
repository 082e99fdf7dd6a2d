"""File descriptors: how many this process may have, how many of them connections may take, and whether any is left.

Without one left nothing can be opened: no file, no database, no connection to an Archive. A connection that is refused
costs one client a moment, so that connections are bounded well before the system says no.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Final

from ibi.storage.errors import TooManyOpenFiles

_EXHAUSTION: Final = frozenset({errno.EMFILE, errno.ENFILE})

_MOST_RESERVED: Final = 4096
"""Descriptors for databases, files of deposits, connections to Archives and mail servers, and connections that are
accepted before they are counted; a quarter where there are fewer."""
_OWN: Final = 96
"""Descriptors that a server has open before anything is asked of it, and some more."""
_MOST_CONNECTIONS: Final = 8192
"""Each takes some ten kilobytes of memory, whatever it does."""
_MOST_PENDING: Final = 2048
_UNLIMITED: Final = 1 << 20


def raise_limit() -> int:
    """Let this process have as many descriptors as it is allowed to give itself. Returns how many those are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        wanted = _UNLIMITED if hard == resource.RLIM_INFINITY else hard
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # some systems say "unlimited" and mean less
            return soft
        soft = wanted
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def most_connections(limit: int) -> int:
    """How many connections there may be with so many descriptors: each may need one for a file as well."""
    return max(1, min(_MOST_CONNECTIONS, (limit - _reserve(limit)) // 2))


def pending_connections(limit: int) -> int:
    """How many connections may wait to be accepted. All of them are in one go, and those that are refused are closed
    after it: a part of what other connections leave, unless there is plenty. With fewer, a client that meets a flood
    would have to knock again, which takes it a second."""
    return max(16, min(_MOST_PENDING, 3 * (limit - most_connections(limit) - _OWN) // 4))


def _reserve(limit: int) -> int:
    return min(_MOST_RESERVED, max(_OWN, limit // 4))


def is_exhaustion(error: BaseException | None) -> bool:
    """Whether the system has refused something because this process, or the machine, has too many files open."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTION


def raise_if_exhausted(error: BaseException) -> None:
    """Say that no file can be opened, before it is taken for damage of the file that was to be opened."""
    if is_exhaustion(error):
        raise TooManyOpenFiles from error


def are_exhausted() -> bool:
    """Whether this process can open nothing more, which is tried."""
    try:
        os.close(os.dup(2))
    except OSError as error:
        return is_exhaustion(error)
    return False
