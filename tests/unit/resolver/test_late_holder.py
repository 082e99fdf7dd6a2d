"""Whether there is a later edition, nobody else can tell in place of an Archive that is slow (resolution step 3, e)."""

from __future__ import annotations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Redirect, RelatedItemMissing
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.reply import Failure
from tests.support.scripted_archives import archive, body, give, resolution

OLD, NEW = "lab.br/arq/2009/01.01.00.00", "lab.br/arq/2010/01.01.00.00"
HOME, OTHER = archive("home"), archive("other")
KNOWS_LITTLE = body(OTHER, f"rep {OLD}")
SUCCESSION = body(HOME, f"rep {OLD}", ibi__nextedition=f"{{rep {NEW}}}")
OLD_TEXT = body(HOME, f"rep {OLD}", url="http://home.example.org/old", contenttype="Data", state="Original")
NEW_TEXT = body(
    HOME,
    f"rep {NEW}",
    url__lastedition="http://home.example.org/new",
    contenttype__lastedition="Data",
    state__lastedition="Original",
)


def asked_without_last_edition() -> tuple[Resolution, Asking, dict[ArchiveRef, Asking]]:
    """The one that holds the item has been silent for so long that the item itself is asked for."""
    under_way = resolution(f"/{OLD}!", (HOME, OTHER))
    first = {asking.archive: asking for asking in under_way.requests()}
    give(under_way, first[OTHER], KNOWS_LITTLE, 0.1)
    under_way.advance(1.1)
    second = {asking.archive: asking for asking in under_way.requests()}
    assert [str(asking.request.label) for asking in second.values()] == [OLD, OLD]
    return under_way, first[HOME], second


def test_an_edition_of_which_it_is_not_known_whether_it_is_the_last_is_not_taken_for_it() -> None:
    under_way, _, second = asked_without_last_edition()
    give(under_way, second[HOME], OLD_TEXT, 1.2)
    give(under_way, second[OTHER], KNOWS_LITTLE, 1.2)
    under_way.advance(5.1)
    outcome = under_way.outcome
    assert isinstance(outcome, RelatedItemMissing), outcome
    assert outcome.silence.silent == (HOME,)


def test_a_late_word_of_a_later_edition_is_followed() -> None:
    under_way, late, second = asked_without_last_edition()
    give(under_way, late, SUCCESSION, 1.2)
    third = {asking.archive: asking for asking in under_way.requests()}
    assert {str(asking.request.label) for asking in third.values()} == {NEW}
    give(under_way, second[HOME], OLD_TEXT, 1.3)
    give(under_way, third[HOME], NEW_TEXT, 1.4)
    under_way.advance(1.7)
    assert isinstance(under_way.outcome, Redirect)
    assert under_way.outcome.url == "http://home.example.org/new"


def test_a_late_word_that_there_is_none_is_as_good_as_one_in_time() -> None:
    under_way, late, second = asked_without_last_edition()
    give(under_way, late, body(HOME, f"rep {OLD}"), 1.2)
    give(under_way, second[HOME], OLD_TEXT, 1.3)
    assert isinstance(under_way.outcome, Redirect)
    assert under_way.outcome.url == "http://home.example.org/old"


def test_who_refuses_to_speak_of_editions_is_heard_on_the_item() -> None:
    under_way = resolution(f"/{OLD}!", (HOME, OTHER))
    first = {asking.archive: asking for asking in under_way.requests()}
    give(under_way, first[OTHER], KNOWS_LITTLE, 0.1)
    give(under_way, first[HOME], Failure.REFUSED, 0.1)
    second = {asking.archive: asking for asking in under_way.requests()}
    give(under_way, second[HOME], OLD_TEXT, 0.2)
    assert isinstance(under_way.outcome, Redirect)
