"""The registration of an Archive by e-mail: written for the resolver's administrator, and read there (R §7.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ibi.standard.errors import InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages import values
from ibi.standard.messages.identification import LabelForms, RegistrationKey
from ibi.standard.messages.values import MissingPair, RepeatedPair

if TYPE_CHECKING:
    from ibi.standard.signing import PublicKey
from ibi.standard.messages.membership import FORM_NAMES, KEY_NAME, parse_public_key

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
