"""Surveys a server, runs the checks against it, records each exchange, and reports the results.

It does no I/O, like the checks: the sender decides how a request is sent and how long it may take. Equal requests are
sent once in a run, so that many checks can share one answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.conformance import answer_checks, archive_checks, link_checks, membership_checks, relation_checks
from ibi.conformance.checking import (
    CHECKS,
    RESOLVER_SERVICE,
    CheckedServer,
    CheckLevel,
    ClauseBroken,
    ClauseDoubtful,
    ClauseNotApplicable,
    ConformanceCheck,
    Judgment,
    KnownItem,
    Probe,
    ProbeResponse,
    ServiceRole,
    url_request,
    write_query,
)
from ibi.conformance.grammars import LABEL_IN_TEXT, REPOSITORY, PairList, fault_of_address, read_pairs
from ibi.safe_text import printable, shorten

# --- the survey -------------------------------------------------------------------------------------------------------

# The survey runs before the checks. It takes labels from the command, from the service itself, and from the server's
# offers to harvesters: its feed of changes, OAI-PMH, its site map, its first page. Any text works, because labels are
# recognised by their grammar.

_PAGES: Final = ("/api/changes?most=200", "/oai?verb=ListIdentifiers&metadataPrefix=oai_dc", "/sitemap.xml", "/")
_MOST_SURVEYED: Final = 12
"""Items to ask about, with three requests each. At 0.1 s per request that is about four seconds."""
_MOST_LABELS: Final = 200
_MOST_SERVICES: Final = 12
"""Labels of a page that are tried as the label of the service."""
_MOST_LINKS: Final = 6
_GONE: Final = 410

Survey = Generator[Probe, ProbeResponse, None]


class NotSpoken(Exception):
    """The server does not speak the protocol, and why that is believed."""


class NotEnoughTime(Exception):
    """The time for all checks was over before it was known what the server is."""


def survey(server: CheckedServer, given: Sequence[str]) -> Survey:
    """Recognise the services to check, then learn their items. Raise `NotSpoken` if there is neither an Archive nor a
    resolver."""
    found = [*given]
    first = yield Probe("/" if server.service is None else f"/{server.service}", may_fail=True)
    if first.failure is not None:
        raise NotSpoken(first.failure)
    found += yield from _offered_labels()
    found = list(dict.fromkeys(found))
    if server.service is None and not server.is_resolver:
        yield from _recognise(server, found)
    elif server.service is not None and not (yield from _is_archive(server.service)):
        received = yield _confirmation(server.service)
        place = f"it sends messages on to {received.location}" if received.is_redirect else ""
        raise NotSpoken(place or f"it has no Archive whose service is {server.service}")
    if server.service is not None:
        yield from _learn_items(server, found, given)
    if server.is_resolver:
        yield from _learn_links(server, found, given)
        if not server.links and not (yield from _is_resolver()):
            raise NotSpoken("it answers as no resolver does")


def _offered_labels() -> Generator[Probe, ProbeResponse, list[str]]:
    """Return the labels in the server's offers. Those of deleted items come first, because they are rare and needed."""
    labels: list[str] = []
    for page in _PAGES:
        received = yield Probe(page, may_fail=True)
        if received.failure is None and received.is_success:
            labels += _deleted_labels(received.body) + labels_in(received.body)
        if len(labels) >= 3:
            break
    return labels[:_MOST_LABELS]


def labels_in(body: bytes) -> list[str]:
    found = dict.fromkeys(match[0] for match in LABEL_IN_TEXT.finditer(body.decode("latin-1")))
    return [label for label in found if REPOSITORY.fullmatch(label) or fault_of_address(label) is None]


def _deleted_labels(body: bytes) -> list[str]:
    """Return labels of deleted items from this software's feed of changes; none from any other page."""
    try:
        changes = json.loads(body)["changes"]
        last = {str(change["label"]): str(change["kind"]) for change in changes}
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    deleted = [label for label, kind in last.items() if kind == "deleted"]
    return [label for label in deleted if REPOSITORY.fullmatch(label)][:2]


def _recognise(server: CheckedServer, labels: Sequence[str]) -> Survey:
    server.is_resolver = yield from _is_resolver()
    for label in labels[:_MOST_SERVICES]:
        if (yield from _is_archive(label)):
            server.service = label
            return
    if not server.is_resolver:
        raise NotSpoken("neither an Archive nor a resolver answers there; name its service in the URL if it has one")


def _is_archive(service: str) -> Generator[Probe, ProbeResponse, bool]:
    """Return whether a service answers under that label, in any quality. Later checks judge its answers."""
    received = yield _confirmation(service)
    if received.failure is not None or not received.is_success:
        return False
    return received.media_type == "text/plain" or b"confirmation" in received.body[:200]


def _confirmation(service: str) -> Probe:
    return Probe(f"/{service}?servicesubject=inclusionConfirmationRequest", may_fail=True)


def _is_resolver() -> Generator[Probe, ProbeResponse, bool]:
    """Return whether a resolver's service answers. The request is meant for Archives, so a resolver refuses it."""
    received = yield _confirmation(RESOLVER_SERVICE)
    return received.failure is None and received.media_type == "text/plain" and b"confirmation yes" not in received.body


def _learn_items(server: CheckedServer, found: Sequence[str], given: Sequence[str]) -> Survey:
    assert server.service is not None
    wanted = [*given, server.service, *found]
    known: set[str] = set()
    for label in dict.fromkeys(wanted):
        if label.lower() in known or len(server.items) >= max(_MOST_SURVEYED, len(given)):
            continue
        item = yield from _learn_item(server, label)
        if item is not None:
            server.items.append(item)
            known |= {each.lower() for each in (label, *(item.forms.labels if item.forms else ()))}


def _learn_item(server: CheckedServer, label: str) -> Generator[Probe, ProbeResponse, KnownItem | None]:
    plain = yield from _read_answer(server, label)
    if not plain.values:
        return None
    nothing = PairList({}, ())
    if server.level is CheckLevel.MINIMAL or "url" not in plain:
        return KnownItem(label, plain, nothing, nothing)
    edition = yield from _read_answer(server, label, "GetLastEdition")
    return KnownItem(label, plain, edition, (yield from _read_answer(server, label, "GetTranslation")))


def _read_answer(server: CheckedServer, label: str, verbs: str = "") -> Generator[Probe, ProbeResponse, PairList]:
    query = write_query(url_request(label, verbs))
    received = yield Probe(f"/{server.service}?{query}", may_fail=True)
    return read_pairs(received.body if received.failure is None and received.is_success else b"")


def _learn_links(server: CheckedServer, found: Sequence[str], given: Sequence[str]) -> Survey:
    """Collect labels for which the resolver leads somewhere, preferably not that of a service.

    They come from an Archive at the same place, or from any page. A resolver without an Archive is checked only by the
    named items: other labels on its pages may not exist.
    """
    is_alone = server.service is None and bool(given)
    held = [item.label for item in server.items if item.url is not None and item.label != server.service]
    known = () if is_alone else (*held, *found)
    for label in list(dict.fromkeys((*given, *known)))[: max(_MOST_LINKS, len(given))]:
        received = yield Probe(f"/{label}", may_fail=True)
        is_wanted = received.is_redirect or (is_alone and received.status != _GONE)
        if received.failure is None and is_wanted:
            server.links.append(label)


# --- the examination --------------------------------------------------------------------------------------------------

_ORDER: Final = tuple(
    module.__name__ for module in (archive_checks, relation_checks, link_checks, membership_checks, answer_checks)
)
ALL_CHECKS: Final = tuple(sorted(CHECKS, key=lambda check: _ORDER.index(check.steps.__module__)))
"""The checks in their order. The last ones read all earlier answers."""

_MOST_REQUESTS: Final = 400
"""Requests in one run. The checks need about a third."""


class TimeIsOver(Exception):
    """The sender has used up the time for the whole run."""


Send = Callable[[Probe], ProbeResponse]


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """The result of a check: the judgment, its reason, and the requests and responses behind it."""

    check: ConformanceCheck
    judgment: Judgment
    reason: str
    exchanges: tuple[tuple[Probe, ProbeResponse], ...] = ()


class Examination:
    """One run against one server."""

    def __init__(self, server: CheckedServer, send: Send) -> None:
        self.server, self._send = server, send
        self._known: dict[Probe, ProbeResponse] = {}
        self._noted = 0
        """Number of known responses when the answers among them were last collected."""
        self.requests = 0
        self.is_complete = True
        """True if there was time for every check."""

    def recognise(self, labels: Sequence[str] = ()) -> None:
        """Find out the services and items of the server.

        Raise `NotSpoken` if it is neither an Archive nor a resolver, and `NotEnoughTime` if the survey took too long.
        """
        try:
            self._drive(survey(self.server, labels), [])
        except TimeIsOver:
            raise NotEnoughTime from None

    def results(self) -> Iterator[ClauseResult]:
        try:
            for check in ALL_CHECKS:
                if self._is_wanted(check):
                    yield self._judge(check)
        finally:
            self._leave()

    def _leave(self) -> None:
        """End the membership of the checker if no check did."""
        member = self.server.member
        if member is not None and self.server.is_included and membership_checks.exclusion(member) not in self._known:
            self._send(membership_checks.exclusion(member))

    def _is_wanted(self, check: ConformanceCheck) -> bool:
        roles = {
            ServiceRole.ARCHIVE: self.server.service is not None,
            ServiceRole.RESOLVER: self.server.is_resolver,
            None: True,
        }
        return roles[check.role] and (check.level is CheckLevel.MINIMAL or self.server.level is CheckLevel.FULL)

    def _judge(self, check: ConformanceCheck) -> ClauseResult:
        seen: list[tuple[Probe, ProbeResponse]] = []
        if check.changes and not self.server.may_change:
            return ClauseResult(check, Judgment.NOT_APPLICABLE, "it is sent with --write only")
        judgment, reason = Judgment.PASS, ""
        self._keep_answers()
        try:
            self._drive(check.steps(self.server), seen)
        except ClauseBroken as broken:
            judgment, reason = Judgment.FAIL, str(broken)
        except ClauseDoubtful as doubtful:
            judgment, reason = Judgment.WARNING, str(doubtful)
        except ClauseNotApplicable as nothing:
            judgment, reason = Judgment.NOT_APPLICABLE, str(nothing)
        except TimeIsOver:
            self.is_complete = False
            judgment, reason = Judgment.NO_TIME, "the time for all checks was over"
        return ClauseResult(check, judgment, reason, tuple(seen))

    def _drive(self, steps: Generator[Probe, ProbeResponse, None], seen: list[tuple[Probe, ProbeResponse]]) -> None:
        try:
            probe = next(steps)
            while True:
                received = self._receive(probe)
                seen.append((probe, received))
                if received.failure is not None and not probe.may_fail:
                    raise ClauseBroken(f"there is no answer: {received.failure}")
                probe = steps.send(received)
        except StopIteration:
            return
        finally:
            steps.close()

    def _receive(self, probe: Probe) -> ProbeResponse:
        if (received := self._known.get(probe)) is not None:
            return received
        if self.requests >= _MOST_REQUESTS:
            raise TimeIsOver
        self.requests += 1
        received = self._known[probe] = self._without_key(self._send(probe))
        return received

    def _without_key(self, received: ProbeResponse) -> ProbeResponse:
        """Return the response without the checker's own key, which a resolver may repeat: reports are passed on to
        others."""
        member = self.server.member
        if member is None or member.key.encode() not in received.body:
            return received
        return replace(received, body=received.body.replace(member.key.encode(), b"***"))

    def _keep_answers(self) -> None:
        """Collect the successful answers of the services under test to messages."""
        if self._noted == len(self._known):
            return
        self._noted = len(self._known)
        services = {f"/{each}".lower() for each in (RESOLVER_SERVICE, self.server.service) if each}
        self.server.answers = [
            (probe, received)
            for probe, received in self._known.items()
            if received.is_success and probe.method == "GET" and _is_message(probe.target, services)
        ]


def _is_message(target: str, services: set[str]) -> bool:
    path, _, query = target.partition("?")
    return path.lower() in services and "servicesubject=" in query


def overall(results: Sequence[ClauseResult]) -> Judgment:
    """Return the judgment of a run: one failing clause is enough."""
    judgments = {result.judgment for result in results}
    for worst in (Judgment.FAIL, Judgment.WARNING):
        if worst in judgments:
            return worst
    return Judgment.PASS


# --- the report -------------------------------------------------------------------------------------------------------

# Text from the server under test is shortened and made printable before it is shown.

_MOST_EXCHANGES: Final = 8
_MOST_REASON: Final = 400
_INDENT: Final = " " * 19
_TOLD: Final = {
    Judgment.PASS: "passed",
    Judgment.FAIL: "failed",
    Judgment.WARNING: "warnings",
    Judgment.NOT_APPLICABLE: "not applicable",
    Judgment.NO_TIME: "not made for want of time",
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of one run. `is_complete` says whether there was time for every check."""

    server: CheckedServer
    results: Sequence[ClauseResult]
    is_complete: bool
    seconds: float
    requests: int

    @property
    def judgment(self) -> Judgment:
        """The judgment of the run. An unfinished run neither passes nor fails, unless a clause fails."""
        found = overall(self.results)
        return found if self.is_complete or found is Judgment.FAIL else Judgment.NO_TIME

    def summary(self) -> str:
        counts = Counter(result.judgment for result in self.results)
        told = ", ".join(
            f"{counts[judgment]} {word}"
            for judgment, word in _TOLD.items()
            if judgment is not Judgment.NO_TIME or counts[judgment]
        )
        return f"{told}; {self.requests} requests in {self.seconds:.1f} s: {self.judgment.value}"

    def record(self) -> dict[str, object]:
        server = self.server
        return {
            "url": server.origin,
            "archive": server.service,
            "resolver": server.is_resolver,
            "level": server.level.value,
            "write": server.may_change,
            "judgment": self.judgment.value,
            "complete": self.is_complete,
            "requests": self.requests,
            "seconds": round(self.seconds, 3),
            "clauses": [_record(result) for result in self.results],
        }


def heading(server: CheckedServer) -> str:
    """Return the heading: the checked server, its services and the level."""
    archive = [] if server.service is None else [f"Archive {printable(server.service)}"]
    services = [*archive, "resolver"] if server.is_resolver else archive
    return f"{server.origin}: {', '.join(services)}; level {server.level.value}"


def result_lines(result: ClauseResult, *, verbose: bool = False) -> Iterator[str]:
    """Yield one line for the result. If it does not pass, the reason and the exchange follow."""
    check, judgment = result.check, result.judgment
    why = f" ({_safe(result.reason)})" if judgment in (Judgment.NOT_APPLICABLE, Judgment.NO_TIME) else ""
    role = "" if check.role is None else check.role.value
    yield f"  {judgment.value:<15}  {role:<8}  {check.clause:<14}  {check.sentence}{why}"
    if result.reason and not why:
        yield f"{_INDENT}why: {_safe(result.reason)}"
    if verbose or judgment in (Judgment.FAIL, Judgment.WARNING):
        yield from _exchange_lines(result, verbose=verbose)


def _exchange_lines(result: ClauseResult, *, verbose: bool) -> Iterator[str]:
    """Yield the last exchange, which decided. With `verbose` earlier ones come too."""
    shown = result.exchanges[-_MOST_EXCHANGES:] if verbose else result.exchanges[-1:]
    for probe, received in shown:
        yield f"{_INDENT}sent: {probe}"
        yield f"{_INDENT}received: {received}"
        for heard in received.heard[:_MOST_EXCHANGES]:
            yield f"{_INDENT}came in: {heard}"


def _record(result: ClauseResult) -> dict[str, object]:
    check = result.check
    return {
        "clause": check.clause,
        "check": check.name,
        "role": "any" if check.role is None else check.role.value,
        "level": check.level.value,
        "sentence": check.sentence,
        "judgment": result.judgment.value,
        "reason": _safe(result.reason),
        "exchanges": [
            {"sent": str(probe), "received": str(received), "came_in": [str(each) for each in received.heard[:8]]}
            for probe, received in result.exchanges[-_MOST_EXCHANGES:]
        ],
    }


def _safe(text: str) -> str:
    return shorten(printable(text), _MOST_REASON)
