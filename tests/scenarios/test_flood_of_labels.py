"""A reader who asks for very many labels, with an Archive that claims every one of them, changes no belief."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Final

from ibi.membership.rules.authority import ArchiveRef, Homes
from ibi.resolver.rules.memory import MOST_LABELS, Memory
from ibi.resolver.rules.outcome import Outcome, Redirect
from ibi.resolver.service.resolution_runner import Resolved
from ibi.resolver.service.resolver_service import ResolverService
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.standard.label import Label
from ibi.standard.messages import ContentType, LabelForms, State, UrlEntry, UrlList, UrlRequest
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Answered, Failure, Reply
from tests.support.home_world import belief_rows
from tests.support.scripted_archives import CLIENTS, archive, body, read
from tests.support.scripted_gateway import Said, ScriptedGateway, at_once

MANY: Final = 20_600
"""More than a resolver keeps hints for."""
HOME, HOLDER, COPIES = (
    archive("home", registered=20),
    archive("holder", registered=30),
    archive("copies", registered=40),
)
OLD, LIAR = archive("old", registered=5), archive("liar", registered=10)
GIVEN_AWAY, KEPT = "example.org/home/2009/01.01.00.00", "example.org/home/2009/01.01.00.01"
HOMELESS = "homeless.org/x/2009/01.01.00.00"
"""No Archive is registered for its prefix: `OLD`, which is there longest, holds it."""


def has(who: ArchiveRef, label: Label, state: str = "Original") -> bytes:
    url = f"http://{who.address}/{label}"
    return body(who, f"rep {label.spelling}", url=url, contenttype="Data", state=state)


NOTHING: Final = Answered(None, 0)
CLAIM: Final = UrlEntry(
    ibi=None, url=f"http://{LIAR.address}/taken", content_type=ContentType.DATA, state=State.ORIGINAL
)


class Members:
    """The Archives of the resolver, the same between two questions."""

    def __init__(self, archives: tuple[ArchiveRef, ...]) -> None:
        self._archives, self._homes = archives, Homes.of_archives(archives)

    def archives(self) -> tuple[ArchiveRef, ...]:
        return self._archives

    def homes(self) -> Homes:
        return self._homes


class Scripts:
    """What the Archives say; the home can fall silent, and the liar begins to lie when it is told to."""

    def __init__(self) -> None:
        self.is_home_silent = self.lies = False
        says = {HOME: self._home, HOLDER: self._holder, COPIES: self._copies, OLD: self._old, LIAR: self._liar}
        self.gateway = ScriptedGateway({archive: at_once(script) for archive, script in says.items()})
        self.members = Members(tuple(says))

    def service(self, beliefs: SqliteBeliefs) -> ResolverService:
        return ResolverService(self.members, self.gateway, memory=Memory(beliefs))

    def _home(self, request: UrlRequest) -> Reply:
        if self.is_home_silent:
            return Failure.UNREACHABLE
        if str(request.label) == GIVEN_AWAY:
            return replace(NOTHING, transferred_to=HOLDER.service.labels[0])
        if str(request.label) == KEPT:
            return Answered(read(has(HOME, request.label)), 0, copies_at=COPIES.service.labels)
        return NOTHING

    def _holder(self, request: UrlRequest) -> Said:
        return has(HOLDER, request.label) if str(request.label) == GIVEN_AWAY else NOTHING

    def _copies(self, request: UrlRequest) -> Said:
        return has(COPIES, request.label, "Copy") if str(request.label) == KEPT else NOTHING

    def _old(self, request: UrlRequest) -> Said:
        return has(OLD, request.label) if str(request.label) == HOMELESS else NOTHING

    def _liar(self, request: UrlRequest) -> Reply:
        if not self.lies:
            return NOTHING
        (named,) = LIAR.service.labels
        entry = replace(CLAIM, ibi=LabelForms.of(request.label))
        said = UrlList(LIAR.address, LIAR.service, None, (entry,))
        return Answered(said, 3600, transferred_to=named, copies_at=(named,))


def resolve(service: ResolverService, label: str) -> Outcome:
    resolved = service.begin(PersistentUrl.parse(f"/{label}"), CLIENTS, base="http://urlib.net:80/")
    assert isinstance(resolved, Resolved)  # every Archive answers at once
    return resolved.outcome


def chosen(outcome: Outcome) -> ArchiveRef | Outcome:
    return outcome.archive if isinstance(outcome, Redirect) else outcome


def labels() -> Iterator[str]:
    """Labels of the home, of the liar, of no Archive, and of ever new prefixes."""
    numbers = range(MANY)
    dates = [
        f"20{10 + n // 100_000}/{1 + n // 2400 % 12:02}.{1 + n // 60 % 28:02}.{n // 60 % 24:02}.{n % 60:02}"
        for n in numbers
    ]
    prefixes = cycle((*("example.org/liar",) * 3, "example.org/home", "homeless.org/x", None))
    for number, date, prefix in zip(numbers, dates, prefixes, strict=False):
        yield f"{prefix or f'many{number}.org/x'}/{date}.{number % 60:02}"


def test_other_labels_that_a_reader_asks_for_change_no_belief(tmp_path: Path) -> None:
    scripts = Scripts()
    with closing(SqliteBeliefs(tmp_path)) as beliefs:
        service = scripts.service(beliefs)
        believed = {GIVEN_AWAY: HOLDER, KEPT: HOME, HOMELESS: OLD}
        assert {label: chosen(resolve(service, label)) for label in believed} == believed
        beliefs.flush()
        before = belief_rows(tmp_path)
        assert {name: len(rows) for name, rows in before.items()} == {
            "successors": 1,
            "holders": 1,
            "copies": 1,
            "false claims": 0,
        }
        scripts.lies = True
        asked = set(labels())
        assert len(asked) == MANY > MOST_LABELS
        for label in asked:
            resolve(service, label)
        beliefs.flush()
        after = belief_rows(tmp_path)
        assert after["successors"] == before["successors"]
        own = (str(LIAR.service.labels[0]),) * 2  # on its own items it is the home, and may name whom it likes
        assert after["copies"] - {own} == before["copies"]
        assert before["holders"] <= after["holders"]
        claimed = {owner for _, owner in after["holders"] - before["holders"]}
        assert claimed <= {str(LIAR.service.labels[0])}
        with closing(SqliteBeliefs(tmp_path)) as again:  # as another process sees it
            fresh = scripts.service(again)
            for each in (service, fresh):
                assert {label: chosen(resolve(each, label)) for label in believed} == believed
            scripts.is_home_silent = True
            assert chosen(resolve(fresh, GIVEN_AWAY)) == HOLDER
            assert chosen(resolve(fresh, KEPT)) == COPIES
            assert chosen(resolve(fresh, HOMELESS)) == OLD
