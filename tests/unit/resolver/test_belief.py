"""Whose word is taken before whose where a label has no home, and what is asked before a Copy is believed (E55,
E56)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import LoopDetected, Redirect
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.label import parse
from ibi.standard.messages import UrlRequest
from ibi.standard.reply import Failure
from tests.support.scripted_archives import Answer, KnownHolder, Script, archive, body, drive, give, resolution, resolve

ITEM, NEXT, LATER = "lab.br/arq/2009/01.01.00.00", "lab.br/arq/2010/01.01.00.00", "lab.br/arq/2011/01.01.00.00"
TEXT_PT, BOGUS = "lab.br/arq/2012/01.01.00.00", "evil.br/arq/2013/01.01.00.00"
OLD, NEW = archive("old", registered=10), archive("new", registered=20)
HOME = archive("home", registered=30)


def url_of(who: ArchiveRef) -> str:
    return f"http://{who.address}/x"


def has(who: ArchiveRef, state: str = "Original", qualifier: str = "", of: str = ITEM, **others: str) -> bytes:
    name = qualifier.replace(".", "__")
    pairs = {f"url{name}": url_of(who), f"contenttype{name}": "Data", f"state{name}": state, **others}
    return body(who, f"rep {of}", **pairs)


def points(who: ArchiveRef, of: str = ITEM, **to: str) -> bytes:
    return body(who, f"rep {of}", **{name: f"{{rep {label}}}" for name, label in to.items()})


def asked(under_way: Resolution) -> dict[ArchiveRef, Asking]:
    return {asking.archive: asking for asking in under_way.requests()}


def chosen(under_way: Resolution) -> ArchiveRef | None:
    return under_way.outcome.archive if isinstance(under_way.outcome, Redirect) else None


class Scripted:
    """Archives that answer by label and modifier; whatever is not there is empty."""

    def __init__(self, answers: Mapping[tuple[ArchiveRef, str, str], Answer], *others: ArchiveRef) -> None:
        self.archives = tuple(dict.fromkeys([*(who for who, _, _ in answers), *others]))
        self._answers = answers

    def outcome(self, url: str, languages: str = "", routing: KnownHolder | None = None) -> object:
        scripts: dict[ArchiveRef, Script] = {who: partial(self._said, who) for who in self.archives}
        return resolve(url, scripts, languages, routing=routing)

    def _said(self, who: ArchiveRef, request: UrlRequest) -> Answer:
        label, relation = request.label, request.relation
        return self._answers.get((who, str(label), relation.modifier), b"")


class TestAnOriginal:
    def test_of_a_newcomer_waits_for_an_archive_that_has_been_there_longer(self) -> None:
        under_way = resolution(f"/{ITEM}", (NEW, OLD))
        askings = asked(under_way)
        give(under_way, askings[NEW], has(NEW), 0.01)
        assert under_way.outcome is None
        give(under_way, askings[OLD], has(OLD), 0.1)
        assert chosen(under_way) == OLD

    def test_of_a_newcomer_is_taken_if_no_other_claims_it_within_the_hedge_delay(self) -> None:
        under_way = resolution(f"/{ITEM}", (NEW, OLD))
        give(under_way, asked(under_way)[NEW], has(NEW), 0.01)
        under_way.advance(0.2)
        assert chosen(under_way) == NEW

    def test_of_the_archive_that_has_been_there_longest_is_taken_at_once(self) -> None:
        under_way = resolution(f"/{ITEM}", (NEW, OLD))
        give(under_way, asked(under_way)[OLD], has(OLD), 0.01)
        assert chosen(under_way) == OLD

    def test_of_a_newcomer_that_is_asked_first_is_no_reason_to_ask_no_other(self) -> None:
        """It has another item of the same prefix, say; that gives it no right to all of them."""
        for state in ("Original", "Copy"):
            under_way = resolution(f"/{ITEM}", (NEW, OLD), routing=KnownHolder(first=(NEW,)))
            first = asked(under_way)
            assert list(first) == [NEW]
            give(under_way, first[NEW], has(NEW, state), 0.01)
            assert under_way.outcome is None
            give(under_way, asked(under_way)[OLD], has(OLD), 0.1)
            assert chosen(under_way) == OLD, state

    def test_of_a_newcomer_that_is_asked_first_is_taken_if_the_others_say_nothing_within_the_hedge_delay(self) -> None:
        under_way = resolution(f"/{ITEM}", (NEW, OLD), routing=KnownHolder(first=(NEW,)))
        give(under_way, asked(under_way)[NEW], has(NEW), 0.01)
        assert under_way.wake_at == 0.2
        under_way.advance(0.2)
        assert under_way.outcome is None
        assert under_way.wake_at == 0.01 + 0.2
        under_way.advance(0.01 + 0.2)
        assert chosen(under_way) == NEW

    def test_of_a_newcomer_does_not_win_because_another_that_is_asked_first_is_silent(self) -> None:
        under_way = resolution(f"/{ITEM}", (HOME, NEW, OLD), routing=KnownHolder(first=(NEW, HOME)))
        give(under_way, asked(under_way)[NEW], has(NEW), 0.01)
        under_way.advance(0.2)
        assert under_way.outcome is None
        give(under_way, asked(under_way)[OLD], has(OLD), 0.25)
        assert chosen(under_way) == OLD

    def test_of_an_archive_that_no_other_can_outrank_is_taken_without_asking_others(self) -> None:
        for who, routing in ((OLD, KnownHolder(first=(OLD,))), (NEW, KnownHolder(holders={parse(ITEM): NEW}))):
            under_way = resolution(f"/{ITEM}", (NEW, OLD), routing=routing)
            give(under_way, asked(under_way)[who], has(who), 0.01)
            assert chosen(under_way) == who
            assert [report.archive for hop in under_way.trace.hops for report in hop.reports] == [who]


class TestPointers:
    def test_of_the_archive_that_is_believed_first_come_before_the_url_of_another(self) -> None:
        outcome = Scripted(
            {
                (OLD, ITEM, "+(pt)"): points(OLD, **{"ibi.translation(pt)": TEXT_PT}),
                (NEW, ITEM, "+(pt)"): has(NEW, qualifier=".translation(pt)"),
                (OLD, TEXT_PT, ""): has(OLD, of=TEXT_PT),
            }
        ).outcome(f"/{ITEM}+(pt)")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == OLD

    def test_of_a_newcomer_that_is_asked_first_wait_for_an_archive_that_has_been_there_longer(self) -> None:
        under_way = resolution(f"/{ITEM}+(pt)", (NEW, OLD), routing=KnownHolder(first=(NEW,)))
        give(under_way, asked(under_way)[NEW], points(NEW, **{"ibi.translation(pt)": BOGUS}), 0.01)
        give(under_way, asked(under_way)[OLD], has(OLD, qualifier=".translation(pt)"), 0.1)
        assert chosen(under_way) == OLD

    def test_of_the_holder_are_followed_without_asking_others(self) -> None:
        known = KnownHolder(holders={parse(ITEM): HOME})
        under_way = resolution(f"/{ITEM}+(pt)", (OLD, HOME), routing=known)
        give(under_way, asked(under_way)[HOME], points(HOME, **{"ibi.translation(pt)": TEXT_PT}), 0.01)
        first, second = under_way.trace.hops
        assert [report.archive for report in first.reports] == [HOME]
        assert str(second.label) == TEXT_PT

    def test_of_equals_come_after_the_url(self) -> None:
        peer = archive("peer", registered=OLD.registered)
        outcome = Scripted(
            {
                (OLD, ITEM, "+(pt)"): points(OLD, **{"ibi.translation(pt)": TEXT_PT}),
                (peer, ITEM, "+(pt)"): has(peer, qualifier=".translation(pt)"),
            }
        ).outcome(f"/{ITEM}+(pt)")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == peer

    def test_of_one_that_led_nowhere_come_after_those_of_others(self) -> None:
        """A liar that was there first points to ever new items: one of them is enough."""
        scripts = {
            (OLD, ITEM, "!"): points(OLD, ibi__nextedition=BOGUS),
            (NEW, ITEM, "!"): points(NEW, ibi__nextedition=NEXT),
            (OLD, NEXT, "!"): points(OLD, of=NEXT, ibi__nextedition=BOGUS.replace("2013", "2014")),
            (NEW, NEXT, "!"): has(NEW, qualifier=".lastedition", of=NEXT),
        }
        outcome = Scripted(scripts).outcome(f"/{ITEM}!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == NEW

    def test_are_followed_to_the_original_although_an_archive_stays_silent(self) -> None:
        under_way = resolution(f"/{ITEM}!?ibiurl.requireditemstatus=Original", (OLD, NEW))
        give(under_way, asked(under_way)[OLD], points(OLD, ibi__nextedition=NEXT), 0.1)
        assert asked(under_way) == {}
        under_way.advance(1.0)
        following = asked(under_way)
        assert {str(asking.request.label) for asking in following.values()} == {NEXT}
        give(under_way, following[OLD], has(OLD, qualifier=".lastedition", of=NEXT), 1.1)
        assert under_way.outcome is None, "everybody who claims the Original is counted"
        under_way.advance(5.0)
        assert chosen(under_way) == OLD


class TestANextEdition:
    def test_of_a_newcomer_is_not_followed_if_another_has_the_original_and_knows_of_none(self) -> None:
        scripts = {
            (OLD, ITEM, "!"): has(OLD, qualifier=".lastedition"),
            (NEW, ITEM, "!"): points(NEW, ibi__nextedition=BOGUS),
            (NEW, BOGUS, "!"): has(NEW, qualifier=".lastedition", of=BOGUS),
        }
        outcome = Scripted(scripts).outcome(f"/{ITEM}!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == OLD

    def test_of_any_archive_is_followed_if_the_other_has_a_copy(self) -> None:
        scripts = {
            (OLD, ITEM, "!"): has(OLD, "Copy", ".lastedition"),
            (NEW, ITEM, "!"): points(NEW, ibi__nextedition=NEXT),
            (NEW, NEXT, "!"): has(NEW, qualifier=".lastedition", of=NEXT),
        }
        outcome = Scripted(scripts).outcome(f"/{ITEM}!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == NEW

    def test_a_next_edition_that_is_the_item_itself_is_none(self) -> None:
        circle = points(NEW, ibi__nextedition=ITEM)
        among_others = Scripted({(NEW, ITEM, "!"): circle, (OLD, ITEM, "!"): has(OLD, qualifier=".lastedition")})
        outcome = among_others.outcome(f"/{ITEM}!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == OLD
        alone = {(NEW, ITEM, modifier): circle for modifier in ("!", "")}
        assert isinstance(Scripted(alone).outcome(f"/{ITEM}!"), LoopDetected)


class TestACopy:
    def test_is_not_the_last_edition_of_something_before_the_item_was_asked(self) -> None:
        """The Archive of the item keeps an old Copy of its translation, of which it does not know the later edition."""
        relation = ".translation(pt).lastedition"
        scripts = {
            (OLD, ITEM, "+(pt)!"): has(OLD, "Copy", relation, **{f"ibi{relation}": f"{{rep {TEXT_PT}}}"}),
            (NEW, TEXT_PT, "!"): points(NEW, of=TEXT_PT, ibi__nextedition=LATER),
            (NEW, LATER, "!"): has(NEW, qualifier=".lastedition", of=LATER),
        }
        outcome = Scripted(scripts).outcome(f"/{ITEM}+(pt)!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == NEW

    def test_is_taken_if_no_archive_has_anything_later(self) -> None:
        relation = ".translation(pt).lastedition"
        scripts = {(OLD, ITEM, "+(pt)!"): has(OLD, "Copy", relation, **{f"ibi{relation}": f"{{rep {TEXT_PT}}}"})}
        outcome = Scripted(scripts, NEW).outcome(f"/{ITEM}+(pt)!")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == OLD

    def test_does_not_settle_for_its_own_language_before_the_item_was_asked(self) -> None:
        """It may have been made before the translation into the reader's language."""
        own = ".lastedition.translation(en)"
        stale = has(OLD, "Copy", own, **{f"ibi{own}": f"{{rep {NEXT}}}", "ibi.lastedition": f"{{rep {NEXT}}}"})
        scripts = {
            (OLD, ITEM, "!+"): stale,
            (NEW, NEXT, "+"): has(NEW, qualifier=".translation(pt)", of=NEXT),
        }
        outcome = Scripted(scripts).outcome(f"/{ITEM}!+", "pt")
        assert isinstance(outcome, Redirect)
        assert outcome.archive == NEW

    def test_waits_for_those_who_were_asked_with_its_archive(self) -> None:
        """Nothing came of the likely one: all others have the same time, counted from when they were asked."""
        known = KnownHolder(holders={parse(ITEM): HOME})
        under_way = resolution(f"/{ITEM}", (HOME, OLD, NEW), routing=known)
        give(under_way, asked(under_way)[HOME], b"", 0.15)
        others = asked(under_way)
        give(under_way, others[NEW], has(NEW, "Copy"), 0.16)
        under_way.advance(0.2)
        assert under_way.outcome is None
        give(under_way, others[OLD], has(OLD), 0.3)
        assert chosen(under_way) == OLD


def test_the_known_holder_is_waited_for_where_only_it_can_tell() -> None:
    """The last edition, and the best translation; anything else is as good from others."""
    for modifier, waits in (("!", True), ("+", True), ("", False), ("+(pt)", False)):
        known = KnownHolder(holders={parse(ITEM): HOME})
        under_way = resolution(f"/{ITEM}{modifier}", (HOME, OLD), "pt", routing=known)
        first = asked(under_way)
        under_way.advance(0.2)
        qualifier = {"!": ".lastedition", "+": ".translation(pt)", "": "", "+(pt)": ".translation(pt)"}[modifier]
        give(under_way, asked(under_way)[OLD], has(OLD, "Copy", qualifier), 0.25)
        under_way.advance(0.45)
        assert (under_way.outcome is None) is waits, modifier
        give(under_way, first[HOME], Failure.UNREACHABLE, 0.5)
        under_way.advance(1.6)
        assert chosen(under_way) == OLD, modifier


def test_a_resolution_with_a_liar_that_points_without_end_ends_with_the_honest_answer() -> None:
    count = iter(range(2000, 9000))

    def liar(request: UrlRequest) -> bytes:
        label = str(request.label)
        return points(OLD, of=label, ibi__nextedition=f"evil.br/arq/{next(count)}/01.01.00.00")

    def honest(request: UrlRequest) -> bytes:
        return has(NEW, qualifier=".lastedition") if str(request.label) == ITEM else b""

    outcome, sent = drive(resolution(f"/{ITEM}!", (OLD, NEW)), {OLD: liar, NEW: honest})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == NEW
    assert len(sent) <= 12
