"""The home's word: who decides about a label, and what becomes of claims without proof (E65 to E70)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ibi.membership.rules.authority import ArchiveRef, StandIn, Word, chain_after
from ibi.resolver.rules.outcome import (
    Deleted,
    Missing,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaims,
    Unsettled,
)
from ibi.resolver.rules.policy import Policy
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Verdict
from ibi.standard.label import Label, parse
from ibi.standard.messages import LabelForms, UrlRequest
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Failure
from tests.support.scripted_archives import CLIENTS, KnownHolder, archive, body, read, resolution

ITEM, NEXT = "lab.br/arq/2009/01.01.00.00", "lab.br/arq/2010/01.01.00.00"
BOGUS = "evil.br/arq/2013/01.01.00.00"
HOME, SECOND = archive("home", registered=30), archive("second", registered=31)
LIAR, OLD_LIAR = archive("liar", registered=40), archive("old-liar", registered=10)
COPY, NEW_HOLDER, LAST_HOLDER = archive("copy", registered=20), archive("new", registered=50), archive("last")
ALL = (OLD_LIAR, COPY, HOME, SECOND, LIAR, NEW_HOLDER, LAST_HOLDER)
LABELS = (parse(ITEM), parse(NEXT))
ROUTING = KnownHolder(homes=dict.fromkeys(LABELS, HOME), included=ALL)
TRUSTING = replace(ROUTING, trusted=frozenset({COPY}))
ORIGINAL = "?ibiurl.requireditemstatus=Original"


def has(who: ArchiveRef, state: str = "Original", relation: str = "", of: str = ITEM) -> bytes:
    pairs = {f"url{relation}": f"http://{who.address}/x", f"contenttype{relation}": "Data", f"state{relation}": state}
    return body(who, f"rep {of}", **pairs)


def points(who: ArchiveRef, of: str = ITEM, **to: str) -> bytes:
    return body(who, f"rep {of}", **{name: f"{{rep {label}}}" for name, label in to.items()})


GONE = body(HOME, f"rep {ITEM}", state="Deleted", timestamp="2020-05-06T07:08:09Z")


class Reply:
    """What an Archive says: `at` seconds after it was asked, with what it tells in headers. None is never. Without a
    word on `final` it is a platform of another make."""

    def __init__(
        self, says: bytes | Failure | None, at: float = 0.01, *, final: bool | None = None, to: Label | None = None
    ) -> None:
        self.says, self.at, self.final, self.to = says, at, final, to


class World:
    """Plays a resolution to its end over Archives that answer with a delay. Each says the same to all, or something by
    label and modifier; what is not scripted is empty."""

    def __init__(self, says: Mapping[ArchiveRef, Any], routing: KnownHolder = ROUTING, **policy: object) -> None:
        self.says, self.routing, self.policy = says, routing, Policy(**policy)  # type: ignore[arg-type]
        self.asked: list[tuple[ArchiveRef, str, str]] = []
        self.now = 0.0

    def outcome(self, url: str = f"/{ITEM}", languages: str = "") -> Outcome:
        run = self.run = resolution(url, tuple(self.says), languages, routing=self.routing, policy=self.policy)
        due: list[tuple[float, int, Asking, Reply]] = []
        while run.outcome is None:
            for asking in run.requests():
                reply = self._reply(asking.archive, asking.request)
                if reply.says is not None:
                    due.append((self.now + reply.at, len(self.asked), asking, reply))
            due.sort(key=lambda each: each[:2])
            if due and due[0][0] <= run.wake_at:
                self.now, _, asking, reply = due.pop(0)
                self._give(run, asking, reply)
            else:
                self.now = run.wake_at
                run.advance(self.now)
        return run.outcome

    def _reply(self, who: ArchiveRef, request: UrlRequest) -> Reply:
        self.asked.append((who, str(request.label), request.relation.modifier))
        says = self.says[who]
        if isinstance(says, Mapping):
            says = says.get((str(request.label), request.relation.modifier), b"")
        return says if isinstance(says, Reply) else Reply(says)

    def _give(self, run: Resolution, asking: Asking, reply: Reply) -> None:
        if isinstance(reply.says, Failure):
            run.failure(asking, reply.says, self.now)
        else:
            assert reply.says is not None
            run.answer(asking, read(reply.says), self.now, final=reply.final, transferred_to=reply.to)

    @property
    def who_was_asked(self) -> set[ArchiveRef]:
        return {who for who, _, _ in self.asked}


def chosen(outcome: Outcome) -> ArchiveRef:
    assert isinstance(outcome, Redirect), outcome
    return outcome.archive


def silent_home(at: float) -> Reply:
    return Reply(Failure.TIMED_OUT, at)


class TestTheHomeAnswers:
    def test_only_the_home_is_asked_if_it_has_the_item(self) -> None:
        world = World({OLD_LIAR: has(OLD_LIAR), HOME: has(HOME)})
        assert chosen(world.outcome()) == HOME
        assert world.who_was_asked == {HOME}

    @pytest.mark.parametrize("delay", [0.01, 0.15, 0.6, 0.9, 2.0, 4.9])
    @pytest.mark.parametrize("liar", [LIAR, OLD_LIAR])
    @pytest.mark.parametrize("modifier", ["", ORIGINAL])
    def test_a_slow_home_is_waited_for_though_others_claim_the_item(
        self, delay: float, liar: ArchiveRef, modifier: str
    ) -> None:
        world = World({liar: has(liar), HOME: Reply(has(HOME), delay)})
        assert chosen(world.outcome(f"/{ITEM}{modifier}")) == HOME

    def test_memory_and_seniority_give_way(self) -> None:
        routing = replace(ROUTING, holders={parse(ITEM): OLD_LIAR}, first=(OLD_LIAR,))
        assert chosen(World({OLD_LIAR: has(OLD_LIAR), HOME: has(HOME)}, routing).outcome()) == HOME

    def test_the_deletion_of_a_home_is_final(self) -> None:
        outcome = World({LIAR: has(LIAR), HOME: Reply(GONE, 0.6), COPY: has(COPY, "Copy")}).outcome()
        assert isinstance(outcome, Deleted)
        assert outcome.by == HOME

    def test_anothers_deletion_is_not_believed(self) -> None:
        gone = body(LIAR, f"rep {ITEM}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
        assert chosen(World({LIAR: gone, HOME: Reply(has(HOME), 1.5)}).outcome()) == HOME
        assert isinstance(World({LIAR: gone, HOME: Failure.UNREACHABLE}).outcome(), NoArchiveAnswered)

    def test_the_word_of_a_home_on_files_is_final(self) -> None:
        world = World({LIAR: has(LIAR), HOME: Reply(body(HOME, f"rep {ITEM}"), 1.2)})
        outcome = world.outcome(f"/{ITEM}/figures/1.png")
        assert isinstance(outcome, RelatedItemMissing)

    def test_the_word_of_a_home_on_editions_is_final(self) -> None:
        home = {(ITEM, "!"): Reply(has(HOME, relation=".lastedition"), 1.2)}
        liar = {(ITEM, "!"): points(LIAR, ibi__nextedition=BOGUS), (BOGUS, "!"): has(LIAR, of=BOGUS)}
        assert chosen(World({LIAR: liar, HOME: home}).outcome(f"/{ITEM}!")) == HOME

    def test_the_word_of_a_home_on_editions_is_final_also_by_a_filtered_answer(self) -> None:
        """Asked for the metadata of the last edition, it gives neither a next edition nor its state."""
        home = {(ITEM, "!:"): Reply(body(HOME, f"rep {ITEM}"), 1.2), (ITEM, ":"): has(HOME, relation=".metadata")}
        liar = {
            (ITEM, "!:"): points(LIAR, ibi__nextedition=BOGUS),
            (BOGUS, "!:"): has(LIAR, relation=".lastedition.metadata", of=BOGUS),
            (ITEM, ":"): has(LIAR, relation=".metadata"),
        }
        assert chosen(World({LIAR: liar, HOME: home}).outcome(f"/{ITEM}!:")) == HOME

    def test_a_next_edition_that_it_names_is_asked_of_its_own_home(self) -> None:
        home = {
            (ITEM, "!"): points(HOME, ibi__nextedition=NEXT),
            (NEXT, "!"): has(HOME, "Original", ".lastedition", NEXT),
        }
        liar = {
            (ITEM, "!"): has(LIAR, relation=".lastedition"),
            (NEXT, "!"): has(LIAR, relation=".lastedition", of=NEXT),
        }
        world = World({LIAR: liar, HOME: home})
        assert chosen(world.outcome(f"/{ITEM}!")) == HOME
        assert world.who_was_asked == {HOME}

    def test_two_homes_of_one_prefix_both_decide(self) -> None:
        routing = replace(ROUTING, homes={parse(ITEM): (HOME, SECOND)})
        for first, second, expected in ((has(HOME), b"", HOME), (b"", has(SECOND), SECOND)):
            assert chosen(World({LIAR: has(LIAR), HOME: first, SECOND: second}, routing).outcome()) == expected
        both = World({HOME: has(HOME), SECOND: has(SECOND)}, routing).outcome(f"/{ITEM}{ORIGINAL}")
        assert isinstance(both, OriginalDisputed)


class TestWhatTheHomeDoesNotOffer:
    RELATION = ".metadata(oai_dc)"

    def test_is_followed_from_who_is_trusted(self) -> None:
        says = {LIAR: has(LIAR, relation=self.RELATION), COPY: has(COPY, "Copy", self.RELATION), HOME: has(HOME)}
        assert chosen(World(says, TRUSTING).outcome(f"/{ITEM}:(oai_dc)")) == COPY

    def test_is_shown_if_a_stranger_claims_to_have_it(self) -> None:
        world = World({LIAR: has(LIAR, relation=self.RELATION), HOME: has(HOME)})
        outcome = world.outcome(f"/{ITEM}:(oai_dc)")
        assert isinstance(outcome, UnprovenClaims)
        assert outcome.why is Unsettled.NOT_OFFERED
        assert [claim.archive for claim in outcome.claims] == [LIAR]
        verdicts = {report.archive: report.verdict for report in world.run.trace.hops[0].reports}
        assert verdicts[LIAR] is Verdict.UNPROVEN

    def test_is_missing_if_no_other_has_it(self) -> None:
        outcome = World({LIAR: b"", HOME: has(HOME)}).outcome(f"/{ITEM}:(oai_dc)")
        assert isinstance(outcome, RelatedItemMissing)


class TestASilentHome:
    SILENCES = (Failure.UNREACHABLE, Failure.RESTING, Failure.MALFORMED, None, silent_home(0.5), silent_home(3.0))

    @pytest.mark.parametrize("silence", SILENCES, ids=range(6))
    @pytest.mark.parametrize("liar", [LIAR, OLD_LIAR])
    @pytest.mark.parametrize("state", ["Original", "Copy"])
    def test_a_claim_of_a_stranger_is_shown(
        self, silence: Failure | Reply | None, liar: ArchiveRef, state: str
    ) -> None:
        world = World({liar: has(liar, state), HOME: silence})
        outcome = world.outcome()
        assert isinstance(outcome, UnprovenClaims)
        assert (outcome.why, outcome.home) == (Unsettled.HOME_SILENT, HOME)
        assert [(claim.archive, claim.url) for claim in outcome.claims] == [(liar, f"http://{liar.address}/x")]
        assert world.run.trace.hops[0].word in (Word.SILENT, Word.AWAITED)
        verdicts = {report.archive: report.verdict for report in world.run.trace.hops[0].reports}
        assert verdicts[liar] is Verdict.UNPROVEN

    def test_a_pointer_of_a_stranger_is_shown_as_a_link(self) -> None:
        liar = {(ITEM, "!"): points(LIAR, ibi__nextedition=BOGUS), (BOGUS, "!"): has(LIAR, of=BOGUS)}
        world = World({LIAR: liar, HOME: Failure.UNREACHABLE})
        outcome = world.outcome(f"/{ITEM}!")
        assert isinstance(outcome, UnprovenClaims)
        (claim,) = outcome.claims
        assert (claim.item, claim.url) == (parse(BOGUS), f"http://urlib.net:80/{BOGUS}!")
        assert {label for _, label, _ in world.asked} == {ITEM}

    @pytest.mark.parametrize("silence", SILENCES, ids=range(6))
    def test_a_trusted_archive_is_followed(self, silence: Failure | Reply | None) -> None:
        world = World({OLD_LIAR: has(OLD_LIAR), COPY: Reply(has(COPY, "Copy"), 0.3), HOME: silence}, TRUSTING)
        assert chosen(world.outcome()) == COPY

    @pytest.mark.parametrize("silence", [Failure.CONNECTION_REFUSED, Failure.RESTING])
    def test_a_copy_that_the_home_named_is_followed_within_the_hedge_delay_and_the_trace_tells_why(
        self, silence: Failure
    ) -> None:
        named = replace(TRUSTING, copy_holders=frozenset({COPY}))
        world = World({LIAR: None, COPY: has(COPY, "Copy"), HOME: silence}, named)
        assert chosen(world.outcome()) == COPY
        assert world.now < 0.3
        (hop,) = world.run.trace.hops
        assert hop.is_failover
        assert {report.archive: report.stands_in for report in hop.reports if report.stands_in} == {COPY: StandIn.COPY}

    def test_a_copy_that_the_home_named_is_followed_after_half_a_second_without_a_word_of_the_home(self) -> None:
        named = replace(TRUSTING, copy_holders=frozenset({COPY}))
        world = World({LIAR: None, COPY: has(COPY, "Copy"), HOME: None}, named)
        assert chosen(world.outcome()) == COPY
        assert 0.5 <= world.now < 0.6
        assert LIAR not in world.who_was_asked
        (hop,) = world.run.trace.hops
        assert {report.archive: report.stands_in for report in hop.reports if report.stands_in} == {COPY: StandIn.COPY}

    def test_a_home_that_speaks_within_half_a_second_is_followed_and_not_a_copy(self) -> None:
        named = replace(TRUSTING, copy_holders=frozenset({COPY}))
        world = World({COPY: has(COPY, "Copy"), HOME: Reply(has(HOME), 0.45)}, named)
        assert chosen(world.outcome()) == HOME

    @pytest.mark.parametrize("says", [has(COPY), Reply(has(COPY, "Copy"), 0.9)])
    def test_what_is_no_copy_or_comes_late_waits_for_the_home_as_before(self, says: bytes | Reply) -> None:
        named = replace(TRUSTING, copy_holders=frozenset({COPY}))
        world = World({COPY: says, HOME: None}, named)
        assert chosen(world.outcome()) == COPY
        assert world.now >= 0.9

    def test_one_that_is_trusted_for_another_reason_waits_for_the_home_as_before(self) -> None:
        world = World({COPY: has(COPY, "Copy"), HOME: None}, TRUSTING)
        assert chosen(world.outcome()) == COPY
        assert world.now >= 1.0

    @pytest.mark.parametrize(("vouched", "why"), [(True, StandIn.VOUCHED), (False, StandIn.APPOINTED)])
    def test_the_trace_tells_for_whom_the_administrator_speaks(self, vouched: bool, why: StandIn) -> None:
        other = replace(COPY, vouched=vouched)
        routing = replace(ROUTING, trusted=frozenset({other}), included=(*ALL, other))
        world = World({other: has(other, "Copy"), HOME: Failure.UNREACHABLE}, routing)
        assert chosen(world.outcome()) == other
        assert [report.stands_in for report in world.run.trace.hops[0].leading] == [why]

    def test_a_home_that_answers_has_no_stand_in(self) -> None:
        world = World({COPY: has(COPY, "Copy"), HOME: has(HOME)}, TRUSTING)
        assert chosen(world.outcome()) == HOME
        assert not world.run.trace.hops[0].is_failover

    def test_a_trusted_archive_is_asked_after_the_hedge_delay_and_others_when_the_home_is_given_up(self) -> None:
        world = World({LIAR: has(LIAR), COPY: Reply(b"", 0.1), HOME: Reply(has(HOME), 0.8)}, TRUSTING)
        assert chosen(world.outcome()) == HOME
        assert world.who_was_asked == {HOME, COPY}

    def test_a_home_that_is_slow_and_has_deleted_the_item_is_waited_for_before_a_trusted_copy(self) -> None:
        world = World({COPY: has(COPY, "Copy"), HOME: Reply(GONE, 0.9)}, TRUSTING)
        assert isinstance(world.outcome(), Deleted)

    def test_nothing_to_show_is_no_archive_answered(self) -> None:
        for url in (f"/{ITEM}", f"/{ITEM}{ORIGINAL}", f"/{ITEM}!"):
            outcome = World({LIAR: b"", HOME: Failure.UNREACHABLE}).outcome(url)
            assert isinstance(outcome, NoArchiveAnswered)
            assert outcome.home == HOME

    def test_an_original_that_is_required_is_shown_only_by_who_claims_it(self) -> None:
        says = {LIAR: has(LIAR), OLD_LIAR: has(OLD_LIAR, "Copy"), HOME: Failure.UNREACHABLE}
        outcome = World(says).outcome(f"/{ITEM}{ORIGINAL}")
        assert isinstance(outcome, UnprovenClaims)
        assert [claim.archive for claim in outcome.claims] == [LIAR]

    def test_a_home_that_is_switched_off_is_not_waited_for(self) -> None:
        routing = replace(ROUTING, homes={}, away={parse(ITEM): HOME.service}, trusted=frozenset({COPY}))
        world = World({LIAR: has(LIAR), COPY: has(COPY, "Copy")}, routing)
        assert chosen(world.outcome()) == COPY
        assert world.now < 0.3
        shown = World({LIAR: has(LIAR)}, routing).outcome()
        assert isinstance(shown, UnprovenClaims)
        assert (shown.home, shown.away) == (None, HOME.service)
        nothing = World({LIAR: b""}, routing).outcome()
        assert isinstance(nothing, NoArchiveAnswered)
        assert nothing.away == HOME.service

    def test_claims_are_followed_where_the_administrator_says_so(self) -> None:
        world = World({LIAR: has(LIAR), HOME: Failure.UNREACHABLE}, follow_unproven=True)
        assert chosen(world.outcome()) == LIAR

    def test_a_home_that_answers_after_a_trusted_pointer_was_followed_is_believed(self) -> None:
        copy = {(ITEM, "!"): points(COPY, ibi__nextedition=BOGUS), (BOGUS, "!"): Reply(has(COPY, of=BOGUS), 3.0)}
        home = {
            (ITEM, "!"): Reply(points(HOME, ibi__nextedition=NEXT), 2.0),
            (NEXT, "!"): has(HOME, relation=".lastedition", of=NEXT),
        }
        assert chosen(World({COPY: copy, HOME: home}, TRUSTING).outcome(f"/{ITEM}!")) == HOME

    def test_a_home_that_answers_late_with_the_pointer_that_was_followed_changes_nothing(self) -> None:
        copy = {(ITEM, "!"): points(COPY, ibi__nextedition=NEXT)}
        home = {
            (ITEM, "!"): Reply(points(HOME, ibi__nextedition=NEXT), 2.0),
            (NEXT, "!"): Reply(has(HOME, relation=".lastedition", of=NEXT), 1.5),
        }
        assert chosen(World({COPY: copy, HOME: home}, TRUSTING).outcome(f"/{ITEM}!")) == HOME


class TestAHomeWithoutTheOriginal:
    """R §5.2: transferred by a platform that does not say where to."""

    @pytest.mark.parametrize("home", [b"", has(HOME, "Copy")], ids=["empty", "Copy"])
    @pytest.mark.parametrize("url", [f"/{ITEM}", f"/{ITEM}{ORIGINAL}"])
    def test_one_claim_is_followed_and_two_are_shown(self, home: bytes, url: str) -> None:
        assert chosen(World({HOME: home, LIAR: has(LIAR), COPY: has(COPY, "Copy")}).outcome(url)) == LIAR
        outcome = World({HOME: home, LIAR: has(LIAR), OLD_LIAR: has(OLD_LIAR)}).outcome(url)
        assert isinstance(outcome, UnprovenClaims)
        assert outcome.why is Unsettled.SEVERAL
        assert {claim.archive for claim in outcome.claims} == {LIAR, OLD_LIAR}

    def test_the_copy_of_a_home_serves_if_no_other_claims_the_original(self) -> None:
        assert chosen(World({HOME: has(HOME, "Copy"), COPY: has(COPY, "Copy")}).outcome()) == HOME

    def test_a_final_empty_answer_is_not_found_and_no_other_is_asked(self) -> None:
        world = World({HOME: Reply(b"", final=True), LIAR: has(LIAR)})
        for url in (f"/{ITEM}", f"/{ITEM}!", f"/{ITEM}{ORIGINAL}", f"/{ITEM}:(oai_dc)"):
            assert isinstance(world.outcome(url), NotFound)
        assert world.who_was_asked == {HOME}

    def test_a_final_word_of_a_stranger_means_nothing(self) -> None:
        assert chosen(World({HOME: b"", LIAR: Reply(b"", final=True), COPY: has(COPY)}).outcome()) == COPY

    @pytest.mark.parametrize(
        ("link", "missing"), [("+(pt)", Missing.TRANSLATION), (":", Missing.METADATA), ("/a.pdf", Missing.FILE)]
    )
    def test_what_the_only_claim_lacks_is_missing_and_the_item_is_not_unknown(
        self, link: str, missing: Missing
    ) -> None:
        outcome = World({HOME: b"", LIAR: body(LIAR, f"rep {ITEM}")}).outcome(f"/{ITEM}{link}")
        assert isinstance(outcome, RelatedItemMissing)
        assert (outcome.missing, outcome.keepers) == (missing, (LIAR,))

    def test_the_last_edition_of_an_item_that_the_only_claim_knows_no_edition_of_is_the_item(self) -> None:
        claim = {(ITEM, "!"): body(LIAR, f"rep {ITEM}"), (ITEM, ""): has(LIAR)}
        assert chosen(World({HOME: b"", LIAR: claim}).outcome(f"/{ITEM}!")) == LIAR

    def test_of_two_claims_without_what_was_asked_for_the_item_is_shown(self) -> None:
        world = World({HOME: b"", LIAR: has(LIAR), OLD_LIAR: has(OLD_LIAR)})
        outcome = world.outcome(f"/{ITEM}+(pt)")
        assert isinstance(outcome, UnprovenClaims)
        assert (outcome.why, len(outcome.claims)) == (Unsettled.SEVERAL, 2)
        assert not any(claim.is_offered for claim in outcome.claims)

    def test_without_any_claim_the_item_is_not_found(self) -> None:
        assert isinstance(World({HOME: b"", LIAR: b""}).outcome(), NotFound)


class TestAHomeThatCannotTell:
    """A home of our make that has nothing says whether it is certain that it never gave the label away (E62)."""

    LINKS = ("", "!", "+", "+(pt)", ":", "!:", ORIGINAL)
    NOTHING = Reply(b"", final=False)

    def says(self, who: ArchiveRef, state: str = "Original") -> dict[tuple[str, str], bytes]:
        """Whatever is asked for."""
        relations = {"": "", "!": ".lastedition", "+": ".translation(pt)", "+(pt)": ".translation(pt)"}
        relations |= {":": ".metadata", "!:": ".lastedition.metadata"}
        return {(ITEM, modifier): has(who, state, relation) for modifier, relation in relations.items()}

    @pytest.mark.parametrize("link", LINKS)
    @pytest.mark.parametrize("liar", [LIAR, OLD_LIAR])
    def test_leaves_a_claim_of_a_stranger_to_be_shown_and_the_trace_says_so(self, link: str, liar: ArchiveRef) -> None:
        world = World({HOME: self.NOTHING, liar: self.says(liar)})
        outcome = world.outcome(f"/{ITEM}{link}", "pt")
        assert isinstance(outcome, UnprovenClaims)
        assert (outcome.why, outcome.home) == (Unsettled.NOT_CERTAIN, HOME)
        assert [claim.archive for claim in outcome.claims] == [liar]
        reports = {report.archive: report for report in world.run.trace.hops[0].reports}
        assert (reports[HOME].verdict, reports[HOME].final) == (Verdict.EMPTY, False)
        assert reports[liar].verdict is Verdict.UNPROVEN

    @pytest.mark.parametrize("link", LINKS)
    def test_leaves_the_way_to_archives_that_are_trusted(self, link: str) -> None:
        world = World({HOME: self.NOTHING, OLD_LIAR: self.says(OLD_LIAR), COPY: self.says(COPY)}, TRUSTING)
        assert chosen(world.outcome(f"/{ITEM}{link}", "pt")) == COPY

    def test_leaves_the_way_to_a_copy_of_an_archive_that_it_named(self) -> None:
        named = replace(TRUSTING, copy_holders=frozenset({COPY}))
        world = World({HOME: self.NOTHING, LIAR: self.says(LIAR), COPY: has(COPY, "Copy")}, named)
        assert chosen(world.outcome()) == COPY

    @pytest.mark.parametrize("link", [*LINKS[1:-1], "/a.pdf", "?ibiurl.verblist=GetFileList"])
    def test_leaves_the_claim_of_an_archive_that_offers_the_item_alone_to_be_shown(self, link: str) -> None:
        for answer in (has(LIAR), body(LIAR, f"rep {ITEM}")):
            if link.startswith(("/", "?")) and b"url" in answer:
                continue
            outcome = World({HOME: self.NOTHING, LIAR: answer}).outcome(f"/{ITEM}{link}", "pt")
            assert isinstance(outcome, UnprovenClaims)
            assert (outcome.why, outcome.label) == (Unsettled.NOT_CERTAIN, parse(ITEM))
            ((archive, url, state, _, is_offered),) = outcome.claims
            assert (archive, url, state, is_offered) == (LIAR, f"http://urlib.net:80/{ITEM}", None, False)

    def test_is_no_word_on_an_item_that_another_claims_without_an_address(self) -> None:
        outcome = World({HOME: self.NOTHING, LIAR: body(LIAR, f"rep {ITEM}")}).outcome()
        assert isinstance(outcome, RelatedItemMissing)
        assert (outcome.missing, outcome.keepers) == (Missing.ADDRESS, (LIAR,))

    def test_follows_no_pointer_of_a_stranger(self) -> None:
        liar = {(ITEM, "!"): points(LIAR, ibi__nextedition=BOGUS), (BOGUS, "!"): has(LIAR, of=BOGUS)}
        world = World({HOME: self.NOTHING, LIAR: liar})
        assert isinstance(world.outcome(f"/{ITEM}!"), UnprovenClaims)
        assert {label for _, label, _ in world.asked} == {ITEM}

    def test_is_not_found_without_any_claim(self) -> None:
        assert isinstance(World({HOME: self.NOTHING, LIAR: b""}).outcome(), NotFound)

    def test_counts_beside_a_home_of_another_make_for_the_same_prefix(self) -> None:
        routing = replace(ROUTING, homes={parse(ITEM): (HOME, SECOND)})
        outcome = World({HOME: self.NOTHING, SECOND: b"", LIAR: has(LIAR)}, routing).outcome()
        assert isinstance(outcome, UnprovenClaims)

    def test_means_nothing_from_a_stranger(self) -> None:
        assert chosen(World({HOME: b"", OLD_LIAR: self.NOTHING, LIAR: has(LIAR)}).outcome()) == LIAR

    def test_is_overruled_where_unproven_claims_are_to_be_followed(self) -> None:
        assert chosen(World({HOME: self.NOTHING, LIAR: has(LIAR)}, follow_unproven=True).outcome()) == LIAR


class TestASuccessor:
    TO = NEW_HOLDER.service.labels[0]

    @pytest.mark.parametrize("kept", [b"", has(HOME, "Copy")], ids=["empty", "Copy"])
    def test_a_successor_that_the_home_names_decides(self, kept: bytes) -> None:
        says = {OLD_LIAR: has(OLD_LIAR), HOME: Reply(kept, to=self.TO), NEW_HOLDER: has(NEW_HOLDER)}
        world = World(says)
        assert chosen(world.outcome()) == NEW_HOLDER
        assert world.who_was_asked == {HOME, NEW_HOLDER}

    def test_a_successor_that_a_stranger_names_does_not_decide(self) -> None:
        says = {LIAR: Reply(b"", to=LIAR.service.labels[0]), HOME: Reply(has(HOME), 1.5)}
        assert chosen(World(says).outcome()) == HOME
        stranger = {
            HOME: b"",
            LIAR: Reply(has(LIAR, "Copy"), to=OLD_LIAR.service.labels[0]),
            NEW_HOLDER: has(NEW_HOLDER),
        }
        assert chosen(World({**stranger, OLD_LIAR: b""}).outcome()) == NEW_HOLDER

    def test_a_known_successor_is_asked_beside_the_home(self) -> None:
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)})
        world = World({HOME: Reply(b"", 0.15, to=self.TO), NEW_HOLDER: has(NEW_HOLDER), LIAR: has(LIAR)}, routing)
        assert chosen(world.outcome()) == NEW_HOLDER
        assert world.who_was_asked == {HOME, NEW_HOLDER}

    @pytest.mark.parametrize(
        "home", [Failure.UNREACHABLE, None, has(HOME), GONE], ids=["dead", "mute", "claims", "gone"]
    )
    def test_a_known_successor_stays_whatever_the_home_claims(self, home: bytes | Failure | None) -> None:
        """A home restored from an older backup takes nothing back."""
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)})
        for url in (f"/{ITEM}", f"/{ITEM}{ORIGINAL}"):
            assert chosen(World({HOME: home, NEW_HOLDER: has(NEW_HOLDER)}, routing).outcome(url)) == NEW_HOLDER

    def test_a_silent_successor_leaves_the_claim_of_the_home_to_be_shown_and_its_copy_to_be_followed(self) -> None:
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)})
        shown = World({HOME: has(HOME), NEW_HOLDER: Failure.UNREACHABLE}, routing).outcome()
        assert isinstance(shown, UnprovenClaims)
        copy = World({HOME: has(HOME, "Copy"), NEW_HOLDER: Failure.UNREACHABLE}, routing).outcome()
        assert chosen(copy) == HOME

    def test_may_name_another(self) -> None:
        last = LAST_HOLDER.service.labels[0]
        says = {
            HOME: Reply(b"", to=self.TO),
            NEW_HOLDER: Reply(b"", to=last),
            LAST_HOLDER: has(LAST_HOLDER),
            LIAR: has(LIAR),
        }
        assert chosen(World(says).outcome()) == LAST_HOLDER

    def test_signed_is_not_replaced_by_what_an_answer_of_the_home_says(self) -> None:
        """E88: an answer is not signed, and may have been changed on its way."""
        known = replace(ROUTING, successors={parse(ITEM): (self.TO,)}, signed=True)
        says = {HOME: Reply(b"", to=LIAR.service.labels[0]), NEW_HOLDER: has(NEW_HOLDER), LIAR: has(LIAR)}
        assert chosen(World(says, known).outcome()) == NEW_HOLDER
        assert chosen(World(says, replace(known, signed=False)).outcome()) == LIAR

    def test_signed_may_name_the_next_until_its_release_is_told(self) -> None:
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)}, signed=True)
        last = LAST_HOLDER.service.labels[0]
        says = {HOME: Reply(b"", to=self.TO), NEW_HOLDER: Reply(b"", to=last), LAST_HOLDER: has(LAST_HOLDER)}
        assert chosen(World(says, routing).outcome()) == LAST_HOLDER

    def test_may_give_the_item_back(self) -> None:
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)})
        says = {HOME: has(HOME), NEW_HOLDER: Reply(b"", to=HOME.service.labels[0]), LIAR: has(LIAR)}
        assert chosen(World(says, routing).outcome()) == HOME

    def test_a_successor_that_has_nothing_lets_no_stranger_in(self) -> None:
        routing = replace(ROUTING, successors={parse(ITEM): (self.TO,)})
        empty = World({HOME: Reply(b"", to=self.TO), NEW_HOLDER: b"", LIAR: has(LIAR)}, routing).outcome()
        assert isinstance(empty, UnprovenClaims)
        assert [claim.archive for claim in empty.claims] == [LIAR]
        back = World({HOME: has(HOME), NEW_HOLDER: b"", LIAR: has(LIAR)}, routing).outcome()
        assert chosen(back) == HOME

    @pytest.mark.parametrize("url", [f"/{ITEM}", f"/{ITEM}{ORIGINAL}", f"/{ITEM}!"])
    def test_a_successor_that_has_nothing_is_no_not_found_while_the_home_is_silent(self, url: str) -> None:
        """E24: one of the two may be about to take the Original back."""
        known = replace(ROUTING, successors={parse(ITEM): (self.TO,)}, signed=True)
        for home in (Failure.UNREACHABLE, None):
            outcome = World({HOME: home, NEW_HOLDER: b"", LIAR: b""}, known).outcome(url)
            assert isinstance(outcome, NoArchiveAnswered)
            assert (outcome.home, outcome.away) == (HOME, None)
        away = replace(known, homes=dict.fromkeys(LABELS, ()), away=dict.fromkeys(LABELS, HOME.service))
        outcome = World({NEW_HOLDER: b"", LIAR: b""}, away).outcome(url)
        assert isinstance(outcome, NoArchiveAnswered)
        assert outcome.away == HOME.service

    def test_a_successor_that_has_nothing_is_a_not_found_if_the_home_has_nothing_either(self) -> None:
        known = replace(ROUTING, successors={parse(ITEM): (self.TO,)}, signed=True)
        assert isinstance(World({HOME: b"", NEW_HOLDER: b"", LIAR: b""}, known).outcome(), NotFound)

    def test_an_earlier_successor_that_is_silent_leaves_it_open(self) -> None:
        last = LAST_HOLDER.service.labels[0]
        known = replace(ROUTING, successors={parse(ITEM): (self.TO, last)}, signed=True)
        says = {HOME: b"", NEW_HOLDER: Failure.UNREACHABLE, LAST_HOLDER: b""}
        outcome = World(says, known).outcome()
        assert isinstance(outcome, NoArchiveAnswered)
        assert outcome.home == NEW_HOLDER

    def test_a_successor_that_is_not_registered_here_cannot_be_asked(self) -> None:
        unknown = parse("elsewhere.org/x/2008/03.17.15.17")
        outcome = World({HOME: Reply(b"", to=unknown), LIAR: b""}).outcome()
        assert isinstance(outcome, NoArchiveAnswered)
        assert outcome.away == LabelForms.of(unknown)

    def test_one_that_a_slow_home_names_late_has_its_time_too(self) -> None:
        """Else the Copy that the home kept would be taken for what the holder has now."""
        named = NEW_HOLDER.service.labels[0]
        world = World({HOME: Reply(has(HOME, "Copy"), 0.8, to=named), NEW_HOLDER: Reply(has(NEW_HOLDER), 0.8)})
        outcome = world.outcome()
        assert isinstance(outcome, Redirect)
        assert outcome.archive == NEW_HOLDER


class TestAChainOfSuccessors:
    HOMES = (HOME.service,)
    A, B, C = (each.service.labels[0] for each in (NEW_HOLDER, LAST_HOLDER, COPY))

    def test_grows_by_the_word_of_the_home_and_of_its_members(self) -> None:
        after = partial(chain_after, homes=self.HOMES)
        assert after((), by=HOME.service, to=self.A) == (self.A,)
        assert after((self.A,), by=NEW_HOLDER.service, to=self.B) == (self.A, self.B)
        assert after((self.A, self.B), by=HOME.service, to=self.A) == (self.A, self.B)
        assert after((self.A, self.B), by=HOME.service, to=self.C) == (self.C,)
        assert after((self.A, self.B), by=NEW_HOLDER.service, to=HOME.service.labels[0]) == ()
        assert after((self.A, self.B), by=LAST_HOLDER.service, to=self.A) == (self.A,)

    def test_does_not_grow_by_the_word_of_others(self) -> None:
        assert chain_after((self.A,), self.HOMES, LIAR.service, LIAR.service.labels[0]) is None
        assert chain_after((), self.HOMES, NEW_HOLDER.service, self.B) is None


class TestALabelOfTheFuture:
    LATER = "lab.br/arq/2031/01.01.00.00"
    TODAY = 1_800_000_000.0

    def run(self, label: str, routing: KnownHolder) -> Resolution:
        return Resolution(
            PersistentUrl.parse(f"/{label}"), (LIAR, HOME), CLIENTS, now=0.0, today=self.TODAY, routing=routing
        )

    def test_is_asked_of_its_home_alone(self) -> None:
        run = self.run(self.LATER, KnownHolder(homes={parse(self.LATER): HOME}))
        (asking,) = run.requests()
        assert asking.archive == HOME
        run.answer(asking, None, 0.1)
        assert isinstance(run.outcome, NotFound)

    def test_is_asked_of_none_without_a_home(self) -> None:
        run = self.run(self.LATER, KnownHolder())
        assert run.requests() == ()
        assert isinstance(run.outcome, NotFound)

    def test_may_be_five_minutes_ahead(self) -> None:
        assert self.run("lab.br/arq/2027/01.15.08.05", KnownHolder()).requests()
        assert not self.run("lab.br/arq/2027/01.15.08.06", KnownHolder()).requests()
