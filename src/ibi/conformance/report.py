"""The results of a run as lines for people and as a record for programs. What a stranger sent is bounded and safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ibi.conformance.checking import CheckedServer, Judgment
from ibi.conformance.examination import ClauseResult, overall
from ibi.safe_text import printable, shorten

_MOST_EXCHANGES: Final = 8
_MOST_REASON: Final = 400
_TOLD: Final = {
    Judgment.PASS: "passed",
    Judgment.FAIL: "failed",
    Judgment.WARNING: "warnings",
    Judgment.NOT_APPLICABLE: "not applicable",
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """One run. `is_complete` says whether the time was enough for every check."""

    server: CheckedServer
    results: Sequence[ClauseResult]
    is_complete: bool
    seconds: float
    requests: int

    @property
    def judgment(self) -> Judgment:
        """Of a run that could not be finished nothing good is said."""
        found = overall(self.results)
        return found if self.is_complete or found is Judgment.FAIL else Judgment.FAIL

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        yield f"{self.server.origin}: {', '.join(self._services())}; level {self.server.level.value}"
        for result in self.results:
            yield f"  {result.judgment.value:<14}  {result.check.clause:<13}  {result.check.sentence}"
            if result.reason:
                yield f"{'':18}why: {_safe(result.reason)}"
            if verbose or result.judgment in (Judgment.FAIL, Judgment.WARNING):
                yield from _exchange_lines(result, verbose=verbose)
        counts = Counter(result.judgment for result in self.results)
        told = ", ".join(f"{counts[judgment]} {word}" for judgment, word in _TOLD.items())
        end = "" if self.is_complete else "; the time was over before the end"
        yield f"{told}; {self.requests} requests in {self.seconds:.1f} s{end}: {self.judgment.value}"

    def _services(self) -> list[str]:
        archive = [] if self.server.service is None else [f"Archive {printable(self.server.service)}"]
        return [*archive, "resolver"] if self.server.is_resolver else archive

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


def _exchange_lines(result: ClauseResult, *, verbose: bool) -> Iterator[str]:
    """The last exchange is the one that decided; `verbose` shows those before it, too."""
    shown = result.exchanges[-_MOST_EXCHANGES:] if verbose else result.exchanges[-1:]
    for probe, received in shown:
        yield f"{'':18}sent: {probe}"
        yield f"{'':18}received: {received}"
        for heard in received.heard[:_MOST_EXCHANGES]:
            yield f"{'':18}came in: {heard}"


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
