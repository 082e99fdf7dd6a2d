"""Who answered lately (E20, E31): what is learned from a resolution, and what is not."""

from __future__ import annotations

from ibi.label import parse
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.memory import Memory
from ibi.resolver.resolution import Resolution
from tests.scripted_archives import Answer, Script, archive, body, drive, resolution

REP, SAME_ORIGIN, OTHER = (
    "lab.br/arq/2009/07.21.14.43",
    "lab.br/arq/2010/10.10.10.10",
    "elsewhere.br/arq/2010/10.10.10.10",
)
A, B = archive("a"), archive("b")
KEY = "1414141414-12345678901234"


def item(of: ArchiveRef, state: str = "Original", ibi: str = f"rep {REP}") -> bytes:
    return body(of, ibi, url=f"http://{of.address}/x", contenttype="Data", state=state, urlkey=KEY)


def always(answer: Answer) -> Script:
    return lambda _: answer


def after(answers: dict[ArchiveRef, Answer], url: str = f"/{REP}", memory: Memory | None = None) -> Memory:
    memory = memory or Memory()
    run: Resolution = resolution(url, tuple(answers))
    outcome, _ = drive(run, {each: always(answer) for each, answer in answers.items()})
    memory.learn(run.trace, outcome)
    return memory


def test_whoever_had_the_item_is_likely_to_have_it_and_others_of_its_origin() -> None:
    memory = after({A: b"", B: item(B)})
    assert memory.likely(parse(REP)) == (B,)
    assert memory.likely(parse(SAME_ORIGIN)) == (B,)
    assert memory.likely(parse(OTHER)) == ()


def test_the_original_that_was_chosen_has_a_holder_and_a_copy_has_none() -> None:
    assert after({A: item(A)}).holder(parse(REP)) == A
    assert after({A: item(A, "Copy")}).holder(parse(REP)) is None


def test_one_who_claims_what_another_claims_is_not_believed() -> None:
    original = f"/{REP}?ibiurl.requireditemstatus=Original"
    assert after({A: item(A), B: item(B)}, original).holder(parse(REP)) is None
    known = after({A: item(A)})
    assert after({A: item(A), B: item(B)}, original, known).holder(parse(REP)) is None


def test_a_known_holder_is_not_replaced_by_whoever_says_so() -> None:
    memory = after({A: item(A)})
    assert after({B: item(B)}, memory=memory).holder(parse(REP)) == A


def test_a_holder_that_has_nothing_any_more_is_forgotten() -> None:
    memory = after({A: item(A)})
    after({A: b"", B: item(B)}, memory=memory)
    assert memory.holder(parse(REP)) == B
    assert memory.likely(parse(REP)) == (B,)


def test_no_label_is_learned_that_was_not_asked_for() -> None:
    """An answer may name another form, and so another's item, beside the one that was asked for."""
    memory = after({A: item(A, ibi=f"rep {REP} ibip 8JMKD3MGP8W/35MMLL8")})
    assert memory.holder(parse(REP)) == A
    assert memory.holder(parse("8JMKD3MGP8W/35MMLL8")) is None


def test_the_home_of_an_origin_is_who_holds_an_original_of_it() -> None:
    assert after({A: item(A)}).home(parse(SAME_ORIGIN)) == A
    assert after({A: item(A, "Copy")}).home(parse(SAME_ORIGIN)) is None


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    memory = Memory(most_labels=2, most_prefixes=1)
    labels = [f"lab{number}.br/arq/2009/07.21.14.43" for number in range(3)]
    for label in labels:
        after({A: item(A, ibi=f"rep {label}")}, f"/{label}", memory)
    assert [memory.holder(parse(label)) for label in labels] == [None, A, A]
    assert [memory.likely(parse(label)) for label in labels] == [(), (A,), (A,)]
