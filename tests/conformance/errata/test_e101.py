"""E101: compositions of R Table 8.2 through Archives that know single relations and filter the rest (R Example 9.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.answers import Reason
from ibi.resolver.rules.outcome import Missing, NoArchiveAnswered, Outcome, Redirect, RelatedItemMissing
from ibi.resolver.rules.policy import Policy
from ibi.resolver.rules.question import Asking
from ibi.standard.label import Label, parse
from ibi.standard.messages import UrlRequest
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation
from ibi.standard.reply import Failure
from tests.support.scripted_archives import Answer, KnownHolder, archive, body, drive, resolution

A, B = archive("a", registered=1), archive("b", registered=2)
MODIFIERS = ("!", "+", ":", "!+", "!:", "!+:", "!:+", "!+:+", "+!", "+:", "+!:", "+:+", "+!:+", ":+")
"""The fourteen of R Table 8.2."""
TEXTS = ("1en", "1pt", "2en", "2pt")
"""Two editions in two languages; each has metadata in two languages, which are items as well."""
NAMES = (*TEXTS, *(f"{text}:{language}" for text in TEXTS for language in ("en", "pt")))
LABELS = {name: f"lab.br/arq/20{10 + number}/01.01.00.00" for number, name in enumerate(NAMES)}
SHARES: Mapping[str, Callable[[str], ArchiveRef]] = {
    "in one Archive": lambda name: A,
    "editions apart": lambda name: A if name[0] == "1" else B,
    "languages apart": lambda name: A if name[1:3] == "en" else B,
    "metadata apart": lambda name: B if ":" in name else A,
}


def led_to(name: str, modifier: str, language: str = "pt") -> str:
    """Step by step, as the table says."""
    for step in modifier.replace("(pt)", ""):
        text, _, about = name.partition(":")
        if step == "!":
            name = f"2{text[1:]}"
        elif step == ":":
            name = f"{text}:en"
        else:
            name = f"{text}:{language}" if about else f"{text[0]}{language}"
    return name


@dataclass(frozen=True)
class Single:
    """An Archive that knows single relations, and answers with those alone that were asked for."""

    who: ArchiveRef
    keeper: Callable[[str], ArchiveRef]
    names_next: bool = True
    """Whether the next edition is left in answers about the last one."""
    metadata_are_items: bool = True
    languages: tuple[str, ...] = ("en", "pt")

    def __call__(self, request: UrlRequest) -> Answer:
        name = next((each for each, label in LABELS.items() if label == str(request.label)), None)
        if name is None or self.keeper(name) != self.who:
            return b""
        pairs: dict[str, str] = {}
        for relation, related in self.known(name):
            if request.relation.matches(Relation.from_modifier(relation)):
                pairs |= self.entry(Relation.from_modifier(relation).qualifier, related)
        if self.names_next and request.relation.modifier == "!" and name[0] == "1":
            pairs["ibi.nextedition"] = f"{{rep {LABELS[f'2{name[1:]}']}}}"
        pairs.pop("ibi", None)
        return body(self.who, f"rep {LABELS[name]}", **pairs)

    def known(self, name: str) -> Iterator[tuple[str, str]]:
        yield "", name
        if ":" not in name:
            yield "!", led_to(name, "!")
            yield ":", led_to(name, ":")
        if ":" not in name or self.metadata_are_items:
            for language in self.languages:
                yield f"+({language})", led_to(name, "+", language)

    def entry(self, qualifier: str, name: str) -> dict[str, str]:
        has_item = ":" not in name or self.metadata_are_items
        pairs = {f"ibi{qualifier}": f"{{rep {LABELS[name]}}}"} if has_item else {}
        if self.keeper(name) == self.who or not has_item:
            pairs |= {f"url{qualifier}": url_of(name, self.who), f"contenttype{qualifier}": "Data"}
            pairs |= {f"state{qualifier}": "Original"}
        return pairs


def url_of(name: str, who: ArchiveRef) -> str:
    return f"http://{who.address}/{name.replace(':', '-about-')}"


def asked(
    modifier: str, archives: Mapping[ArchiveRef, Callable[[UrlRequest], Answer]], *, home: bool = False, more: str = ""
) -> tuple[Outcome, list[Asking]]:
    homes: dict[Label, ArchiveRef | tuple[ArchiveRef, ...]] = {parse(label): (A, B) for label in LABELS.values()}
    routing = KnownHolder(homes=homes, included=(A, B)) if home else KnownHolder()
    run = resolution(f"/{LABELS['1en']}{modifier}{more}", tuple(archives), "pt", routing=routing)
    outcome, sent = drive(run, archives)
    assert len(sent) <= Policy().most_questions * len(archives)
    times = Counter((each.archive, str(each.request.label), each.request.relation) for each in sent)
    assert max(times.values()) <= 2  # once for a beginning, and once for itself
    return outcome, sent


@pytest.mark.parametrize("modifier", [*MODIFIERS, "+(pt)!", "+(pt)!:", "!+(pt)", "!:+(pt)", "+(pt):+(pt)"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("names_next", "home", "original"), list(product([True, False], repeat=3)))
def test_every_composition_leads_where_the_table_says(
    modifier: str, share: str, names_next: bool, home: bool, original: bool
) -> None:
    keeper = SHARES[share]
    archives = {who: Single(who, keeper, names_next) for who in (A, B)}
    more = "?ibiurl.requireditemstatus=Original" if original else ""
    outcome, _ = asked(modifier, archives, home=home, more=more)
    assert isinstance(outcome, Redirect), outcome
    name = led_to("1en", modifier)
    assert outcome.url == url_of(name, keeper(name))


@pytest.mark.parametrize("modifier", MODIFIERS)
def test_metadata_that_are_no_items_are_given_untranslated(modifier: str) -> None:
    archives = {A: Single(A, lambda name: A, metadata_are_items=False)}
    outcome, _ = asked(modifier, archives)
    assert isinstance(outcome, Redirect), outcome
    assert outcome.url == url_of(led_to("1en", modifier.replace(":+", ":")), A)


@pytest.mark.parametrize("modifier", [each for each in MODIFIERS if "+" in each])
def test_a_language_that_is_nowhere_leads_to_the_text_itself(modifier: str) -> None:
    archives = {A: Single(A, lambda name: A, languages=("en",))}
    outcome, _ = asked(modifier, archives)
    assert isinstance(outcome, Redirect), outcome
    assert outcome.url == url_of(led_to("1en", modifier, "en"), A)


@pytest.mark.parametrize("modifier", ["+(pt)!", "+(pt):", "!+(pt)", "!+(pt):+", ":+(pt)"])
def test_a_named_language_that_is_nowhere_is_said_to_be_missing(modifier: str) -> None:
    outcome, sent = asked(modifier, {A: Single(A, lambda name: A, languages=("en",))})
    assert isinstance(outcome, RelatedItemMissing), outcome
    assert outcome.missing is Missing.TRANSLATION
    assert len(sent) <= 16


def test_the_trace_tells_that_the_beginning_was_asked_for() -> None:
    archives = {A: Single(A, lambda name: A)}
    run = resolution(f"/{LABELS['1en']}+(pt)!", (A,))
    drive(run, archives)
    hops = [(str(hop.label), hop.relation.modifier, hop.reason) for hop in run.trace.hops]
    assert hops == [
        (LABELS["1en"], "+(pt)!", Reason.GIVEN),
        (LABELS["1en"], "+(pt)", Reason.BEGINNING),
        (LABELS["1pt"], "!", Reason.PREFIX),
    ]


def test_an_archive_that_names_the_way_itself_is_asked_no_more_than_before() -> None:
    def whole(request: UrlRequest) -> Answer:
        if str(request.label) == LABELS["1pt"]:
            return body(A, f"rep {LABELS['1pt']}", url__lastedition="http://a.example.org/x",
                        contenttype__lastedition="Data", state__lastedition="Original")  # fmt: skip
        return body(A, f"rep {LABELS['1en']}", **{"ibi.translation(pt)": f"{{rep {LABELS['1pt']}}}"})

    outcome, sent = asked("+(pt)!", {A: whole})
    assert isinstance(outcome, Redirect)
    assert [each.request.relation.modifier for each in sent] == ["+(pt)!", "!"]


def test_beginnings_that_lead_in_a_circle_come_to_an_end() -> None:
    """Each item is the other's translation, and no item is any other's last edition."""

    def circle(request: UrlRequest) -> Answer:
        here, there = LABELS["1en"], LABELS["1pt"]
        if str(request.label) == there:
            here, there = there, here
        if request.relation.modifier in ("+(pt)", "+"):
            return body(A, f"rep {here}", **{"ibi.translation(pt)": f"{{rep {there}}}"})
        return body(A, f"rep {here}")

    for modifier in (each.replace("+", "+(pt)") for each in MODIFIERS):
        outcome, sent = asked(modifier, {A: circle})
        assert isinstance(outcome, RelatedItemMissing), (modifier, outcome)
        assert len(sent) <= 48


def test_a_later_edition_that_the_beginning_named_is_not_passed_over() -> None:
    """The later edition is nowhere: the earlier one is not given for it."""

    def names_next(request: UrlRequest) -> Answer:
        if str(request.label) != LABELS["1en"]:
            return b""
        if request.relation.modifier == "!":
            return body(A, f"rep {LABELS['1en']}", **{"ibi.nextedition": f"{{rep {LABELS['2en']}}}"})
        pairs = {
            "url.metadata": "http://a.example.org/m",
            "contenttype.metadata": "Metadata",
            "state.metadata": "Original",
        }
        return body(A, f"rep {LABELS['1en']}", **(pairs if request.relation.modifier == ":" else {}))

    outcome, _ = asked("!:", {A: names_next})
    assert isinstance(outcome, RelatedItemMissing), outcome
    assert outcome.missing is Missing.ITEM


@pytest.mark.parametrize("says", [b"", Failure.TIMED_OUT, Failure.MALFORMED], ids=["empty", "silent", "malformed"])
@pytest.mark.parametrize("home", [True, False])
def test_an_archive_that_fails_at_the_beginning_fails_no_resolution(says: Answer, home: bool) -> None:
    """Until then it had the item; what it has of it without the composition is given."""

    def breaks_off(request: UrlRequest) -> Answer:
        if request.relation.modifier in ("!:", "+(pt)!"):
            return body(A, f"rep {LABELS['1en']}")
        if request.relation.modifier == ":":
            pairs = {
                "url.metadata": "http://a.example.org/m",
                "contenttype.metadata": "Metadata",
                "state.metadata": "Original",
            }
            return body(A, f"rep {LABELS['1en']}", **pairs)
        return says

    for modifier, expected in (("!:", Redirect), ("+(pt)!", RelatedItemMissing | NoArchiveAnswered)):
        outcome, _ = asked(modifier, {A: breaks_off, B: lambda _: b""}, home=home)
        assert isinstance(outcome, expected), (modifier, outcome)


def test_what_is_read_back_is_what_was_asked() -> None:
    assert {PersistentUrl.parse(f"/{LABELS['1en']}{each}").relation.modifier for each in MODIFIERS} == set(MODIFIERS)
