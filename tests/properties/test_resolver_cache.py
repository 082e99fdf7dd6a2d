"""A cache of outcomes never gives anything longer than allowed, nor to somebody who wants something else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibi.resolver.rules.answers import Match
from ibi.resolver.rules.caching import LONGEST, Cache, OutcomeKey
from ibi.resolver.rules.outcome import Redirect
from ibi.standard.language_choice import preferences
from ibi.standard.persistent_url import PersistentUrl
from tests.support.scripted_archives import archive, body, resolve

REP = "lab.br/arq/2009/07.21.14.43"
A = archive("a")

TARGETS = st.builds(
    "/{}{}{}{}".format,
    st.sampled_from([REP, REP.upper(), "lab.br/arq/2010/01.01.01.01"]),
    st.sampled_from(["", "!", "+", "+(pt)", ":"]),
    st.sampled_from(["", "/a.txt"]),
    st.sampled_from(["", "?ibiurl.requireditemstatus=Original", "?ibiurl.language=es", "?x=1"]),
)
LANGUAGES = st.sampled_from(["", "pt", "en, pt;q=0.5"])


def wish(target: str, languages: str) -> OutcomeKey:
    return OutcomeKey.of(PersistentUrl.parse(target), preferences(languages))


def found(number: int) -> Redirect:
    answer = body(A, f"rep {REP}", url=f"http://{A.address}/{number}", contenttype="Data", state="Original")
    outcome = resolve(f"/{REP}", {A: lambda _: answer})
    assert isinstance(outcome, Redirect)
    return outcome


FOUND = [found(number) for number in range(8)]
KEEP = st.tuples(TARGETS, LANGUAGES, st.integers(0, 7), st.integers(-1, 2 * LONGEST), st.floats(0, 5000))


@given(kept=st.lists(KEEP, max_size=8), asked=st.tuples(TARGETS, LANGUAGES), now=st.floats(0, 10_000))
def test_only_the_last_that_was_kept_for_this_very_wish_and_only_in_its_time(
    kept: list[tuple[str, str, int, int, float]], asked: tuple[str, str], now: float
) -> None:
    cache = Cache()
    expected: tuple[int, float] | None = None
    for target, languages, number, age, at in kept:
        cache.keep(wish(target, languages), FOUND[number], age, at)
        if age > 0 and wish(target, languages) == wish(*asked):
            expected = number, at + min(age, LONGEST)
    remembered = cache.find(wish(*asked), now)
    if expected is None or now >= expected[1]:
        assert remembered is None
    else:
        assert remembered is not None
        assert isinstance(remembered.found, Match)
        assert remembered.found.entry.url == f"http://{A.address}/{expected[0]}"
        assert 0 <= remembered.seconds_left(now) <= expected[1] - now
