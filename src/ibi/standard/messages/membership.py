"""Membership messages: how an Archive joins the Archives that the resolver asks, and leaves them (R §7.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import Label, parse
from ibi.standard.messages import values
from ibi.standard.messages.answers import SUBJECT, ServiceRequest, ServiceSubject, take
from ibi.standard.messages.identification import LabelForms, RegistrationKey
from ibi.standard.messages.values import IpAddress, encode_query, select
from ibi.standard.vocabulary import ArchiveProtocol

if TYPE_CHECKING:
    from ibi.standard.signing import PublicKey


FEED_PATH: Final = "/api/changes"
"""The path where Archives of this software publish their changes."""
COPIES_PATH: Final = "/api/archive/copies"
"""The path where Archives of this software name the holders of their Copies (E84)."""
PATH_FORM: Final = re.compile(r"/[A-Za-z0-9._~/-]{1,200}")
"""A path on an Archive's own server, in the form that a resolver accepts."""
MOST_HOSTS: Final = 64
"""Most hosts that one Archive may declare."""
KEY_NAME: Final = "archivekey"
"""The pair, or the line of a registration e-mail, with the public key of the Archive (E81)."""
_SIGNATURE: Final = "archivesignature"
_CHALLENGE: Final = "challenge"
_CHALLENGE_WORD: Final = re.compile(r"[A-Za-z0-9_-]{16,64}")
FORM_NAMES: Final[Mapping[str, str]] = {"ibip": "archiveserviceibip", "rep": "archiveservicerep"}
"""For each form, the pair with the label of the Archive's service in that form beside `archiveserviceibi` (E59).

R Table 7.2 does not have them, and other implementations ignore them.
"""


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
    """Hosts of the Archive's URLs besides its own address, which it declares with its key (E31)."""
    feed: str | None = None
    """The path where it publishes its changes, if it does (E80)."""
    archive_key: PublicKey | None = None
    """The key with which the Archive signs (E81)."""
    key_changes: tuple[str, ...] = ()
    """The statements by which its former keys named their successors, the oldest first (E83)."""
    signature: str | None = None
    """A statement over all other pairs (`ibi.standard.messages.signatures`)."""
    received_digest: str | None = field(default=None, repr=False, compare=False)
    """The digest of all received pairs, including unknown ones."""

    names: ClassVar[frozenset[str]] = frozenset(
        {
            "archiveaddress",
            "archiveadmemailaddress",
            "archivefeed",
            "archivehosts",
            "archiveip",
            KEY_NAME,
            "archivekeychanges",
            "archiveplatformversion",
            "archiveprotocol",
            "archiveserviceibi",
            _SIGNATURE,
            "registrationkey",
            *FORM_NAMES.values(),
        }
    )

    def __post_init__(self) -> None:
        values.read("archiveaddress", self.archive_address, values.host_and_port)
        values.read("archiveip", (self.archive_ip,), values.checked_addresses)
        values.read("archiveplatformversion", self.platform_version, values.platform_version)
        values.read("archiveadmemailaddress", self.admin_mail_address, values.mail_address)
        if self.feed is not None and not PATH_FORM.fullmatch(self.feed):
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
        """The forms of the Archive's label in the request, the one of R Table 7.2 first."""
        label, other = self.archive_service_ibi, self.other_label
        return (label,) if other is None else (label, other)

    @property
    def pairs_digest(self) -> str:
        """The SHA-256 digest of all pairs except the signature, in a fixed order, whatever order they came in."""
        return self.received_digest or _digest([(SUBJECT, self.subject.value), *self._pairs()])

    @classmethod
    def from_pairs(cls: type[_Membership], pairs: tuple[tuple[str, str], ...]) -> _Membership:
        request = cls._from_pairs(select(pairs, cls.names))
        return request if request.signature is None else replace(request, received_digest=_digest(pairs))

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
            archive_key=take(found, KEY_NAME, parse_public_key) if found.get(KEY_NAME) else None,
            key_changes=tuple(found.get("archivekeychanges", "").split()),
            signature=found.get(_SIGNATURE) or None,
        )

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield "archiveaddress", self.archive_address
        yield "archiveadmemailaddress", self.admin_mail_address
        if self.feed is not None:
            yield "archivefeed", self.feed
        if self.hosts:
            yield "archivehosts", " ".join(self.hosts)
        yield "archiveip", str(self.archive_ip)
        if self.archive_key is not None:
            yield KEY_NAME, str(self.archive_key)
        if self.key_changes:
            yield "archivekeychanges", " ".join(self.key_changes)
        yield "archiveplatformversion", self.platform_version
        yield "archiveprotocol", self.archive_protocol.value
        yield "archiveserviceibi", self.archive_service_ibi.spelling
        if self.other_label is not None:
            yield FORM_NAMES[self.other_label.form], self.other_label.spelling
        if self.signature is not None:
            yield _SIGNATURE, self.signature
        yield "registrationkey", self.registration_key.reveal()


_Membership = TypeVar("_Membership", bound=_MembershipRequest)


def parse_public_key(text: str) -> PublicKey:
    from ibi.standard.signing import PublicKey  # few messages have one

    return PublicKey.parse(text)


def _digest(pairs: Iterable[tuple[str, str]]) -> str:
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    covered = encode_query(sorted(pair for pair in pairs if pair[0] != _SIGNATURE))
    return urlsafe_b64encode(sha256(covered.encode("ascii")).digest()).rstrip(b"=").decode("ascii")


def _other_label(found: Mapping[str, str]) -> Label | None:
    """Return the form that `archiveserviceibi` does not have.

    An Archive may send both pairs; the one that repeats it is ignored.
    """
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

    challenge: str | None = None
    """A random word that the Archive signs to prove that it has its key (E81)."""

    subject: ClassVar[ServiceSubject] = ServiceSubject.INCLUSION_CONFIRMATION_REQUEST
    names: ClassVar[frozenset[str]] = frozenset({_CHALLENGE})

    @classmethod
    def _from_pairs(cls, found: Mapping[str, str]) -> InclusionConfirmationRequest:
        """Read the request. A challenge in another format is ignored: R's readers do not know any."""
        challenge = found.get(_CHALLENGE, "")
        return cls(challenge if _CHALLENGE_WORD.fullmatch(challenge) else None)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        if self.challenge is not None:
            yield _CHALLENGE, self.challenge
