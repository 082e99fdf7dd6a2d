"""A conformance check: a clause, a sentence, and steps that yield requests and judge the answers.

The steps are a generator, so a check knows neither sockets nor clocks. `ibi.check.rules.examination` sends each yielded
request and returns the answer. The generator returns if the clause holds, and raises one of three exceptions otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ibi.check.rules.grammars import FormsOfLabel
from ibi.check.rules.pair_lists import PairList, read_pairs
from ibi.standard.safe_text import printable, shorten

# An adapter carries these values over HTTP. The server may be wrong in any way: the adapter limits the bytes that it
# reads, and `__str__` makes them safe to show.

READER: Final = "192.0.2.1"
"""The address of the reader in a check: no real reader has it (RFC 5737)."""

_MOST_SHOWN: Final = 600
_SHOWN_FIELDS: Final = ("content-type", "location", "allow")
NOT_DIALLED: Final = "it is not dialled"
"""The start of a failure if the checker did not even try because of the address."""
_KEY: Final = re.compile("(registrationkey=)[^& ;]*", re.IGNORECASE)
_SPECIAL: Final = frozenset('%&+=?# {}"<>\\^`|')


def encode_value(text: str) -> str:
    """Return a value as in R Table 6.1: special characters, and all that is not visible ASCII, as `%XX`."""
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and chr(byte) not in _SPECIAL else f"%{byte:02X}" for byte in text.encode()
    )


def write_query(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(f"{name}={encode_value(value)}" for name, value in pairs)


class Awaited(Enum):
    """The event that the checker's Archive waits for before a link counts as answered."""

    NOTHING = "nothing"
    ACKNOWLEDGMENT = "acknowledgment"
    QUIET = "quiet"
    """Nothing more arrives for a moment."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP request. `target` is a path with its query, on the server under test, or a whole URL."""

    target: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    number: int = 0
    """Distinguishes otherwise equal requests: equal probes are sent once in a run."""
    redirects: int = 0
    """Number of redirects that are followed."""
    awaited: Awaited = Awaited.NOTHING
    may_fail: bool = field(default=False, compare=False)
    """True if the check itself judges a missing answer."""
    is_last: bool = field(default=False, compare=False)
    """True if it must be sent even when the time is over, because it undoes earlier requests."""

    def __str__(self) -> str:
        shown = " ".join(f"{name}: {value};" for name, value in self.headers)
        return shorten(_without_key(printable(f"{self.method} {self.target} {shown}".rstrip(" ;"))), _MOST_SHOWN)


@dataclass(frozen=True, slots=True)
class HeardRequest:
    """A request that reached the checker's Archive, as sent: nothing is decoded."""

    method: str
    path: str
    query: str

    def pairs(self) -> list[tuple[str, str]]:
        """Return names and values as sent, in their order."""
        return [(name, value) for name, _, value in (each.partition("=") for each in self.query.split("&"))]

    def value(self, name: str) -> str | None:
        """Return the first value of that name, as sent."""
        return next((value for each, value in self.pairs() if each == name), None)

    @property
    def subject(self) -> str | None:
        return self.value("servicesubject")

    def __str__(self) -> str:
        return shorten(_without_key(printable(f"{self.method} {self.path}?{self.query}")), _MOST_SHOWN)


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """An HTTP response, or the reason why there is none. Names of header fields are in lower case."""

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str | None = None
    url: str = ""
    """The address of the response, after redirects."""
    heard: tuple[HeardRequest, ...] = field(default=())
    """The requests that reached the checker's Archive meanwhile."""
    client: str = ""
    """The address of the checker as the server sees it; empty if an address translation may stand between them."""

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name), None)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400 and self.header("location") is not None

    @property
    def location(self) -> str:
        return self.header("location") or ""

    @property
    def media_type(self) -> str:
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    def __str__(self) -> str:
        if self.failure is not None:
            return shorten(printable(self.failure), _MOST_SHOWN)
        fields = "; ".join(f"{name}: {value}" for name in _SHOWN_FIELDS if (value := self.header(name)) is not None)
        return shorten(f"{self.status} {printable(fields)} {self.shown_body()}".rstrip(), 2 * _MOST_SHOWN)

    def shown_body(self) -> str:
        """Return the beginning of the body. Line ends are visible; other bytes that do not print are escaped."""
        text = self.body[:_MOST_SHOWN].decode("latin-1")
        escaped = "".join(each if each.isascii() and each.isprintable() else _escape(each) for each in text)
        return f"{escaped}…" if len(self.body) > _MOST_SHOWN else escaped


def _without_key(text: str) -> str:
    """Return the text without a registration key: reports are passed on to others."""
    return _KEY.sub(r"\1***", text)


def _escape(character: str) -> str:
    return {"\r": "\\r", "\n": "\\n", "\t": "\\t"}.get(character, f"\\x{ord(character):02x}")


RESOLVER_SERVICE: Final = "J8LNKB5R7W/3FUQHC5"
"""The IBI of the resolver's service, the same for every resolver (R 6.1)."""

Steps = Generator[Probe, ProbeResponse, None]


class ClauseBroken(Exception):
    """The clause does not hold."""


class ClauseDoubtful(Exception):
    """The standard advises against it, or does not foresee it."""


class ClauseNotApplicable(Exception):
    """There is nothing here by which the clause could be judged."""


class Judgment(Enum):
    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    WARNING = "warning"
    NOT_APPLICABLE = "not applicable"
    NO_TIME = "not enough time"


class CheckLevel(Enum):
    """The expected part of the standard (R 9.2): the smallest legal Archive has only the empty relation."""

    MINIMAL = "minimal"
    FULL = "full"


class ServiceRole(Enum):
    ARCHIVE = "archive"
    RESOLVER = "resolver"


@dataclass(frozen=True, slots=True)
class ConformanceCheck:
    name: str
    clause: str
    sentence: str
    role: ServiceRole | None
    """The role of the server that it applies to; None for both."""
    level: CheckLevel
    changes: bool
    """True if it sends requests that change something: a count, or the inclusion of an Archive."""
    steps: Callable[[CheckedServer], Steps]


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item of the Archive under test, according to its own answers."""

    label: str
    plain: PairList
    """The answer to a `urlRequest` without verbs."""
    edition: PairList
    """The answer with `GetLastEdition`."""
    translations: PairList
    """The answer with `GetTranslation`."""

    @property
    def state(self) -> str | None:
        return self.plain.word("state")

    @property
    def url(self) -> str | None:
        return self.plain.word("url")

    @property
    def forms(self) -> FormsOfLabel | None:
        return forms_of(self.plain, "ibi")


@dataclass(slots=True)
class CheckedServer:
    """The server under test, and the known facts about it. The survey fills them in before the checks run."""

    origin: str
    """Scheme, host and port."""
    service: str | None = None
    """The IBI of the Archive's service; None if there is no Archive."""
    is_resolver: bool = False
    level: CheckLevel = CheckLevel.FULL
    may_change: bool = False
    items: list[KnownItem] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Labels for which the resolver leads somewhere."""
    answers: list[tuple[Probe, ProbeResponse]] = field(default_factory=list)
    """All successful answers of the service under test to messages so far."""
    member: MemberIdentity | None = None
    """The checker's identity as an Archive of the resolver under test; None if it has none."""
    is_included: bool = False

    def item(self, fits: Callable[[KnownItem], bool], what: str) -> KnownItem:
        """Return the first item that fits."""
        found = next((item for item in self.items if fits(item)), None)
        if found is None and self.service is None:
            raise ClauseNotApplicable(f"only an Archive tells which item {what}: check one beside it")
        if found is None:
            raise ClauseNotApplicable(f"no item is known that {what}: name one with --item")
        return found

    def original(self) -> KnownItem:
        """Return the best item for a request: with a URL, preferably of data, stored here, and not the service
        itself."""
        return self.originals()[0]

    def originals(self) -> list[KnownItem]:
        """Return all items with a URL in that order; at least one."""
        found = sorted((item for item in self.items if item.url is not None), key=self._oddity)
        if not found:
            raise ClauseNotApplicable("no item is known that has a URL: name one with --item")
        return found

    def _oddity(self, item: KnownItem) -> tuple[bool, bool, bool]:
        is_here = (item.url or "").startswith(f"{self.origin}/")
        return item.label == self.service, item.plain.word("contenttype") != "Data", not is_here

    def link(self) -> str:
        if not self.links:
            raise ClauseNotApplicable("no item is known to which the resolver leads: name one with --item")
        return self.links[0]


@dataclass(frozen=True, slots=True)
class MemberIdentity:
    """The Archive that the checker plays towards a resolver: registered there before, under this label and key."""

    service: str
    key: str
    address: str
    """Host and port at which the resolver reaches it."""
    ip: str


CHECKS: list[ConformanceCheck] = []
"""All checks, in the order of their definition."""


def check(
    clause: str,
    role: ServiceRole | None = ServiceRole.ARCHIVE,
    level: CheckLevel = CheckLevel.MINIMAL,
    *,
    changes: bool = False,
) -> Callable[[Callable[[CheckedServer], Steps]], Callable[[CheckedServer], Steps]]:
    """Register a function as a check of that clause. The first line of its docstring is the sentence that it proves."""

    def enter(steps: Callable[[CheckedServer], Steps]) -> Callable[[CheckedServer], Steps]:
        sentence = " ".join((steps.__doc__ or "").partition("\n\n")[0].split())
        name = steps.__name__.replace("_", "-")
        CHECKS.append(ConformanceCheck(name, clause, sentence, role, level, changes, steps))
        return steps

    return enter


def require(holds: object, reason: str) -> None:
    if not holds:
        raise ClauseBroken(reason)


def advise(holds: object, reason: str) -> None:
    if not holds:
        raise ClauseDoubtful(reason)


def url_request(label: str, verbs: str = "", path: str = "", client: str = READER) -> list[tuple[str, str]]:
    """Return the pairs of R Table 8.9."""
    pairs = [("servicesubject", "urlRequest"), ("clientinformation.ipaddress", client)]
    pairs += [("parsedibiurl.filepath", path)] if path else []
    pairs.append(("parsedibiurl.ibi", label))
    return [*pairs, ("parsedibiurl.verblist", verbs)] if verbs else pairs


def service_probe(server: CheckedServer, query: str, **others: object) -> Probe:
    return Probe(f"/{server.service}?{query}", **others)  # type: ignore[arg-type]


def ask_url(
    server: CheckedServer, label: str, verbs: str = "", path: str = "", number: int = 0
) -> Generator[Probe, ProbeResponse, PairList]:
    """Ask the Archive for the address of an item. Only a status of success counts as an answer."""
    query = write_query(url_request(label, verbs, path))
    return (yield from ask_query(server, query, number))


def ask_query(server: CheckedServer, query: str, number: int = 0) -> Generator[Probe, ProbeResponse, PairList]:
    received = yield service_probe(server, query, number=number)
    require(received.is_success, f"the status is {received.status}: a message is answered with success")
    return read_pairs(received.body)


def forms_of(pairs: PairList, name: str) -> FormsOfLabel | None:
    words = pairs.values.get(name)
    return None if words is None else FormsOfLabel.read(words)


def qualified(pairs: PairList, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the qualifier and the value of each name with that prefix."""
    for name, words in pairs.values.items():
        if name == prefix or name.startswith(f"{prefix}."):
            yield name.removeprefix(prefix), " ".join(words)
