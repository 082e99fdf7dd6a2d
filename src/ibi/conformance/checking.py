"""What a check is: a clause, a sentence, and steps that yield requests and judge what comes back.

The steps are a generator, so that a check knows neither sockets nor clocks: `ibi.conformance.examination` sends what it
yields and gives it what was received. It returns if the clause holds, and raises one of three exceptions otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ibi.conformance.grammars import FormsOfLabel
from ibi.conformance.strict_pairs import PairList, read_pairs
from ibi.conformance.wire import READER, Probe, ProbeResponse, write_query

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


class CheckLevel(Enum):
    """How much of the standard is expected (R 9.2): the smallest legal Archive has the empty relation alone."""

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
    """Whom it concerns; None for both."""
    level: CheckLevel
    changes: bool
    """Whether it sends what is meant to change something: a count, or who is included."""
    steps: Callable[[CheckedServer], Steps]


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item of the Archive under test, as its own answers tell of it."""

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
    """The server under test, and what is known of it. The survey fills it in, before the checks run."""

    origin: str
    """Scheme, host and port."""
    service: str | None = None
    """The IBI of the Archive's service; None if there is no Archive."""
    is_resolver: bool = False
    level: CheckLevel = CheckLevel.FULL
    may_change: bool = False
    items: list[KnownItem] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Labels of which the resolver leads somewhere."""
    answers: list[tuple[Probe, ProbeResponse]] = field(default_factory=list)
    """Everything that the service under test answered so far to a message, with a status of success."""
    member: MemberIdentity | None = None
    """Who the checker is as an Archive of the resolver under test; None if it is none."""
    is_included: bool = False

    def item(self, fits: Callable[[KnownItem], bool], what: str) -> KnownItem:
        """The first item that fits."""
        found = next((item for item in self.items if fits(item)), None)
        if found is None:
            raise ClauseNotApplicable(f"no item is known that {what}: name one with --item")
        return found

    def original(self) -> KnownItem:
        """An item to ask about: with a URL, rather of data than of metadata, rather here than elsewhere, and rather not
        the service itself, which is special."""
        found = sorted((item for item in self.items if item.url is not None), key=self._oddity)
        if not found:
            raise ClauseNotApplicable("no item is known that has a URL: name one with --item")
        return found[0]

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
"""All checks, in the order in which they are made."""


def check(
    clause: str,
    role: ServiceRole | None = ServiceRole.ARCHIVE,
    level: CheckLevel = CheckLevel.MINIMAL,
    *,
    changes: bool = False,
) -> Callable[[Callable[[CheckedServer], Steps]], Callable[[CheckedServer], Steps]]:
    """Enter a function as a check of that clause; the first line of its docstring is the sentence that it proves."""

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


# --- requests to an Archive ------------------------------------------------------------------------------------------


def url_request(label: str, verbs: str = "", path: str = "", client: str = READER) -> list[tuple[str, str]]:
    """The pairs of R Table 8.9."""
    pairs = [("servicesubject", "urlRequest"), ("clientinformation.ipaddress", client)]
    pairs += [("parsedibiurl.filepath", path)] if path else []
    pairs.append(("parsedibiurl.ibi", label))
    return [*pairs, ("parsedibiurl.verblist", verbs)] if verbs else pairs


def service_probe(server: CheckedServer, query: str, **others: object) -> Probe:
    return Probe(f"/{server.service}?{query}", **others)  # type: ignore[arg-type]


def ask_url(
    server: CheckedServer, label: str, verbs: str = "", path: str = "", number: int = 0
) -> Generator[Probe, ProbeResponse, PairList]:
    """Ask the Archive where an item is; a status other than success is no answer."""
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
    """The names with that prefix: what qualifies each, and the value."""
    for name, words in pairs.values.items():
        if name == prefix or name.startswith(f"{prefix}."):
            yield name.removeprefix(prefix), " ".join(words)
