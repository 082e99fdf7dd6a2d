"""Surveys a server, runs the checks against it, and records each exchange.

It does no I/O, like the checks: the sender decides how a request is sent and how long it may take. Equal requests are
sent once in a run, so that many checks can share one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.check.rules import answer_checks, archive_checks, link_checks, membership_checks, relation_checks
from ibi.check.rules.checking import (
    CHECKS,
    RESOLVER_SERVICE,
    CheckedServer,
    CheckLevel,
    ClauseBroken,
    ClauseDoubtful,
    ClauseNotApplicable,
    ConformanceCheck,
    Judgment,
    Probe,
    ProbeResponse,
    ServiceRole,
)
from ibi.check.rules.survey import NotEnoughTime, survey

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
