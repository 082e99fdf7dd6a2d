"""Records for harvesters by OAI-PMH 2.0.

**Identifiers** are `oai:<host>:<repository name>`. The host is that of the Archive's own label, which never changes. So
an Archive that moves to another address keeps the identifiers of its records. (A persistent URL would change with the
resolver.)

**Sets** are `prefix:…`, the items named by one host, and `type:…`, the items of one kind. `prefix` and `type` alone
contain all of them. Characters that a setSpec may not contain are written as `~` and two hexadecimal digits.

**Tokens** say where a list goes on: the epoch of the feed of changes, the number of an entry, and the second in which
it was listed. The server stores nothing for them, so they survive a restart. A rebuild begins another epoch: then the
list goes on from that second, and repeats at most the entries of that second. Tokens are no secret and grant nothing:
any forged token selects only public records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from zlib import crc32

from ibi.items.model.metadata import ResourceType
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName

METADATA_PREFIX: Final = "oai_dc"
LONGEST_TOKEN: Final = 1_000
"""Characters. Issued tokens have at most about four hundred."""

Arguments = Mapping[str, str]


class HarvestRefused(IbiError):
    """{error}: {reason}."""

    code = "harvest-refused"
    kind = ErrorKind.MALFORMED

    @property
    def error(self) -> str:
        """The code of the protocol."""
        return str(self.parameters["error"])

    @property
    def reason(self) -> str:
        return str(self.parameters["reason"])

    @property
    def second(self) -> int | None:
        """The second up to which there are no records, if the refusal says so."""
        found = self.parameters.get("second")
        return found if isinstance(found, int) else None


class HarvestVerb(StrEnum):
    """The verbs of the protocol."""

    IDENTIFY = "Identify"
    FORMATS = "ListMetadataFormats"
    SETS = "ListSets"
    IDENTIFIERS = "ListIdentifiers"
    RECORDS = "ListRecords"
    RECORD = "GetRecord"


_VERBS: Final = frozenset(map(str, HarvestVerb))
_TYPES: Final = frozenset(map(str, ResourceType))
_LISTS: Final = frozenset({"from", "until", "set", "metadataPrefix", "resumptionToken"})
_LEGAL: Final[Mapping[HarvestVerb, frozenset[str]]] = {
    HarvestVerb.IDENTIFY: frozenset(),
    HarvestVerb.FORMATS: frozenset({"identifier"}),
    HarvestVerb.SETS: frozenset({"resumptionToken"}),
    HarvestVerb.IDENTIFIERS: _LISTS,
    HarvestVerb.RECORDS: _LISTS,
    HarvestVerb.RECORD: frozenset({"identifier", "metadataPrefix"}),
}
_REQUIRED: Final[Mapping[HarvestVerb, tuple[str, ...]]] = {
    HarvestVerb.IDENTIFIERS: ("metadataPrefix",),
    HarvestVerb.RECORDS: ("metadataPrefix",),
    HarvestVerb.RECORD: ("identifier", "metadataPrefix"),
}
# OAI-PMH.xsd: metadataPrefixType and setSpecType; identifiers are URIs (RFC 3986).
_WORD: Final = r"[A-Za-z0-9\-_.!~*'()]+"
_SYNTAX: Final = {
    "metadataPrefix": re.compile(_WORD),
    "set": re.compile(rf"{_WORD}(?::{_WORD})*"),
    "identifier": re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?#\[\]]|%[0-9A-Fa-f]{2})+"),
}


def read_arguments(pairs: Sequence[tuple[str, str]]) -> Arguments:
    """Return the arguments of a request, including the verb. Raise `badVerb` or `badArgument` if they break the
    protocol."""
    verb, arguments = _read_verb(pairs), dict(pairs)
    if len(arguments) != len(pairs):
        raise _refusal("badArgument", "an argument is repeated")
    given = arguments.keys() - {"verb"}
    if illegal := given - _LEGAL[verb]:
        shown = min(illegal)[:40]
        raise _refusal("badArgument", f"{verb} has no argument {shown!r}")
    if "resumptionToken" in given:
        if len(given) > 1:
            raise _refusal("badArgument", "resumptionToken stands alone")
        return arguments
    for name in _REQUIRED.get(verb, ()):
        if name not in given:
            raise _refusal("badArgument", f"{verb} needs the argument {name}")
    for name, syntax in _SYNTAX.items():
        if name in given and not (len(arguments[name]) <= 1_000 and syntax.fullmatch(arguments[name])):
            raise _refusal("badArgument", f"{name} is not written as the protocol has it")
    return arguments


def _read_verb(pairs: Sequence[tuple[str, str]]) -> HarvestVerb:
    verbs = [value for name, value in pairs if name == "verb"]
    if not verbs:
        raise _refusal("badVerb", "the argument verb is missing")
    if len(verbs) > 1:
        raise _refusal("badVerb", "there is more than one verb")
    if verbs[0] not in _VERBS:
        raise _refusal("badVerb", f"verb is one of {', '.join(HarvestVerb)}")
    return HarvestVerb(verbs[0])


def _refusal(error: str, reason: str) -> HarvestRefused:
    return HarvestRefused(error=error, reason=reason)


class RecordSet(NamedTuple):
    """A set of records by the `prefix` of their labels or by their `type`. Without a value it has all of that kind."""

    kind: str
    value: str | None = None

    @property
    def spec(self) -> str:
        return self.kind if self.value is None else f"{self.kind}:{escape_spec(self.value)}"


PREFIXES: Final = RecordSet("prefix")
TYPES: Final = RecordSet("type")
_NOT_IN_SPEC: Final = re.compile(rb"[^A-Za-z0-9._\-]")


def escape_spec(text: str) -> str:
    escaped = _NOT_IN_SPEC.sub(lambda match: b"~%02x" % match[0][0], text.encode())
    return escaped.decode("ascii")


def unescape_spec(text: str) -> str | None:
    """Return the unescaped text. None if `escape_spec` did not write it."""
    raw = re.sub(rb"~([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode())
    try:
        found = raw.decode()
    except UnicodeDecodeError:
        return None
    return found if escape_spec(found) == text else None


def read_set(spec: str) -> RecordSet | None:
    """Return the set of that name; None if no such set can exist."""
    kind, colon, rest = spec.partition(":")
    if not colon:
        return next((known for known in (PREFIXES, TYPES) if known.kind == kind), None)
    value = unescape_spec(rest)
    if value is None or (kind != "prefix" and not (kind == "type" and value in _TYPES)):
        return None
    return RecordSet(kind, value)


class Selection(NamedTuple):
    """The records of a list: of one set, with a current entry listed within these seconds."""

    since: int | None = None
    until: int | None = None
    record_set: RecordSet | None = None


class Resumption(NamedTuple):
    """The position where a list goes on: after the entry of that number and second in that epoch."""

    selection: Selection
    epoch: str
    number: int
    second: int
    cursor: int
    """Number of records before it."""


def read_selection(arguments: Arguments) -> Selection:
    """Return the selection of a new list, which continues no other."""
    since, until = arguments.get("from"), arguments.get("until")
    if since is not None and until is not None and len(since) != len(until):
        raise _refusal("badArgument", "from and until have different granularities")
    first = None if since is None else _second("from", since, is_end=False)
    last = None if until is None else _second("until", until, is_end=True)
    if first is not None and last is not None and last < first:
        raise _refusal("badArgument", "from is later than until")
    check_format(arguments)
    spec = arguments.get("set")
    found = None if spec is None else read_set(spec)
    if spec is not None and found is None:
        raise _refusal("noRecordsMatch", "there is no such set; ListSets names them all")
    return Selection(first, last, found)


def check_format(arguments: Arguments) -> None:
    if arguments["metadataPrefix"] != METADATA_PREFIX:
        raise _refusal("cannotDisseminateFormat", f"the one metadata format is {METADATA_PREFIX}")


_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?", re.ASCII)


def _second(name: str, text: str, *, is_end: bool) -> int:
    match = _DATE.fullmatch(text)
    if match is None:
        raise _refusal("badArgument", f"{name} looks like 2026-11-20 or 2026-11-20T10:00:00Z")
    whole = text if match[1] else f"{text}T{'23:59:59' if is_end else '00:00:00'}Z"
    try:
        return Instant.parse(whole).seconds
    except InvalidInput as error:
        raise _refusal("badArgument", f"{name} is not a date: {str(error).rstrip('.')}") from None


_TOKEN: Final = re.compile(
    r"1,([0-9a-f]{1,64}),(\d{1,18}),(\d{1,12}),(\d{1,18}),(-?\d{1,12}|),(-?\d{1,12}|),([^,]*)", re.ASCII
)


def write_token(resumption: Resumption) -> str:
    (since, until, chosen), *place = resumption
    epoch, number, second, cursor = place
    bounds = ("" if each is None else str(each) for each in (since, until))
    fields = ("1", epoch, number, second, cursor, *bounds, "" if chosen is None else chosen.spec)
    return _append_checksum(",".join(map(str, fields)))


def read_token(text: str) -> Resumption:
    """Return the position that `write_token` wrote. Raise `badResumptionToken` for anything else."""
    match = _TOKEN.fullmatch(_strip_checksum(text))
    if match is None:
        raise bad_token()
    epoch, number, second, cursor, since, until, spec = match.groups()
    chosen = read_set(spec) if spec else None
    if spec and chosen is None:
        raise bad_token()
    first, last = (int(each) if each else None for each in (since, until))
    return Resumption(Selection(first, last, chosen), epoch, int(number), int(second), int(cursor))


def write_set_token(prefix: str) -> str:
    """Return the token by which a list of sets goes on after `prefix`."""
    return _append_checksum(f"sets,{escape_spec(prefix)}")


def read_set_token(text: str) -> str:
    kind, _, rest = _strip_checksum(text).partition(",")
    prefix = unescape_spec(rest)
    if kind != "sets" or not prefix:
        raise bad_token()
    return prefix


def _append_checksum(text: str) -> str:
    """Return the text with a checksum, which reveals a cut or mistyped token."""
    return f"{text},{crc32(text.encode()):08x}"


def _strip_checksum(text: str) -> str:
    body, _, _ = text.rpartition(",")
    if len(text) > LONGEST_TOKEN or not text.isascii() or text != _append_checksum(body):
        raise bad_token()
    return body


def bad_token() -> HarvestRefused:
    return _refusal("badResumptionToken", "it is not one that was given out here, or is cut; begin the list again")


# oai-identifier.xsd: the form of a repository. A host with a part that begins with a digit is not described.
_REPOSITORY: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9\-]*(?:\.[a-zA-Z][a-zA-Z0-9\-]*)+")


class RecordIdentifiers:
    """The identifiers of records of the Archive with that host in its own label."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._beginning = f"oai:{host}:"

    @property
    def is_described(self) -> bool:
        """True if they have the form `oai-identifier` of the protocol's guidelines."""
        return _REPOSITORY.fullmatch(self.host) is not None

    def of(self, label: str) -> str:
        return f"{self._beginning}{label}"

    def label(self, identifier: str) -> RepositoryName:
        """Return the repository name in an identifier. Raise `idDoesNotExist` if it is not one of this Archive."""
        if identifier.startswith(self._beginning):
            try:
                return RepositoryName.parse(identifier.removeprefix(self._beginning))
            except InvalidInput:
                pass
        raise unknown_identifier()


def unknown_identifier() -> HarvestRefused:
    return _refusal("idDoesNotExist", "no record here has that identifier")


def no_records(second: int) -> HarvestRefused:
    """Return the refusal for an empty list. A harvester goes on from the second of this answer."""
    return HarvestRefused(error="noRecordsMatch", reason="there is no record in these bounds", second=second)


def no_formats() -> HarvestRefused:
    return _refusal("noMetadataFormats", "the record is deleted, and has no metadata any more")
