"""An alert for a reader who cannot be redirected, in words and as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ibi.resolver.authority import ArchiveRef
from ibi.resolver.outcome import Silence

_COMPLETE: Final = Silence()


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggested next step; with a `url` it is a link. `subject`, a label or a URL, is shown after the words as it
    is."""

    words: str
    url: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Archives with something in common. At each, `path` leads to the item as that Archive has it."""

    words: str
    archives: tuple[ArchiveRef, ...]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """`title`, `said` and the words of advice are in the reader's language; `facts` are for programs."""

    code: str
    status: int
    title: str
    said: str
    facts: Mapping[str, object] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()
    groups: tuple[Group, ...] = ()
    silence: Silence = _COMPLETE
    retry_after: int | None = None

    def record(self) -> dict[str, object]:
        """Problem details (RFC 9457), with all the facts."""
        advised = [
            {"words": each.words if each.subject is None else f"{each.words} {each.subject}", "url": each.url}
            for each in self.advice
        ]
        told = {"title": self.title, "status": self.status, "detail": self.said}
        return {"type": f"urn:ibi:problem:{self.code}", **told, **self.facts, "next": advised}
