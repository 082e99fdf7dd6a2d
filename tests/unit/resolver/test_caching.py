"""Outcomes kept (E32): by all that they depend on, no longer than allowed, and never silence."""

from __future__ import annotations

import pytest

from ibi.label import parse
from ibi.language_range import preferences
from ibi.persistent_url import PersistentUrl
from ibi.relation import Relation
from ibi.resolver.caching import LONGEST, NEGATIVE_AGE, Cache, Wish
from ibi.resolver.outcome import (
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
from ibi.resolver.selection import Located
from tests.scripted_archives import archive, body, resolve

REP = "lab.br/arq/2009/07.21.14.43"
LABEL = parse(REP)
A, B = archive("a"), archive("b")
HEARD, SILENT = Silence(2), Silence(2, (B,))


def redirect() -> Redirect:
    found = body(A, f"rep {REP}", url=f"http://{A.address}/x", contenttype="Data", state="Original")
    outcome = resolve(f"/{REP}", {A: lambda _: found})
    assert isinstance(outcome, Redirect)
    return outcome


def wish(target: str = f"/{REP}", languages: str = "") -> Wish:
    return Wish.of(PersistentUrl.parse(target), preferences(languages))


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
    assert isinstance(found.found, Located)
    assert found.seconds_left(104.5) == 5
    assert cache.find(wish(), 110.0) is None
    assert len(cache) == 0


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
def test_that_there_is_nothing_is_kept_for_a_moment_if_everybody_was_heard(outcome: Outcome, age: int) -> None:
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
    assert isinstance(found.found, Located)
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


def test_another_state_of_the_world_forgets_everything() -> None:
    cache = Cache()
    cache.enter("one")
    cache.keep(wish(), redirect(), 100, 0.0)
    cache.enter("one")
    assert len(cache) == 1
    cache.enter("two")
    assert len(cache) == 0
