"""Membership: how an Archive joins those that the resolver asks, and leaves them (R §7.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from ibi.errors import InvalidMessage
from ibi.label import Label, parse
from ibi.messages import values
from ibi.messages.key import RegistrationKey
from ibi.messages.label_forms import LabelForms
from ibi.messages.service import ServiceRequest, ServiceSubject, take
from ibi.messages.values import IpAddress
from ibi.vocabulary import ArchiveProtocol

FEED_PATH: Final = "/api/changes"
"""Where this make of Archive tells of its changes."""
_FEED_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]{1,200}")
MOST_HOSTS: Final = 64
"""Hosts that one Archive may declare."""
FORM_NAMES: Final[Mapping[str, str]] = {"ibip": "archiveserviceibip", "rep": "archiveservicerep"}
"""For each form, the pair that gives the label of the Archive's service in that form beside `archiveserviceibi` (E59).
R Table 7.2 does not have them, and readers of another make ignore them."""


@dataclass(frozen=True, slots=True)
class _MembershipRequest(ServiceRequest):
    """The seven pairs of R Table 7.2 beside the subject, and the other form of the Archive's label if it has one."""

    archive_address: str
    archive_service_ibi: Label
    archive_ip: IpAddress
    archive_protocol: ArchiveProtocol
    platform_version: str
    admin_mail_address: str
    registration_key: RegistrationKey
    other_label: Label | None = None
    """`archive_service_ibi` in its other form (E59)."""
    hosts: tuple[str, ...] = ()
    """Where URLs of the Archive lead besides its own address, which it declares with its key (E31)."""
    feed: str | None = None
    """The path at which it tells of its changes, if it does (E80)."""

    names: ClassVar[frozenset[str]] = frozenset(
        {
            "archiveaddress",
            "archiveadmemailaddress",
            "archivefeed",
            "archivehosts",
            "archiveip",
            "archiveplatformversion",
            "archiveprotocol",
            "archiveserviceibi",
            "registrationkey",
            *FORM_NAMES.values(),
        }
    )

    def __post_init__(self) -> None:
        values.read("archiveaddress", self.archive_address, values.host_and_port)
        values.read("archiveip", (self.archive_ip,), values.checked_addresses)
        values.read("archiveplatformversion", self.platform_version, values.platform_version)
        values.read("archiveadmemailaddress", self.admin_mail_address, values.mail_address)
        if self.feed is not None and not _FEED_PATH.fullmatch(self.feed):
            raise InvalidMessage("archivefeed", 0, "it is a path on the Archive's own server")
        if len(self.hosts) > MOST_HOSTS:
            raise InvalidMessage("archivehosts", 0, "at most {most} hosts can be declared", most=MOST_HOSTS)
        for host in self.hosts:
            values.read("archivehosts", host, values.host_and_port)
        other = self.other_label
        if other is not None:
            values.read(FORM_NAMES[other.form], other, lambda label: LabelForms.of(self.archive_service_ibi, label))

    @property
    def labels(self) -> tuple[Label, ...]:
        """The forms of the Archive's label that the request gives, the one of R Table 7.2 first."""
        label, other = self.archive_service_ibi, self.other_label
        return (label,) if other is None else (label, other)

    @classmethod
    def _from_pairs(cls: type[_Membership], found: Mapping[str, str]) -> _Membership:
        return cls(
            archive_address=take(found, "archiveaddress", str),
            archive_service_ibi=take(found, "archiveserviceibi", parse),
            archive_ip=take(found, "archiveip", values.ip_address),
            archive_protocol=take(found, "archiveprotocol", values.archive_protocol),
            platform_version=take(found, "archiveplatformversion", str),
            admin_mail_address=take(found, "archiveadmemailaddress", str),
            registration_key=take(found, "registrationkey", RegistrationKey),
            other_label=_other_label(found),
            hosts=tuple(found.get("archivehosts", "").split()),
            feed=found.get("archivefeed") or None,
        )

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield "archiveaddress", self.archive_address
        yield "archiveadmemailaddress", self.admin_mail_address
        if self.feed is not None:
            yield "archivefeed", self.feed
        if self.hosts:
            yield "archivehosts", " ".join(self.hosts)
        yield "archiveip", str(self.archive_ip)
        yield "archiveplatformversion", self.platform_version
        yield "archiveprotocol", self.archive_protocol.value
        yield "archiveserviceibi", self.archive_service_ibi.spelling
        if self.other_label is not None:
            yield FORM_NAMES[self.other_label.form], self.other_label.spelling
        yield "registrationkey", self.registration_key.reveal()


_Membership = TypeVar("_Membership", bound=_MembershipRequest)


def _other_label(found: Mapping[str, str]) -> Label | None:
    """The form that `archiveserviceibi` does not have. An Archive may give both pairs: the one that repeats it says
    nothing new."""
    label = take(found, "archiveserviceibi", parse)
    given = (take(found, name, parse) for name in FORM_NAMES.values() if found.get(name))
    return next((each for each in given if each != label), None)


class InclusionRequest(_MembershipRequest):
    """An Archive has been switched on and wants to be asked (R §7.2, message 2)."""

    __slots__ = ()
    subject = ServiceSubject.INCLUSION_REQUEST


class ExclusionRequest(_MembershipRequest):
    """An Archive is being switched off and no longer wants to be asked (R §7.2, message 7)."""

    __slots__ = ()
    subject = ServiceSubject.EXCLUSION_REQUEST


@dataclass(frozen=True, slots=True)
class InclusionConfirmationRequest(ServiceRequest):
    """The resolver calls back the Archive that wants to be included (R §7.2, message 3)."""

    subject: ClassVar[ServiceSubject] = ServiceSubject.INCLUSION_CONFIRMATION_REQUEST
    names: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def _from_pairs(cls, found: Mapping[str, str]) -> InclusionConfirmationRequest:
        return cls()

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return iter(())
