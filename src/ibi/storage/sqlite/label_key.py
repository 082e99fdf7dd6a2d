"""Labels as bytes that sort as labels do: what the tables here are keyed and ordered by.

Five bytes of seconds from the first year a label can have, the digits of the fraction, a zero, the prefix. Instants
come first, as in the order of labels; equal labels of whatever case have equal bytes. The form goes without saying: the
prefix of a repository name has a slash, that of an IBIp has none.
"""

from __future__ import annotations

from ibi.instant import FIRST_SECOND, Instant
from ibi.label import Label, RepositoryName
from ibi.label.generate import mount_suffix_of_repository_name

_SECONDS = 5
"""Bytes; 2⁴⁰ seconds are 34,000 years."""


def label_key(label: Label) -> bytes:
    instant = label.instant
    # Nothing sorts before a digit, as no fraction does before any.
    rest = f"{instant.fraction}\0{label.prefix}"
    return (instant.seconds - FIRST_SECOND).to_bytes(_SECONDS, "big") + rest.encode("ascii")


def repository_name(key: bytes) -> RepositoryName:
    """The repository name that has this key, in its canonical spelling."""
    prefix = key[_SECONDS:].decode("ascii").partition("\0")[2]
    return RepositoryName.parse(f"{prefix}/{mount_suffix_of_repository_name(instant_of(key))}")


def instant_of(key: bytes) -> Instant:
    """The instant of the label that has this key."""
    fraction = key[_SECONDS:].decode("ascii").partition("\0")[0]
    return Instant(int.from_bytes(key[:_SECONDS], "big") + FIRST_SECOND, fraction)


def key_end(prefix: str) -> bytes:
    """How the keys of all labels with this prefix end, and of no others; `prefix` is spelled as labels have it."""
    return f"\0{prefix}".encode("ascii")
