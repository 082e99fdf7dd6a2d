"""Outcomes kept (E32): by all that they depend on, no longer than allowed, and never silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.resolver.rules.answers import Match
from ibi.resolver.rules.basis import Basis
from ibi.resolver.rules.caching import LONGEST, NEGATIVE_AGE, Cache, OutcomeKey
from ibi.resolver.rules.outcome import (
    Deleted,
    LoopDetected,
    Missing,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    Silence,
)
from ibi.resolver.rules.outcome import redirect as made
from ibi.standard.label import parse
from ibi.standard.label.search import home_prefix
from ibi.standard.language_choice import preferences
from ibi.standard.messages import ip_addresses
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation
from tests.support.scripted_archives import archive, body, resolve

REP = "lab.br/arq/2009/07.21.14.43"
LABEL = parse(REP)
A, B = archive("a"), archive("b")
HEARD, SILENT = Silence(2), Silence(2, (B,))
BASE = "http://urlib.net:80/"
ONE, TWO = ip_addresses("192.0.2.1"), ip_addresses("2001:db8::7 192.0.2.9")


def redirect(**more: str) -> Redirect:
    found = body(A, f"rep {REP}", url=f"http://{A.address}/x", contenttype="Data", state="Original", **more)
    outcome = resolve(f"/{REP}", {A: lambda _: found})
    assert isinstance(outcome, Redirect)
    return outcome


def wish(target: str = f"/{REP}", languages: str = "") -> OutcomeKey:
    return OutcomeKey.of(PersistentUrl.parse(target), preferences(languages))


@pytest.mark.parametrize(
    "target",
    [
        f"/{REP.upper()}",
        f"/{REP}:",
        f"/{REP}!",
        f"/{REP}/b.txt",
        f"/{REP}?ibiurl.verblist=GetFileList",
        f"/{REP}?ibiurl.requireditemstatus=Original",
        f"/{REP}+(pt)",
    ],
)
def test_another_wish_is_another_outcome(target: str) -> None:
    assert wish(target) != wish()


def test_languages_matter_only_where_one_is_to_be_chosen() -> None:
    assert wish(languages="pt") == wish(languages="en")
    assert wish(f"/{REP}+(pt)", "pt") == wish(f"/{REP}+(pt)", "en")
    assert wish(f"/{REP}+", "pt") != wish(f"/{REP}+", "en")
    assert wish(f"/{REP}+?ibiurl.language=es", "pt") == wish(f"/{REP}+?ibiurl.language=es", "en")
    assert wish(f"/{REP}+?ibiurl.language=es", "pt") != wish(f"/{REP}+?ibiurl.language=en", "pt")


def test_the_readers_own_pairs_are_no_part_of_it() -> None:
    assert wish(f"/{REP}?page=2") == wish()


def test_a_url_is_kept_as_long_as_allowed() -> None:
    cache = Cache()
    assert cache.keep(wish(), redirect(), 10, 100.0) == 10
    found = cache.find(wish(), 109.9)
    assert found is not None
    assert isinstance(found.found, Match)
    assert found.seconds_left(104.5) == 5
    assert cache.find(wish(), 110.0) is None
    assert len(cache) == 0


@pytest.mark.parametrize("key", [{"urlkey": "1424636122"}, {}], ids=["thanked", "not thanked"])
@pytest.mark.parametrize(
    "target", [f"/{REP}", f"/{REP}?page=2", f"/{REP}?{'a' * 600}=1"], ids=["plain", "pair", "long"]
)
def test_every_reader_gets_the_redirect_of_his_own_link_in_his_own_name(target: str, key: dict[str, str]) -> None:
    """Whatever of it was made before: for the same link, for another one, or at another resolver."""
    cache = Cache()
    cache.keep(wish(), redirect(**key), 10, 0.0)
    kept = cache.find(wish(), 0.0)
    assert kept is not None
    assert isinstance(kept.found, Match)
    url, other = PersistentUrl.parse(target), PersistentUrl.parse(f"/{REP}?other")
    readers = [(url, BASE, ONE), (url, BASE, TWO), (other, BASE, TWO), (url, BASE, ONE), (url, "http://b.br:80/", ONE)]
    for link, base, clients in readers:
        assert kept.outcome(link, base, clients) == made(link, base, clients, kept.found)


def test_a_kept_not_found_is_the_same_for_every_reader() -> None:
    cache, nothing = Cache(), NotFound(LABEL, HEARD)
    cache.keep(wish(), nothing, 0, 0.0)
    kept = cache.find(wish(), 0.0)
    assert kept is not None
    assert kept.outcome(PersistentUrl.parse(f"/{REP}"), BASE, ONE) is nothing


def test_nothing_is_kept_without_leave_nor_for_ever() -> None:
    cache = Cache()
    assert cache.keep(wish(), redirect(), 0, 0.0) == 0
    assert cache.find(wish(), 0.0) is None
    assert cache.keep(wish(), redirect(), 10**9, 0.0) == LONGEST


@pytest.mark.parametrize(
    ("outcome", "age"),
    [
        (NotFound(LABEL, HEARD), NEGATIVE_AGE),
        (NotFound(LABEL, SILENT), 0),
        (RelatedItemMissing(LABEL, LABEL, Relation.ITSELF, Missing.FILE, (), HEARD), NEGATIVE_AGE),
        (RelatedItemMissing(LABEL, LABEL, Relation.ITSELF, Missing.FILE, (), SILENT), 0),
        (OriginalNotFound(LABEL, (A,), HEARD), NEGATIVE_AGE),
        (OriginalNotFound(LABEL, (A,), SILENT), 0),
        (Deleted(LABEL, A, None, ()), NEGATIVE_AGE),
        (OriginalDisputed(LABEL, (A, B)), 0),
        (LoopDetected(LABEL, (LABEL, LABEL)), 0),
        (NoArchiveAnswered(LABEL, SILENT, None, timed_out=False), 0),
    ],
)
def test_a_not_found_is_kept_for_a_moment_if_all_archives_answered(outcome: Outcome, age: int) -> None:
    cache = Cache()
    assert cache.keep(wish(), outcome, 300, 0.0) == age
    found = cache.find(wish(), 0.0)
    assert (None if found is None else found.found) == (outcome if age else None)


def test_what_is_found_takes_the_place_of_nothing_and_the_other_way_round() -> None:
    cache = Cache()
    cache.keep(wish(), NotFound(LABEL, HEARD), 0, 0.0)
    cache.keep(wish(), redirect(), 10, 1.0)
    found = cache.find(wish(), 1.0)
    assert found is not None
    assert isinstance(found.found, Match)
    cache.keep(wish(), NotFound(LABEL, HEARD), 0, 2.0)
    found = cache.find(wish(), 2.0)
    assert found is not None
    assert isinstance(found.found, NotFound)


def test_links_that_lead_nowhere_drive_out_none_that_lead_somewhere() -> None:
    cache = Cache(most=1, most_negative=2)
    cache.keep(wish(), redirect(), 100, 0.0)
    for number in range(5):
        cache.keep(wish(f"/{REP}/{number}"), NotFound(LABEL, HEARD), 0, 0.0)
    assert cache.find(wish(), 0.0) is not None
    assert len(cache) == 3


# --- what is forgotten, and what is not ---

OTHER = parse("lab.br/arq/2011/11.11.11.11")


def kept_with(basis: Basis, *, absent: tuple[ArchiveRef, ...] = ()) -> Cache:
    """A cache with one outcome, among the Archives A and those that are absent by now."""
    cache = Cache()
    cache.enter((A, *absent), Homes(), 0.0)
    cache.enter((A,), Homes(), 1.0)
    cache.keep(wish(), redirect(), 100, 2.0, lambda: basis)
    assert len(cache) == 1
    return cache


ON_LABEL = Basis(frozenset({LABEL}), frozenset({A}), (LABEL,))
FORGETTING: dict[str, tuple[Basis, Callable[[Cache], None], int]] = {
    "the item changed": (ON_LABEL, lambda cache: cache.forget_labels([LABEL], 3.0), 0),
    "another item changed": (ON_LABEL, lambda cache: cache.forget_labels([OTHER], 3.0), 1),
    "relations changed": (ON_LABEL, lambda cache: cache.forget_relations(A, 3.0), 1),
    "relations changed, and it is one": (
        ON_LABEL._replace(related=True),
        lambda cache: cache.forget_relations(A, 3.0),
        0,
    ),
    "relations of another Archive": (
        ON_LABEL._replace(related=True),
        lambda cache: cache.forget_relations(B, 3.0),
        1,
    ),
    "its Archive left": (ON_LABEL, lambda cache: cache.enter((), Homes(), 3.0), 0),
    "another Archive joined": (ON_LABEL, lambda cache: cache.enter((A, B), Homes(), 3.0), 1),
    "another Archive joined that may know better": (
        ON_LABEL._replace(homeless=True),
        lambda cache: cache.enter((A, B), Homes(), 3.0),
        0,
    ),
    "its prefix has a home": (
        ON_LABEL,
        lambda cache: cache.enter((A,), Homes([(Home(A.service, A), [home_prefix(LABEL)])]), 3.0),
        0,
    ),
    "another prefix has a home": (
        ON_LABEL,
        lambda cache: cache.enter((A,), Homes([(Home(A.service, A), ["elsewhere.br/x"])]), 3.0),
        1,
    ),
    "its Archive tells that it changed": (ON_LABEL, lambda cache: cache.forget_told(A, [LABEL], 3.0), 0),
    "another Archive tells that it changed": (ON_LABEL, lambda cache: cache.forget_told(B, [LABEL], 3.0), 1),
    "another Archive tells so that may know better": (
        ON_LABEL._replace(homeless=True),
        lambda cache: cache.forget_told(B, [LABEL], 3.0),
        0,
    ),
    "its Archive is not followed any more": (ON_LABEL, lambda cache: cache.forget_archive(A, 3.0), 0),
    "everything": (ON_LABEL, lambda cache: cache.forget_all(3.0), 0),
}


@pytest.mark.parametrize(("basis", "happens", "left"), FORGETTING.values(), ids=FORGETTING)
def test_what_rests_on_what_changed_is_forgotten_and_nothing_else(
    basis: Basis, happens: Callable[[Cache], None], left: int
) -> None:
    cache = kept_with(basis)
    happens(cache)
    assert len(cache) == left


def test_an_archive_that_comes_and_goes_costs_nothing_that_was_kept_while_it_was_there() -> None:
    cache = Cache()
    cache.enter((A, B), Homes(), 0.0)
    cache.keep(wish(), redirect(), 100, 0.0, lambda: ON_LABEL._replace(homeless=True))
    for time in range(1, 10, 2):
        cache.enter((A,), Homes(), float(time))
        cache.enter((A, B), Homes(), time + 1.0)
    assert len(cache) == 1


def test_what_was_kept_in_the_absence_of_an_archive_goes_when_it_comes_back() -> None:
    cache = kept_with(ON_LABEL._replace(homeless=True), absent=(B,))
    cache.enter((A, B), Homes(), 3.0)
    assert len(cache) == 0


def test_the_cache_knows_on_whose_word_something_rests_that_is_kept() -> None:
    cache = Cache()
    cache.keep(wish(), redirect(), 60, now=100.0, basis=lambda: Basis(archives=frozenset({A})))
    assert [cache.rests_on(each, at) for each, at in ((A, 159.0), (A, 160.0), (B, 101.0))] == [True, False, False]
    cache.forget_archive(A, 101.0)
    assert not cache.rests_on(A, 101.0)


def test_what_began_before_something_was_forgotten_is_not_kept() -> None:
    for began, kept in ((2.0, 0), (3.0, 100), (4.0, 100)):
        cache = Cache()
        cache.forget_labels([LABEL], 3.0)
        assert cache.keep(wish(), redirect(), 100, 5.0, lambda: ON_LABEL, began=began) == kept
        assert len(cache) == bool(kept)


# --- what somebody who asks, or an Archive that answers, can make it take ---

LANGUAGES = ("pt", "en", "fr")


def with_texts(target: str, texts: int = 3, relations: int = 0, url: str = "http://a.example.org/x") -> Redirect:
    """Found in an answer that has so many translations, and speaks of so many other relations."""
    pairs = {"url": url, "contenttype": "Data", "state": "Original", "urlkey": "1424636122"}
    for language in LANGUAGES[:texts]:
        of_text = f"__translation({language})"
        pairs |= {f"ibi{of_text}": f"{{rep {REP}.{len(pairs):02}}}", f"url{of_text}": f"{url}/{language}"}
        pairs |= {f"contenttype{of_text}": "Data", f"state{of_text}": "Original"}
    pairs |= {f"ibi__metadata(f{number})": f"{{rep {REP}}}" for number in range(relations)}
    found = body(A, f"rep {REP}", **pairs)
    outcome = resolve(target, {A: lambda _: found})
    assert isinstance(outcome, Redirect)
    return outcome


def kept_answer(target: str, outcome: Redirect) -> tuple[Relation, ...]:
    """The relations in what is kept of an answer."""
    cache = Cache()
    cache.keep(wish(target), outcome, 10, 0.0)
    kept = cache.find(wish(target), 0.0)
    assert kept is not None
    assert isinstance(kept.found, Match)
    assert kept.outcome(PersistentUrl.parse(target), BASE, ONE) == made(
        PersistentUrl.parse(target), BASE, ONE, Match(kept.found.heard, outcome.entry)
    )
    return tuple(entry.relation for entry in kept.found.heard.answer.entries)


def test_of_an_answer_no_more_is_kept_than_is_told() -> None:
    found = with_texts(f"/{REP}", relations=200)
    assert len(found.answer.entries) == 204
    assert kept_answer(f"/{REP}", found) == (Relation.ITSELF,)


def test_of_a_translation_it_is_kept_which_others_there_are() -> None:
    found = with_texts(f"/{REP}+(pt)", relations=200)
    kept = kept_answer(f"/{REP}+(pt)", found)
    offered = (f"+({language})" for language in sorted(LANGUAGES))
    assert kept == (Relation.ITSELF, *map(Relation.from_modifier, offered))


def test_the_size_is_that_of_what_is_kept() -> None:
    small, large = Cache(), Cache()
    small.keep(wish(), with_texts(f"/{REP}"), 10, 0.0)
    large.keep(wish(), with_texts(f"/{REP}", relations=200), 10, 0.0)
    assert 0 < small.size == large.size
    long_url = "http://a.example.org/" + "x" * 5000
    large.keep(wish(), with_texts(f"/{REP}", url=long_url), 10, 0.0)
    assert 4900 < large.size - small.size < 5100


def test_long_urls_are_kept_as_far_as_there_is_room() -> None:
    cache, found = Cache(room=100_000), with_texts(f"/{REP}", url="http://a.example.org/" + "x" * 5000)
    for number in range(100):
        cache.keep(wish(f"/lab.br/a{number}/2009/07.21.14.43"), found, 10, 0.0)
    assert 5 <= len(cache) <= 20
    assert cache.size <= 100_000


@pytest.mark.parametrize(
    ("target", "languages", "is_kept"),
    [
        (f"/{REP}/{'a' * 400}", "", True),
        (f"/{REP}/{'a' * 600}", "", False),
        (f"/{REP}/{'%F0%9F%98%80' * 600}", "", False),
        (f"/{REP}:(x{'a' * 600})", "", False),
        (f"/{REP}+", "pt-BR, pt;q=0.9, en;q=0.8, *;q=0.1", True),
        (f"/{REP}+", ", ".join(f"a{letter}" for letter in "abcdefgh"), True),
        (f"/{REP}+", ", ".join(f"a{letter}" for letter in "abcdefghi"), False),
        (f"/{REP}+(pt)", ", ".join(f"a{letter}" for letter in "abcdefghi"), True),
    ],
)
def test_what_is_asked_for_at_length_is_not_kept_and_others_may_keep_it(
    target: str, languages: str, is_kept: bool
) -> None:
    cache, asked = Cache(), wish(target, languages)
    assert cache.keep(asked, redirect(), 10, 0.0) == 10
    assert (cache.find(asked, 0.0) is not None, len(cache)) == (is_kept, is_kept)
    assert cache.keep(asked, NotFound(LABEL, HEARD), 10, 0.0) == NEGATIVE_AGE
    assert (cache.find(asked, 0.0) is not None, len(cache)) == (is_kept, is_kept)


@pytest.mark.parametrize("language", ["", "?ibiurl.language=pt"])
def test_one_item_asked_for_in_many_ways_drives_out_no_other(language: str) -> None:
    cache, found = Cache(most=10), redirect()
    honest = [wish(f"/lab.br/a{number}/2009/07.21.14.43") for number in range(10)]
    for each in honest:
        cache.keep(each, found, 10, 0.0)
    for number in range(100):
        cache.keep(wish(f"/{REP}+{language}", f"pt-{number}"), found, 10, 0.0)
        capitals = "".join(letter if number >> index & 1 else letter.upper() for index, letter in enumerate("abcdefg"))
        cache.keep(wish(f"/x{capitals}.br/arq/2009/07.21.14.43"), found, 10, 0.0)
    assert all(cache.find(each, 0.0) is not None for each in honest)
    assert len(cache) == 12


def test_pairs_of_a_reader_are_not_remembered() -> None:
    cache = Cache()
    cache.keep(wish(), redirect(urlkey="1424636122"), 10, 0.0)
    kept = cache.find(wish(), 0.0)
    assert kept is not None
    plain, with_pairs = PersistentUrl.parse(f"/{REP}"), PersistentUrl.parse(f"/{REP}?{'&'.join('a' * 100)}")
    first = kept.outcome(plain, BASE, ONE)
    kept.outcome(with_pairs, BASE, ONE)
    again = kept.outcome(plain, BASE, ONE)
    assert isinstance(first, Redirect)
    assert isinstance(again, Redirect)
    # The link without pairs was not driven out, so its texts are the very same.
    assert first.acknowledgment is not None
    assert again.acknowledgment is not None
    assert again.acknowledgment.persistent_url is first.acknowledgment.persistent_url
