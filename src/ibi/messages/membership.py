"""Membership messages: how an Archive joins the Archives that the resolver asks, and leaves them (R §7.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from ibi.errors import InvalidMessage
from ibi.instant import Instant
from ibi.label import Label, parse
from ibi.messages import values
from ibi.messages.answers import SUBJECT, ServiceRequest, ServiceSubject, take
from ibi.messages.identification import LabelForms, RegistrationKey
from ibi.messages.values import IpAddress, MissingPair, RepeatedPair, encode_query, select
from ibi.vocabulary import ArchiveProtocol

if TYPE_CHECKING:
    from ibi.signing import PublicKey


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
    """A statement over all other pairs (`ibi.messages.signatures`)."""
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
    from ibi.signing import PublicKey  # few messages have one

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


# --- registration -----------------------------------------------------------------------------------------------------


MAIL_SUBJECT: Final = "Solicitação de cadastro de um novo Arquivo"
"""The subject of R Example 7.1."""

MAIL_LIMIT: Final = 1 << 18
"""Most bytes of an e-mail that are read: two or three lines, and additions of mail programs."""

_SERVICE: Final = "archiveserviceibi"
_KEY: Final = "registrationkey"
_NAMES: Final = frozenset({_SERVICE, _KEY, KEY_NAME, *FORM_NAMES.values()})

_KINDS: Final = ("text/plain", "text/html")

_BODY: Final = f"""\
IBI do serviço de Arquivo:
{_SERVICE} = {{service}}
{{form}}
Chave de cadastro:
{_KEY} = {{key}}
{{archive_key}}"""

# Additions of mail programs around a line: blanks, marks of quotation and of emphasis.
_MARGIN: Final = " \t\xa0>|*"

# The tags at which HTML begins a line, and all others. Each is found in time linear in the text.
_NEW_LINE: Final = re.compile(r"<(?:br|/?(?:p|div|tr|li|h[1-6]|blockquote|pre|table))\b[^<>]*>", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")

# Hostile e-mails are rejected before the library parses them. Its parser nests as deep as an e-mail demands. It takes
# quadratic time in the length of these fields, and much time for every line and part.
_STRUCTURE = re.compile(rb"^content-[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
_MAX_STRUCTURE: Final = 64
_MAX_FIELD: Final = 1000
_MAX_PARTS: Final = 256
_MAX_LINES: Final = 5000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RegistrationMail:
    """The content of a registration: the IBI of the Archive's service, and the key its administrator chose."""

    service_label: Label
    key: RegistrationKey
    other_label: Label | None = None
    """The same IBI in its other form, on a line that the standard does not have (E59)."""
    archive_key: PublicKey | None = None
    """The public key with which the Archive signs, on another such line (E81)."""

    def __post_init__(self) -> None:
        other = self.other_label
        if other is not None:
            values.read(FORM_NAMES[other.form], other, lambda label: LabelForms.of(self.service_label, label))

    @property
    def labels(self) -> tuple[Label, ...]:
        return (self.service_label,) if self.other_label is None else (self.service_label, self.other_label)

    @property
    def body(self) -> str:
        """The text of R Example 7.1, with additional lines for the other form and the public key, if given.

        It shows the registration key, as its purpose requires.
        """
        other = self.other_label
        form = "" if other is None else f"{FORM_NAMES[other.form]} = {other.spelling}\n"
        signs = "" if self.archive_key is None else f"{KEY_NAME} = {self.archive_key}\n"
        return _BODY.format(service=self.service_label.spelling, form=form, key=self.key.reveal(), archive_key=signs)

    def to_message(self, sender: str, recipient: str, date: Instant | None = None) -> bytes:
        """Return a whole message (RFC 5322). Without `date`, the first server must add one."""
        from email.message import EmailMessage
        from email.policy import SMTP
        from email.utils import formatdate

        message = EmailMessage(policy=SMTP)
        message["From"] = values.read("From", sender, values.mail_address)
        message["To"] = values.read("To", recipient, values.mail_address)
        message["Subject"] = MAIL_SUBJECT
        if date is not None:
            message["Date"] = formatdate(date.seconds, usegmt=True)
        message.set_content(self.body, cte="quoted-printable")
        return message.as_bytes()

    @classmethod
    def parse(cls, mail: bytes | str, *, limit: int = MAIL_LIMIT) -> RegistrationMail:
        """Parse a whole message or its text alone; raise `InvalidMessage` if a line is missing or there are two."""
        raw = mail.encode(errors="replace") if isinstance(mail, str) else mail
        if len(raw) > limit:
            raise InvalidMessage("…", limit, "it has more than {limit} bytes", limit=limit)
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        _check_structure(raw)
        # A line of a text without a header may look like one: then the text as it stands is the second attempt.
        for text in (_plain_text(raw), _text_without_head(raw)):
            found = [*_lines(text)]
            if {name for name, _ in found} >= {_SERVICE, _KEY}:
                break
        service = _the_one(found, _SERVICE, parse)
        archive_key = _the_one(found, KEY_NAME, parse_public_key) if KEY_NAME in dict(found) else None
        return cls(service, _the_one(found, _KEY, RegistrationKey), _other_form(found, service), archive_key)


def _check_structure(raw: bytes) -> None:
    fields = _STRUCTURE.findall(raw)
    if (
        len(fields) > _MAX_STRUCTURE
        or max(map(len, fields), default=0) > _MAX_FIELD
        or raw.count(b"\n--") > _MAX_PARTS
        or raw.count(b"\n") > _MAX_LINES
    ):
        raise InvalidMessage("…", 0, "the mail is too long or built in too complicated a way")


def _the_one(found: list[tuple[str, str]], name: str, reader: Callable[[str], T]) -> T:
    """Return the value that all lines of a name give: a reply that quotes the e-mail repeats them."""
    read = {values.read(name, text, reader) for given, text in found if given == name}
    if not read:
        raise MissingPair(name, 0, "the line {name} = … is missing", name=name)
    if len(read) > 1:
        raise RepeatedPair(name, 0, "the line {name} = … is there twice, and they differ", name=name)
    return read.pop()


def _other_form(found: list[tuple[str, str]], service: Label) -> Label | None:
    given = {name for name, _ in found}
    labels = (_the_one(found, name, parse) for name in FORM_NAMES.values() if name in given)
    return next((label for label in labels if label != service), None)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of R Example 7.1 in a text: names in any case, without marks around and links after the value."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        name, equals, value = line.partition("=")
        name = name.strip(_MARGIN).lower()
        if not equals or name not in _NAMES:
            continue
        # A mail program may break the line at the blank after the sign.
        value = value.strip(_MARGIN) or "".join(lines[number + 1 : number + 2]).strip(_MARGIN)
        yield name, value.partition(" <")[0].strip(_MARGIN)


def _plain_text(raw: bytes) -> str:
    """Return all text/plain parts of a message, else its HTML parts; a text without a header as it is."""
    from email import message_from_bytes

    message = message_from_bytes(raw)
    if not message.keys():
        return _text_without_head(raw)
    parts = [(part.get_content_type(), part.get_payload(decode=True)) for part in message.walk()]
    texts = {
        kind: [_decode_text(text) for own, text in parts if own == kind and isinstance(text, bytes)] for kind in _KINDS
    }
    return "\n".join(texts["text/plain"] or map(_without_tags, texts["text/html"]))


def _without_tags(html: str) -> str:
    """Return the text of HTML, with line breaks where a reader sees them."""
    from html import unescape

    if not _names_both(html):
        return ""
    lines = _TAG.sub("", _NEW_LINE.sub("\n", html.replace("\n", " "))).split("\n", _MAX_LINES)
    # Only lines with a name are unescaped, and the lines after them, which may hold a value: an e-mail may consist of
    # character references only.
    named = [any(name in line.lower() for name in _NAMES) for line in lines]
    near = (line for line, is_named, follows in zip(lines, named, [False, *named], strict=False) if is_named or follows)
    return unescape("\n".join(near))


def _names_both(text: str) -> bool:
    lower = text.lower()
    return _SERVICE in lower and _KEY in lower


def _text_without_head(raw: bytes) -> str:
    """Decode a text that was cut out of its message: its encoding must be guessed without the header."""
    from quopri import decodestring

    return _decode_text(decodestring(raw) if b"=3D" in raw else raw)


def _decode_text(raw: bytes) -> str:
    """Decode the text. The relevant lines are ASCII in every character set; the others only have to be some text."""
    try:
        return raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return raw.decode("latin-1").replace("\r\n", "\n")
