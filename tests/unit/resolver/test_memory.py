"""Who answered lately (E20, E31): what is learned from a resolution, and what is not."""

from __future__ import annotations

from dataclasses import replace

from ibi.membership.rules.authority import ArchiveRef, Homes, LabelAuthority
from ibi.resolver.ports import HOLDER_AGE
from ibi.resolver.rules.memory import PROVISIONAL_AGE, Memory
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from ibi.standard.reply import Failure
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import Answer, Script, archive, body, drive, resolution

REP, SAME_ORIGIN, OTHER = (
    "lab.br/arq/2009/07.21.14.43",
    "lab.br/arq/2010/10.10.10.10",
    "elsewhere.br/arq/2010/10.10.10.10",
)
A, B = archive("a"), archive("b")
HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2000/01.01.00.00")), "home.example.org", registered=50)
TODAY = 1_800_000_000
KEY = "1414141414-12345678901234"


def item(of: ArchiveRef, state: str = "Original", ibi: str = f"rep {REP}") -> bytes:
    return body(of, ibi, url=f"http://{of.address}/x", contenttype="Data", state=state, urlkey=KEY)


def always(answer: Answer) -> Script:
    return lambda _: answer


def after(answers: dict[ArchiveRef, Answer], url: str = f"/{REP}", memory: Memory | None = None) -> Memory:
    memory = memory or Memory(MemoryBeliefs())
    memory.include(tuple(answers), Homes.of_archives(answers), TODAY)
    run: Resolution = resolution(url, tuple(answers), routing=memory)
    outcome, _ = drive(run, {each: always(answer) for each, answer in answers.items()})
    memory.learn(run.trace, outcome, 0.0)
    return memory


def test_an_archive_that_had_the_item_is_likely_to_have_it_and_others_of_its_origin() -> None:
    memory = after({A: b"", B: item(B)})
    assert memory.likely(parse(REP), 0.0) == (B,)
    assert memory.likely(parse(SAME_ORIGIN), 0.0) == (B,)
    assert memory.likely(parse(OTHER), 0.0) == ()


def test_the_original_that_was_chosen_has_a_holder_and_a_copy_has_none() -> None:
    assert after({A: item(A)}).holder(parse(REP)) == A
    assert after({A: item(A, "Copy")}).holder(parse(REP)) is None


def test_of_two_that_claim_the_original_neither_is_its_holder() -> None:
    original = f"/{REP}?ibiurl.requireditemstatus=Original"
    assert after({A: item(A), B: item(B)}, original).holder(parse(REP)) is None


def test_a_holder_loses_nothing_by_what_another_claims() -> None:
    """Otherwise anybody would take an item from its holder by claiming it, and asking for the Original himself."""
    known = after({A: item(A)})
    after({A: item(A), B: item(B)}, f"/{REP}?ibiurl.requireditemstatus=Original", known)
    assert known.holder(parse(REP)) == A


def test_a_holder_that_says_it_has_a_copy_is_the_holder_no_more() -> None:
    memory = after({A: item(A)})
    after({A: item(A, "Copy"), B: item(B)}, memory=memory)
    assert memory.holder(parse(REP)) == B


def test_a_label_has_the_homes_of_its_prefix_and_no_holder() -> None:
    shared = replace(HOME, service=LabelForms.of(parse("lab.br/arq@80/2001/01.01.00.00")), address="shared.example.org")
    memory = Memory(MemoryBeliefs())
    memory.include((A, HOME, shared), Homes.of_archives((A, HOME, shared)), TODAY)
    assert memory.authority(parse(REP)).homes == (HOME, shared)
    assert memory.authority(parse(REP.replace("arq", "arq.80"))).homes == (HOME, shared)
    assert memory.authority(parse(REP.replace("arq", "arq.8080"))).homes == ()
    assert not memory.authority(parse(OTHER)).exists


def test_a_holder_that_was_learned_yields_to_a_home_that_is_registered_later() -> None:
    memory = after({A: item(A)})
    assert memory.authority(parse(REP)).holder == A
    memory.include((A, HOME), Homes.of_archives((A, HOME)), TODAY)
    assert memory.authority(parse(REP)) == LabelAuthority(homes=(HOME,))


def test_a_holder_is_forgotten_after_a_day() -> None:
    memory = after({A: item(A)})
    for seconds, holder in ((HOLDER_AGE - 1, A), (HOLDER_AGE, None)):
        memory.include((A,), Homes.of_archives((A,)), TODAY + seconds)
        assert memory.holder(parse(REP)) == holder


def test_nothing_is_remembered_of_one_that_is_followed_because_the_home_has_nothing() -> None:
    memory = after({HOME: b"", B: item(B)})
    assert memory.holder(parse(REP)) is None
    assert memory.likely(parse(REP), 0.0) == ()


def test_a_newcomer_that_is_quicker_than_the_others_is_asked_first_for_a_while_and_is_no_holder() -> None:
    newcomer = replace(B, registered=100)
    memory = after({newcomer: item(newcomer), A: Failure.TIMED_OUT})
    assert memory.holder(parse(REP)) is None
    assert memory.likely(parse(REP), PROVISIONAL_AGE - 1) == (newcomer,)
    assert memory.likely(parse(REP), PROVISIONAL_AGE) == ()


def test_a_copy_that_was_found_while_others_were_silent_is_asked_first_for_a_while() -> None:
    memory = after({A: item(A, "Copy"), B: Failure.TIMED_OUT})
    assert memory.likely(parse(REP), PROVISIONAL_AGE - 1) == (A,)
    assert memory.likely(parse(REP), PROVISIONAL_AGE) == ()
    heard = after({A: item(A, "Copy"), B: b""})
    assert heard.likely(parse(REP), PROVISIONAL_AGE) == (A,)


def test_a_known_holder_that_is_switched_off_is_not_replaced_by_another_that_claims_the_item() -> None:
    memory = after({A: item(A)})
    assert after({B: item(B)}, memory=memory).holder(parse(REP)) is None
    memory.include((A, B), Homes.of_archives((A, B)), TODAY)
    assert memory.holder(parse(REP)) == A


def test_a_holder_that_has_nothing_any_more_is_forgotten() -> None:
    memory = after({A: item(A)})
    after({A: b"", B: item(B)}, memory=memory)
    assert memory.holder(parse(REP)) == B
    assert memory.likely(parse(REP), 0.0) == (B,)


def test_no_label_is_learned_that_was_not_asked_for() -> None:
    """An answer may name another form, and so another's item, beside the one that was asked for."""
    memory = after({A: item(A, ibi=f"rep {REP} ibip 8JMKD3MGP8W/35MMLL8")})
    assert memory.holder(parse(REP)) == A
    assert memory.holder(parse("8JMKD3MGP8W/35MMLL8")) is None


def test_the_home_of_an_origin_is_who_holds_an_original_of_it() -> None:
    assert after({A: item(A)}).expected_archive(parse(SAME_ORIGIN)) == A
    assert after({A: item(A, "Copy")}).expected_archive(parse(SAME_ORIGIN)) is None


def test_hints_that_were_not_used_for_longest_are_forgotten_first_and_holders_are_not() -> None:
    memory = Memory(MemoryBeliefs(), most_labels=2, most_prefixes=1)
    labels = [f"lab{number}.br/arq/2009/07.21.14.43" for number in range(3)]
    for label in labels:
        after({A: item(A, ibi=f"rep {label}")}, f"/{label}", memory)
    assert [memory.holder(parse(label)) for label in labels] == [A, A, A]
    assert [memory.likely(parse(label), 0.0) for label in labels] == [(), (A,), (A,)]
