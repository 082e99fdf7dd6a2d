"""E23: editions in a loop, endless chains: a visited set, a limit of hops, a clear alert."""

from __future__ import annotations

from ibi.resolver.rules.outcome import LoopDetected, Redirect
from ibi.resolver.rules.policy import Policy
from ibi.standard.messages import UrlRequest
from tests.support.scripted_archives import Answer, archive, body, drive, resolution, resolve

ONE, OTHER = archive("one"), archive("other")
FIRST, SECOND = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "sid.inpe.br/mtc-m19/2014/09.04.12.27.57"


def circular(request: UrlRequest) -> Answer:
    following = SECOND if str(request.label) == FIRST else FIRST
    return body(ONE, f"rep {request.label}", ibi__nextedition=f"{{rep {following}}}")


def endless(request: UrlRequest) -> Answer:
    year = request.label.spelling.split("/")[2]
    following = request.label.spelling.replace(year, str(int(year) + 1))
    return body(ONE, f"rep {request.label}", ibi__nextedition=f"{{rep {following}}}")


def honest(request: UrlRequest) -> Answer:
    if str(request.label) != FIRST:
        return b""
    pairs = {"url.lastedition": "http://other.example.org/1", "state.lastedition": "Copy"}
    return body(OTHER, f"rep {FIRST}", **pairs, **{"contenttype.lastedition": "Data"})


def test_a_loop_ends_and_its_way_is_told() -> None:
    outcome = resolve(f"{FIRST}!", {ONE: circular})
    assert isinstance(outcome, LoopDetected)
    assert [str(label) for label in outcome.path] == [FIRST, SECOND, FIRST]


def test_an_edition_that_follows_itself_is_a_loop() -> None:
    itself = body(ONE, f"rep {FIRST}", ibi__nextedition=f"{{rep {FIRST}}}")
    assert isinstance(resolve(f"{FIRST}!", {ONE: lambda _: itself}), LoopDetected)


def test_both_forms_of_a_label_are_one_item_once_an_answer_links_them() -> None:
    from ibi.standard.label import RepositoryName, parse

    ibip = "8JMKD3MGP7W/3EPGUE5"
    assert parse(ibip).instant == RepositoryName.parse(FIRST).instant
    linked = body(ONE, f"rep {FIRST} ibip {ibip}", ibi__nextedition=f"{{ibip {ibip}}}")
    outcome, sent = drive(resolution(f"{FIRST}!", (ONE,)), {ONE: lambda _: linked})
    assert isinstance(outcome, LoopDetected)
    assert [asking.request.relation.modifier for asking in sent] == ["!", ""], "the last edition is asked for once"


def test_an_endless_chain_ends_at_the_limit() -> None:
    outcome, sent = drive(resolution(f"{FIRST}!", (ONE,), policy=Policy(most_hops=5)), {ONE: endless})
    assert isinstance(outcome, LoopDetected)
    assert len(sent) == 5


def test_an_archive_that_leads_in_a_circle_does_not_hide_what_others_have() -> None:
    for liar in (circular, endless):
        outcome = resolve(f"{FIRST}!", {ONE: liar, OTHER: honest})
        assert isinstance(outcome, Redirect)
        assert outcome.url == "http://other.example.org/1"
