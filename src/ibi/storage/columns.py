"""Columns that several stores have: labels as keys, and repository names."""

from __future__ import annotations

from ibi.standard.instant import FIRST_SECOND, Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.label.generate import mount_suffix_of_repository_name

_SECONDS = 5
"""Bytes; 2⁴⁰ seconds are 34,000 years."""


def label_key(label: Label) -> bytes:
    if not label.is_dated:
        return f"\0{label}".encode()  # from before 2008 (E72): no item has such a label, and no key equals this
    instant = label.instant
    # A zero sorts before every digit, so an instant without a fraction comes first.
    rest = f"{instant.fraction}\0{label.prefix}"
    return (instant.seconds - FIRST_SECOND).to_bytes(_SECONDS, "big") + rest.encode("ascii")


def repository_name(key: bytes) -> RepositoryName:
    """Return the repository name with this key, in its canonical spelling."""
    prefix = key[_SECONDS:].decode("ascii").partition("\0")[2]
    return RepositoryName.parse(f"{prefix}/{mount_suffix_of_repository_name(instant_of(key))}")


def instant_of(key: bytes) -> Instant:
    """Return the instant of the label with this key."""
    fraction = key[_SECONDS:].decode("ascii").partition("\0")[0]
    return Instant(int.from_bytes(key[:_SECONDS], "big") + FIRST_SECOND, fraction)


def key_end(prefix: str) -> bytes:
    """Return the suffix that exactly the keys of labels with this prefix have. `prefix` is in the spelling of
    labels."""
    return f"\0{prefix}".encode("ascii")
