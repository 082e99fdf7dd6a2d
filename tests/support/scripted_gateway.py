"""A gateway to Archives that reply as a test says, after as long as it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import Acknowledgment, UrlRequest
from ibi.standard.reply import Answered, Failure, Reply
from tests.support.scripted_archives import read

Said = bytes | Failure | Reply
Script = Callable[[UrlRequest], Said]


@dataclass(frozen=True)
class After:
    """Says something after so many seconds; `local` is for one in the same process."""

    seconds: float
    says: Said | Script
    max_age: int = 0
    local: bool = False

    def reply(self, request: UrlRequest) -> Reply:
        said = self.says(request) if callable(self.says) else self.says
        return Answered(read(said), self.max_age) if isinstance(said, bytes) else said


def at_once(says: Said | Script, max_age: int = 0) -> After:
    return After(0.0, says, max_age, local=True)


@dataclass
class ScriptedGateway:
    """`asked`, `cancelled` and `thanked` tell what happened."""

    archives_: Mapping[ArchiveRef, After]
    asked: list[tuple[ArchiveRef, UrlRequest]] = field(default_factory=list)
    cancelled: list[ArchiveRef] = field(default_factory=list)
    thanked: list[tuple[ArchiveRef, Acknowledgment]] = field(default_factory=list)
    within: list[float] = field(default_factory=list)
    receives: bool = True
    away: tuple[LabelForms, ...] = ()
    """The services of Archives that are registered and switched off."""

    def archives(self) -> tuple[ArchiveRef, ...]:
        """A directory, too."""
        return tuple(self.archives_)

    def homes(self) -> Homes:
        ordered = sorted(self.archives_, key=lambda each: each.registered)
        here = ((Home(archive.service, archive), archive.home_prefixes) for archive in ordered)
        return Homes([*here, *((Home(each, None), map(home_prefix, each.labels)) for each in self.away)])

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> Reply | None:
        script = self.archives_[archive]
        if not script.local:
            return None
        self.asked.append((archive, request))
        return script.reply(request)

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        self.asked.append((archive, request))
        self.within.append(within)
        script = self.archives_[archive]
        try:
            await asyncio.sleep(script.seconds)
        except asyncio.CancelledError:
            self.cancelled.append(archive)
            raise
        return script.reply(request)

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        self.thanked.append((archive, acknowledgment))
        return self.receives


class FreshFeeds:
    """Every Archive tells of its changes, so that what is kept lives as long as other rules allow."""

    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        return True
