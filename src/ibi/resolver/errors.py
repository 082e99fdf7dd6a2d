"""Why a resolver refuses what has to do with its register. None of these ever carries a key."""

from __future__ import annotations

from math import ceil

from ibi.errors import IbiError


class KeyRefused(IbiError):
    """No Archive is registered here with this IBI and this key."""

    # One sentence for both causes: guessing reveals nothing about which Archives there are.
    code = "key-refused"


class TooManyAttempts(IbiError):
    """Too many requests with a wrong key have come. Ask again in {seconds} s."""

    code = "too-many-attempts"

    def __init__(self, *, wait: float) -> None:
        super().__init__(seconds=max(1, ceil(wait)))
        self.retry_after = max(1, ceil(wait))

    def __reduce__(self) -> tuple[object, ...]:
        return _too_many_attempts, (self.retry_after,)


class AlreadyRegistered(IbiError):
    """{label} is registered already. Nothing was changed."""

    code = "already-registered"


class PrefixTaken(IbiError):
    """{label} cannot be the home of {prefix}, because {holder} is. Nothing was changed. If both Archives mint labels
    with this prefix, say so (`--shared`); if {holder} is gone, name {label} its successor with `ibi resolver set`."""

    code = "prefix-taken"


class UnknownArchive(IbiError):
    """No Archive {label} is registered here: `ibi resolver list` shows those that are."""

    code = "unknown-archive"


class WeakKey(IbiError):
    """key: it is one that is tried first, because {reason}. Choose ten or more digits by chance."""

    code = "weak-key"


def _too_many_attempts(seconds: int) -> TooManyAttempts:
    return TooManyAttempts(wait=seconds)
