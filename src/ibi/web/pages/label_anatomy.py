"""A label split into parts for a reader: which part says who named the item, at which port, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ibi.errors import InvalidLabel
from ibi.label import Ibip, Label, RepositoryName
from ibi.label.generate import mount_suffix_of_ibip, mount_suffix_of_repository_name


class PartRole(Enum):
    """What a part of a label is about."""

    WHO = "who"
    PORT = "port"
    WHEN = "when"
    SIGN = "sign"
    """A separator between other parts."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a label. `text` is its spelling; all parts together are the label. `meaning` is its decoded value."""

    text: str
    role: PartRole
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A label, its parts, and what they say together."""

    label: Label
    parts: tuple[Part, ...]
    host: str | None
    ip: str | None
    other_suffix: str | None
    """The same instant in the other form; None where an IBIp cannot write it."""

    @property
    def is_legacy(self) -> bool:
        """Whether it is of before 2008, and says nothing (E72)."""
        return not self.label.is_dated

    @property
    def is_repository_name(self) -> bool:
        return self.host is not None


def anatomy(label: Label) -> Anatomy:
    if isinstance(label, RepositoryName):
        return Anatomy(label, _of_repository_name(label), label.host, None, _suffix_as_ibip(label))
    if not isinstance(label, Ibip):
        return Anatomy(label, (Part(label.spelling, PartRole.SIGN),), None, None, None)
    return Anatomy(label, _of_ibip(label), None, label.ip, mount_suffix_of_repository_name(label.instant))


# G §6: subdomain "/" word [("." | "@") port] "/" year "/" month "." day "." hour "." minute ["." second ["." fraction]]
_REPOSITORY_NAME = re.compile(r"([^/]+)(/)([^/.@]+)(?:([.@])(\d+))?(/)(\d{4}/[\d.]+)")
# G §7: address "W" | "X" [port] "/" seconds ["W" fraction]
_IBIP = re.compile(r"([^WX/]+)([WX])([^/]*)(/)(.+)", re.IGNORECASE)


def _of_repository_name(label: RepositoryName) -> tuple[Part, ...]:
    found = _REPOSITORY_NAME.fullmatch(label.spelling)
    assert found is not None, label.spelling  # the grammar has no other shape
    subdomain, slash, word, separator, port, second_slash, date = found.groups()
    written = (Part(separator, PartRole.SIGN), Part(port, PartRole.PORT, str(label.port))) if port else ()
    return (
        Part(subdomain, PartRole.WHO, label.host),
        Part(slash, PartRole.SIGN),
        Part(word, PartRole.WHO, label.host),
        *written,
        Part(second_slash, PartRole.SIGN),
        Part(date, PartRole.WHEN, str(label.instant)),
    )


def _of_ibip(label: Ibip) -> tuple[Part, ...]:
    found = _IBIP.fullmatch(label.spelling)
    assert found is not None, label.spelling
    address, separator, port, slash, date = found.groups()
    written = (Part(port, PartRole.PORT, str(label.port)),) if port else ()
    return (
        Part(address, PartRole.WHO, label.ip),
        Part(separator, PartRole.SIGN, "IPv4" if separator in "Ww" else "IPv6"),
        *written,
        Part(slash, PartRole.SIGN),
        Part(date, PartRole.WHEN, str(label.instant)),
    )


def _suffix_as_ibip(label: RepositoryName) -> str | None:
    try:
        return mount_suffix_of_ibip(label.instant)
    except InvalidLabel:
        return None
