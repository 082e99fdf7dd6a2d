"""A resolution drawn: who said what to whom, for eyes and for screen readers."""

from __future__ import annotations

from xml.etree import ElementTree

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Trace
from ibi.standard.reply import Failure
from ibi.web.drawings import MOST_LANES, trace_figure
from ibi.web.reader import translations
from tests.support.scripted_archives import archive, body, give, resolution

LABEL = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
SVG = "{http://www.w3.org/2000/svg}"


def found(of: ArchiveRef) -> bytes:
    values = {"state": "Original", "contenttype": "Data", "url": f"http://{of.address}/x?a=1&b=<2>"}
    values["url"] = values["url"].replace("<2>", "2")
    return body(of, f"rep {LABEL}", **values, urlkey="1234567890")


def resolved(number: int) -> Resolution:
    """The first has it, the second cannot be reached, nothing comes from the others."""
    archives = tuple(archive(f"a{index}") for index in range(number))
    under_way = resolution(LABEL, archives)
    askings = {asking.archive: asking for asking in under_way.requests()}
    if number > 1:
        under_way.failure(askings[archives[1]], Failure.UNREACHABLE, 0.01)
    give(under_way, askings[archives[0]], found(archives[0]), 0.02)
    return under_way


def figure(under_way: Resolution, language: str = "en") -> ElementTree.Element:
    """Well-formed, whatever is in it."""
    return ElementTree.fromstring(str(trace_figure(under_way.trace, under_way.outcome, translations(language))))


def words(element: ElementTree.Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def test_every_archive_that_was_asked_has_a_lane_and_every_message_a_row() -> None:
    drawn = figure(resolved(3))

    names = [words(each) for each in drawn.iter("text") if each.get("class") == "lane-name"]
    assert [name.split()[-1] for name in names] == ["Reader", "Resolver", *(str(archive(f"a{n}")) for n in (0, 1, 2))]
    steps = [words(each) for each in drawn.iter("li")]
    assert len(list(drawn.iter("g"))) == len(steps)
    assert steps[0] == f"Reader → Resolver : {LABEL}"
    assert any("could not be reached" in step and "10 ms" in step for step in steps)
    assert any("no answer in time" in step for step in steps)


def test_the_figure_ends_with_where_the_reader_goes() -> None:
    under_way = resolved(1)
    assert isinstance(under_way.outcome, Redirect)

    last = [words(each) for each in figure(under_way).iter("li")][-1]

    assert last.startswith("Reader → ")
    assert last.endswith(under_way.outcome.url)


def test_a_crowd_shares_a_lane() -> None:
    drawn = figure(resolved(40))

    names = [words(each) for each in drawn.iter("text") if each.get("class") == "lane-name"]
    assert len(names) == 2 + MOST_LANES
    assert "36 other Archives" in names[-1]
    assert "36 × no answer in time" in words(drawn)


def test_the_figure_speaks_the_readers_language_and_is_named_for_screen_readers() -> None:
    drawn = figure(resolved(2), "pt-BR")

    picture = next(drawn.iter("svg"))
    named = [each.get("id") for each in picture if each.tag in {"title", "desc"}]
    assert picture.get("aria-labelledby") == " ".join(map(str, named))
    assert "Leitor" in words(drawn)


def test_nothing_in_it_has_a_style_or_a_script_of_its_own() -> None:
    for each in figure(resolved(3)).iter():
        assert each.tag not in {"script", "style", "foreignObject"}
        assert not [name for name in each.attrib if name == "style" or name.startswith("on")]


def test_a_question_that_another_led_to_says_why_it_is_asked() -> None:
    one, following = archive("one"), "sid.inpe.br/mtc-m19/2014/01.01.00.00"
    under_way = resolution(f"{LABEL}!", (one,))
    (asking,) = under_way.requests()
    give(under_way, asking, body(one, f"rep {LABEL}", **{"ibi.nextedition": f"{{rep {following}}}"}), 0.01)

    steps = [words(each) for each in figure(under_way).iter("li")]

    assert any(step.startswith(f"Resolver → one.example.org : {following}! (the next edition)") for step in steps)
    assert any("ask for another item" in step for step in steps)


def test_a_trace_of_nothing_is_still_a_figure() -> None:
    assert trace_figure(Trace(()), None, translations("en")).startswith("<figure")
