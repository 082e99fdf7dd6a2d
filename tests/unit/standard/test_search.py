"""Labels in running text, markup, bibliographies and links."""

from __future__ import annotations

import pytest

import ibi
from ibi.standard.errors import InvalidLabel
from ibi.standard.label import find_labels, match_label, parse
from ibi.standard.label.search import home_prefix, parse_home_prefix

IBIP = "8JMKD3MGP8W/34PGRBS"
REP = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
BOTH = [IBIP, REP]


def found(text: str) -> list[str]:
    return [text[one.start : one.end] for one in find_labels(text)]


# --- where a label is found ------------------------------------------------------------------------------------------

SURROUNDINGS = {
    "alone": "{}",
    "a_sentence": "The item {} is new.",
    "the_end_of_a_sentence": "See {}.",
    "an_ellipsis": "See {}...",
    "a_comma": "{}, for example",
    "a_semicolon": "{}; and so on",
    "a_colon": "{}: see there",
    "a_question": "Is it {}?",
    "an_exclamation": "It is {}!",
    "parentheses": "(see {})",
    "parentheses_and_a_full_stop": "(see {}).",
    "brackets": "[{}]",
    "braces": "{{{}}}",
    "angle_brackets": "<{}>",
    "quotation_marks": '"{}"',
    "apostrophes": "'{}'",
    "curly_quotation_marks": "“{}”",
    "guillemets": "«{}»",
    "dashes": "the item—{}—is new",
    "no_break_spaces": "item\u00a0{}\u00a0is",
    "zero_width_spaces": "item\u200b{}\u200bis",
    "ideographic_full_stop": "见 {}。",
    "emoji": "📄{}📄",
    "tabs_and_line_feeds": "a\t{}\r\nb",
    "a_nul_on_either_side": "\0{}\0",
    "slashes": "/{}/",
    "a_hash": "#{}#x",
    "a_vertical_bar": "|{}|",
    "stars": "**{}**",
    "grave_accents": "`{}`",
    "tildes": "~{}~",
    "equals_signs": "a={}&b=c",
    "a_tag": "{}-TDI",
    "a_tag_and_a_full_stop": "{}-TDI/2010.",
    "html_link": '<a href="http://urlib.net/{}">the item</a>',
    "html_entity": "&lt;{}&gt;",
    "html_line_break": "{}<br/>",
    "markdown_link": "[the item](http://urlib.net/{})",
    "markdown_autolink": "<http://urlib.net/{}>",
    "markdown_reference": "[1]: https://urlib.net/ibi/{}",
    "bibtex_url": "  url = {{http://urlib.net/{}}},",
    "bibtex_note": '  note = "IBI: {}",',
    "latex_url": r"\url{{http://urlib.net/{}}}",
    "json": '{{"ibi": "{}"}}',
    "yaml": "ibi: {}\n",
    "csv": "1,{},2",
    "a_persistent_url": "http://urlib.net/{}",
    "a_persistent_url_with_ibi": "http://urlib.net/ibi/{}",
    "a_persistent_url_with_rep": "http://urlib.net/rep/{}",
    "a_persistent_url_with_a_modifier": "http://urlib.net/{}!:(oai_dc)",
    "a_persistent_url_with_a_path": "http://urlib.net/{}/doc/file.pdf",
    "a_persistent_url_with_a_query": "http://urlib.net/{}?ibiurl.verblist=GetFileList",
    "a_persistent_url_with_the_older_question_marks": "http://urlib.net/{}??",
    "a_url_of_another_resolver": "https://resolver.example.org:8765/{}",
    "a_url_of_an_address": "http://150.163.34.243:800/{}",
    "a_url_of_an_ipv6_address": "http://[2001:252::1]/{}",
    "a_url_of_a_host_without_dots": "http://localhost:8765/{}",
    "a_url_with_col": "http://mtc-m16d.sid.inpe.br/col/{}/doc/file.pdf",
    "a_url_in_a_query": "http://example.org/?url=http://urlib.net/{}&x=y",
    "a_fragment": "http://example.org/#{}",
    "the_scheme_ibi": "ibi:{}",
    "the_scheme_in_capitals": "IBI: {}",
}


@pytest.mark.parametrize("label", BOTH)
@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS.keys())
def test_a_label_is_found_in(surroundings: str, label: str) -> None:
    text = surroundings.format(label)
    assert found(text) == [label]
    (one,) = find_labels(text)
    assert one.label == ibi.parse(label)
    assert one.label.spelling == label


@pytest.mark.parametrize("label", BOTH)
def test_a_label_is_found_in_any_case(label: str) -> None:
    assert found(f"see {label.lower()} or {label.upper()}") == [label.lower(), label.upper()]


# --- where it is not -------------------------------------------------------------------------------------------------

LONGER_WORDS = {
    "a_letter_before": "A{}",
    "a_digit_before": "7{}",
    "an_underscore_before": "_{}",
    "a_dot_before": ".{}",
    "a_hyphen_before": "x-{}",
    "a_percent_sign_before": "%{}",
    "an_at_sign_before": "me@{}",
    "an_underscore_after": "{}_x",
    "a_file_extension": "{}.pdf",
    "a_second_file_extension": "{}.tar.gz",
    "a_mail_domain": "{}@inpe.br",
    "an_accented_letter_before": "é{}",
    "an_accented_letter_after": "{}é",
    "a_cyrillic_letter_after": "{}ж",
}


@pytest.mark.parametrize("label", BOTH)
@pytest.mark.parametrize("word", LONGER_WORDS.values(), ids=LONGER_WORDS.keys())
def test_a_label_is_not_found_in_a_longer_word_with(word: str, label: str) -> None:
    text = f"see {word.format(label)} there"
    assert label not in found(text)


def test_an_internationalised_host_does_not_lend_its_ending() -> None:
    """`ésid.inpe.br` is another host than `sid.inpe.br`: what is found must not be a label that nobody wrote."""
    assert found("http://urlib.net/ésid.inpe.br/mtc-m18/2009/02.16.17.46") == []


@pytest.mark.parametrize("text", ["8JMKD3MGP8W/34PGRBSZ", "8JMKD3MGP8W/34PGRBS0", f"{REP}x", f"{REP}7", f"{REP}.123"])
def test_a_label_that_goes_on_is_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing here",
        "and/or",
        "W/W",
        "3W/3",
        "text/html",
        "12/31/2009",
        "2009/02.16.17.46",
        "example.org/2009/02.16.17.46",
        "sid.inpe.br/mtc-m18/2009/02.30.17.46",
        "http://example.org/a/b/c.d.e.f",
        "8JMKD3MGP8W",
        "8JMKD3MGP8W/",
        "8JMKD3MGP8W / 34PGRBS",
        "8JMKD3MGP8W%2F34PGRBS",
        "\ud800\udc00/",
    ],
)
def test_nothing_is_found_where_nothing_is(text: str) -> None:
    assert found(text) == []


# --- several ---------------------------------------------------------------------------------------------------------


def test_neighbours_are_all_found_in_order() -> None:
    text = f"{IBIP} {REP},{IBIP};{REP}\n{IBIP}"
    assert found(text) == [IBIP, REP, IBIP, REP, IBIP]
    starts = [one.start for one in find_labels(text)]
    assert starts == sorted(starts)


def test_both_forms_of_an_answer_are_found() -> None:
    text = "ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}"
    assert found(text) == ["sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"]


def test_a_path_after_an_ibip_is_not_taken_for_a_label() -> None:
    """E17: the first two segments are an IBIp."""
    assert found("http://urlib.net/LK47B6W/362SFKH/2010/08.25.12.38") == ["LK47B6W/362SFKH"]


def test_a_label_inside_the_path_of_another_is_found_too() -> None:
    text = f"http://urlib.net/{IBIP}/col/{REP}/doc/x.pdf"
    assert found(text) == [IBIP, REP]


def test_seconds_and_a_fraction_belong_to_the_label() -> None:
    assert found("see sid.inpe.br/mtc-m18/2009/02.16.17.46.05.125, there") == [
        "sid.inpe.br/mtc-m18/2009/02.16.17.46.05.125"
    ]


def test_a_page_of_a_library_catalogue() -> None:
    page = """
    <p>BANON, G. J. F. <b>Identificador com base na Internet</b>. 2011. Available from:
    &lt;<a href="http://urlib.net/LK47B6W/362SFKH">ibi/LK47B6W/362SFKH</a>&gt;. Access in: 12 out. 2021.
    (sid.inpe.br/mtc-m19/2010/08.25.12.38-RPQ) and
    <img src="/col/sid.inpe.br/mtc-m18@80/2009/07.21.13.23/doc/cover.png">; not foo.inpe.br/x/2009/13.21.13.23.</p>
    @book{b, url = {http://urlib.net/rep/8JMKD3MGP7W/3EPGUE5?languagebutton=en}, note = {QABCDSTQQW/46C4U9H}}
    """
    assert found(page) == [
        "LK47B6W/362SFKH",
        "LK47B6W/362SFKH",
        "sid.inpe.br/mtc-m19/2010/08.25.12.38",
        "sid.inpe.br/mtc-m18@80/2009/07.21.13.23",
        "8JMKD3MGP7W/3EPGUE5",
        "QABCDSTQQW/46C4U9H",
    ]


def test_searching_is_lazy() -> None:
    labels = find_labels(f"{IBIP} " * 3)
    assert iter(labels) is labels
    assert next(labels).start == 0


# --- at a given place ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", BOTH)
@pytest.mark.parametrize("rest", ["", ":", "!", "+(pt)", "/doc", "?x", "-TDI", " ", "é", "..", ",", "#", "%2F"])
def test_a_label_matches_at_its_beginning_whatever_follows(label: str, rest: str) -> None:
    assert match_label(label + rest) == (ibi.parse(label), len(label))


@pytest.mark.parametrize("label", BOTH)
def test_a_label_matches_at_its_place_only(label: str) -> None:
    text = f"/{label}"
    assert match_label(text) is None
    assert match_label(text, 1) == (ibi.parse(label), len(text))
    assert match_label(text, len(text)) is None
    assert match_label(text, len(text) + 1) is None


def test_the_longest_label_is_taken() -> None:
    text = "sid.inpe.br/mtc-m18/2009/02.16.17.46.05.125"
    assert match_label(text) == (ibi.parse(text), len(text))
    assert match_label("8JMKD3MGP8W/34PGRBSW7") == (ibi.parse("8JMKD3MGP8W/34PGRBSW7"), 21)


def test_a_w_without_a_fraction_is_not_taken() -> None:
    assert match_label("8JMKD3MGP8W/34PGRBSW/doc") == (ibi.parse("8JMKD3MGP8W/34PGRBS"), 19)


def test_two_segments_that_are_an_ibip_are_one_also_before_a_date() -> None:
    """E17."""
    assert match_label("LK47B6W/362SFKH/2010/08.25.12.38") == (ibi.parse("LK47B6W/362SFKH"), 15)


@pytest.mark.parametrize(
    "text",
    ["LK47B6W/362SFKH-X/2010/08.25.12.38", "LK47B6W/362SFKHI/2010/08.25.12.38", "LK47B6W/362SFKH99/2010/08.25.12.38"],
)
def test_whatever_is_a_label_as_a_whole_matches_as_a_whole(text: str) -> None:
    """Its second segment is no IBIp's, so that E17 does not apply: `parse` and `match_label` must say the same."""
    label = ibi.parse(text)
    assert match_label(text) == (label, len(text))


@pytest.mark.parametrize(
    "text", ["", "/", "abc", "8JMKD3MGP8W/", "8JMKD3MGP8W/2PGRBS", "a.b/c/2009/02.30.17.46", " " + IBIP]
)
def test_no_label_matches(text: str) -> None:
    assert match_label(text) is None


# --- the prefix by which the home of a label is found ----------------------------------------------------------------


DATE = "2009/02.16.17.46"


@pytest.mark.parametrize("spelling", ["sid.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18.80", "SID.inpe.br/mtc-m18@80"])
def test_the_spellings_of_port_80_are_one_prefix(spelling: str) -> None:
    assert home_prefix(parse(f"{spelling}/{DATE}")) == "sid.inpe.br/mtc-m18"


@pytest.mark.parametrize("spelling", ["sid.inpe.br/mtc-m18.8080", "sid.inpe.br/mtc-m18@8080"])
def test_the_spellings_of_another_port_are_one_prefix_and_not_that_of_port_80(spelling: str) -> None:
    assert home_prefix(parse(f"{spelling}/{DATE}")) == "sid.inpe.br/mtc-m18.8080"


def test_the_prefix_of_an_ibip_is_compared_without_case() -> None:
    assert home_prefix(parse("8JMKD3MGP8W/34PGRBS")) == home_prefix(parse("8jmkd3mgp8w/34pgrbs")) == "8jmkd3mgp8w"


@pytest.mark.parametrize("text", ["sid.inpe.br/mtc-m18@80", "SID.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18.80"])
def test_a_prefix_given_by_a_person_is_read_as_that_of_a_label(text: str) -> None:
    assert parse_home_prefix(text) == "sid.inpe.br/mtc-m18"


def test_the_prefix_of_an_ibip_is_read() -> None:
    assert parse_home_prefix("8JMKD3MGP8W") == "8jmkd3mgp8w"


@pytest.mark.parametrize(
    "text", ["", "/", "a/b/c", f"sid.inpe.br/mtc-m18/{DATE}", "8JMKD3MGP8", "0", "W", "ü.br/x", "8JMKD3MGP8W/3"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidLabel):
        parse_home_prefix(text)
