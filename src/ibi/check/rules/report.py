"""The report of an examination: its findings by clause, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ibi.check.rules.checking import CheckedServer, Judgment
from ibi.check.rules.examination import ClauseResult, overall
from ibi.standard.safe_text import printable, shorten

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
