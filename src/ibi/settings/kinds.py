"""The types of settings. Each is annotated with the way its values are read from text.

Durations are exact: no float is made anywhere.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from ibi.settings.declaration import ValueKind
from ibi.standard.clock import Granularity
from ibi.standard.errors import InvalidGranularity, InvalidInput, InvalidLabel, InvalidMessage
from ibi.standard.label.generate import mount_prefix_of_ibip, mount_prefix_of_repository_name
from ibi.standard.origin import InvalidOrigin, Origin


class Secret:
    """A text that stays hidden when it is printed, logged or put into a message. `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret(…)"


if TYPE_CHECKING:
    from ibi.standard.messages.holders import CopyHolder
    from ibi.standard.networks import IpNetwork
    from ibi.standard.relation import Relation


def seconds(least: str, most: str) -> ValueKind:
    """Return the kind of a duration in seconds, from `least` to `most`, which are decimal numbers."""

    def read(text: str) -> Fraction:
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            raise ValueError
        duration = Fraction(text)
        if not Fraction(least) <= duration <= Fraction(most):
            raise ValueError
        return duration

    return ValueKind(f"a number of seconds from {least} to {most}", read, frozenset({"integer", "float"}))


def _whole_number(least: int, most: int) -> ValueKind:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise ValueError
        return int(text)

    return ValueKind(f"a whole number from {least} to {most}", read, frozenset({"integer"}))


def _read_path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError
    try:
        os.fsencode(text)
        return Path(text).expanduser()
    except UnicodeEncodeError:
        raise ValueError("no file can have such a name") from None
    except RuntimeError:
        raise ValueError("there is no such user") from None


def _read_listening_host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._%:-]{1,255}", text):
        raise ValueError
    return text


def _read_url(text: str) -> str:
    """Return the URL without its final slash.

    A user name or password in it would end up in logs: the token has a setting of its own.
    """
    if not re.fullmatch(r"https?://[A-Za-z0-9._:\[\]-]{1,255}(/[!-~]*)?", text, re.IGNORECASE):
        raise ValueError
    if "?" in text or "#" in text:
        raise ValueError("it has no ? and no #")
    _check_origin(text)
    return text.rstrip("/")


_LONGEST_NAME: Final = 253
_LONGEST_SENTENCE: Final = 300
_PART_OF_NAME: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")


def _check_origin(url: str) -> None:
    """Raise ValueError for a host that can be neither a name nor an address. Otherwise only a request would reveal
    it."""
    try:
        origin = Origin.of_url(url)
    except InvalidOrigin as error:
        raise ValueError(error.reason) from None
    if origin.port == 0:
        raise ValueError("a port is between 1 and 65535")
    if origin.address is None and not _is_host_name(origin.host.removesuffix(".")):
        raise ValueError(f"{origin.host} is neither the name of a host nor an IP address")


def _is_host_name(name: str) -> bool:
    """Return whether the text can be a host name: parts of letters, digits and hyphens. The last part must not be a
    number, as in 999.1.1.1."""
    parts = name.split(".")
    return len(name) <= _LONGEST_NAME and all(map(_PART_OF_NAME.fullmatch, parts)) and not parts[-1].isdigit()


def _read_secret(text: str) -> Secret:
    """Return the secret. Only visible ASCII is accepted, because a request header carries the token unchanged."""
    if not re.fullmatch(r"[!-~]{1,1024}", text):
        raise ValueError
    return Secret(text)


def _read_password(text: str) -> Secret:
    """Return the password. Only ASCII is accepted, because mail servers treat other characters differently."""
    if not re.fullmatch(r"[ -~]{1,1024}", text):
        raise ValueError
    return Secret(text)


def _read_mail_user(text: str) -> str:
    if not re.fullmatch(r"[!-~]{1,255}", text):
        raise ValueError
    return text


def _read_site_name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise ValueError
    return name


def _read_sentence(text: str) -> str:
    words = " ".join(text.split())
    if not words or len(words) > _LONGEST_SENTENCE or not words.isprintable():
        raise ValueError
    return words


def _read_colour(text: str) -> str:
    if not re.fullmatch(r"#[0-9A-Fa-f]{6}", text):
        raise ValueError
    return text.lower()


def _read_contact(text: str) -> str:
    return _read_url(text) if text.lower().startswith(("http://", "https://")) else _read_mail_address(text)


def _read_registration_key(text: str) -> Secret:
    """Return the key if it has the syntax of R Table 7.1."""
    from ibi.standard.messages.identification import RegistrationKey

    try:
        return Secret(RegistrationKey(text).reveal())
    except InvalidMessage:
        raise ValueError from None


def _read_mail_address(text: str) -> str:
    from ibi.standard.messages.values import mail_address

    try:
        return mail_address(text)
    except InvalidMessage as error:
        raise ValueError(error.reason.format(**error.details)) from None


def _read_networks(text: str) -> tuple[IpNetwork, ...]:
    from ibi.standard.networks import network

    try:
        return tuple(map(network, text.split()))
    except InvalidInput as error:
        raise ValueError(str(error).rstrip(".")) from None


def _read_copy_holders(text: str) -> tuple[CopyHolder, ...]:
    from ibi.standard.messages.holders import MOST_COPIES, CopyHolder

    words = text.split()
    if len(words) > MOST_COPIES:
        raise ValueError(f"they are more than {MOST_COPIES}")
    try:
        holders = tuple(dict.fromkeys(map(CopyHolder.parse, words)))
    except InvalidLabel as error:
        raise ValueError(str(error).rstrip(".")) from None
    if len({holder.service for holder in holders}) < len(holders):
        raise ValueError("one of them is there twice, with other prefixes")
    return holders


def _read_relations(text: str) -> frozenset[Relation]:
    from ibi.standard.relation import Relation

    words = text.split()
    if not words or len(words) > _MOST_RELATIONS:
        raise ValueError(f"there are 1 to {_MOST_RELATIONS} of them")
    try:
        return frozenset(map(Relation.from_modifier, words))
    except InvalidInput as error:
        raise ValueError(str(error).rstrip(".")) from None


def _read_hosts(text: str) -> tuple[str, ...]:
    """Return host names as in the header `Host`; names that are not ASCII are given in their `xn--` form."""
    pattern = r"(?:[a-z0-9_](?:[a-z0-9._-]{0,252}[a-z0-9_])?\.?|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?"
    names = text.lower().split()
    for name in names:
        match = re.fullmatch(pattern, name)
        if match is None or (match[1] is not None and not 1 <= int(match[1]) <= 65_535):
            raise ValueError(f"{name[:100]!r} is no host name, nor one with a port")
    if not names:
        raise ValueError
    return tuple(names)


def _read_time_of_day(text: str) -> int | None:
    """Return the second of the day; None stands for `off`."""
    if text == "off":
        return None
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", text)
    if match is None:
        raise ValueError
    return int(match[1]) * 3600 + int(match[2]) * 60


_MOST_RELATIONS = 256
_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _read_size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]{0,2})", text)
    if match is None or match[2] not in _UNITS or int(match[1]) == 0:
        raise ValueError
    return int(match[1]) * _UNITS[match[2]]


def _read_size_bound(text: str) -> int:
    return 0 if text == "0" else _read_size(text)


def _read_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def _read_host(text: str) -> str:
    try:
        mount_prefix_of_repository_name(text, 80)
    except InvalidLabel as error:
        raise ValueError(error.reason.format(**error.details)) from None
    return text


def _read_address(text: str) -> str:
    try:
        mount_prefix_of_ibip(text, 800)
    except InvalidLabel as error:
        raise ValueError(error.reason.format(**error.details)) from None
    return text


def _read_granularity(text: str) -> Granularity | None:
    """Return the granularity; None stands for `auto`."""
    try:
        return None if text == "auto" else Granularity.parse(text)
    except InvalidGranularity:
        raise ValueError from None


ROLES: Final = ("archive", "resolver")


def _read_roles(text: str) -> frozenset[str]:
    words = text.split()
    if not words or not set(words) <= set(ROLES):
        raise ValueError
    return frozenset(words)


def _read_workers(text: str) -> int | None:
    """Return the number; None stands for `auto`."""
    if text == "auto":
        return None
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_WORKERS:
        raise ValueError
    return int(text)


MOST_WORKERS: Final = 128
_TEXT_OR_INTEGER = frozenset({"string", "integer"})

FilePath = Annotated[Path, ValueKind("a path", _read_path)]
ListeningHost = Annotated[
    str, ValueKind("an IP address or a host name, without brackets and port", _read_listening_host)
]
ListeningPort = Annotated[int, _whole_number(0, 65_535)]
Port = Annotated[int, _whole_number(1, 65_535)]
Days = Annotated[int, _whole_number(1, 36_500)]
Bound = Annotated[int, _whole_number(0, 1_000_000)]
Connections = Annotated[int, _whole_number(1, 512)]
Percent = Annotated[int, _whole_number(1, 100)]
Size = Annotated[int, ValueKind("a number of bytes, also in kB, MB, GB or TB", _read_size, _TEXT_OR_INTEGER)]
SizeBound = Annotated[
    int, ValueKind("a number of bytes, also in kB, MB, GB or TB, or 0", _read_size_bound, _TEXT_OR_INTEGER)
]
Url = Annotated[str, ValueKind("a URL like https://ibi.example.org", _read_url)]
TokenText = Annotated[
    Secret, ValueKind("a token like ibi_…_…, as it was shown when it was created", _read_secret, secret=True)
]
ArchiveKey = Annotated[
    Secret,
    ValueKind(
        "a key of ten or more digits, or of two such numbers with a hyphen between", _read_registration_key, secret=True
    ),
]
Password = Annotated[Secret, ValueKind("a password of ASCII characters, at most 1024", _read_password, secret=True)]
MailUser = Annotated[str, ValueKind("a user name of ASCII characters without blanks", _read_mail_user)]
Networks = Annotated[
    "tuple[IpNetwork, ...]", ValueKind("networks like 10.0.0.0/8, with blanks between", _read_networks)
]
CopyHolders = Annotated[
    "tuple[CopyHolder, ...]",
    ValueKind(
        "labels of Archives' services, each alone or as LABEL=PREFIX,PREFIX, with blanks between", _read_copy_holders
    ),
]
Relations = Annotated[
    "frozenset[Relation]", ValueKind("modifiers like ! + : !+ :(oai_dc), with blanks between", _read_relations)
]
HostNames = Annotated[
    tuple[str, ...],
    ValueKind("host names like ibi.example.org or backend:8765, with blanks between", _read_hosts),
]
SiteName = Annotated[str, ValueKind("a name of at most 80 characters, on one line", _read_site_name)]
Sentence = Annotated[str, ValueKind("a sentence or two of at most 300 characters, on one line", _read_sentence)]
Colour = Annotated[str, ValueKind("a colour like #0b4f57", _read_colour)]
Contact = Annotated[str, ValueKind("an e-mail address, or a URL like https://lib.example.org/help", _read_contact)]
MailAddress = Annotated[str, ValueKind("an e-mail address", _read_mail_address)]
TimeOfDay = Annotated[int | None, ValueKind("off, or a time of day in UTC like 03:30", _read_time_of_day)]
Boolean = Annotated[bool, ValueKind("true or false", _read_boolean, frozenset({"boolean"}))]
MintHost = Annotated[str, ValueKind("a host name like ibi.example.org", _read_host)]
Roles = Annotated[frozenset[str], ValueKind("one or both of archive and resolver, with a blank between", _read_roles)]
WorkersOrAuto = Annotated[
    int | None, ValueKind(f"auto, or a whole number from 1 to {MOST_WORKERS}", _read_workers, _TEXT_OR_INTEGER)
]
IpAddress = Annotated[str, ValueKind("an IP address", _read_address)]
GranularityOrAuto = Annotated[
    Granularity | None,
    ValueKind(
        "auto, or 60, 1, 0.1, 0.01 and so on in seconds", _read_granularity, frozenset({"string", "integer", "float"})
    ),
]
