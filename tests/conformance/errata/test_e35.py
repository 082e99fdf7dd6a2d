"""E35: odd persistent URLs."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.persistent_url import PersistentUrl, PunctuatedLabel

IBIP = "8JMKD3MGP8W/35MME4E"
REPOSITORY_NAME = "sid.inpe.br/mtc-m18@80/2009/07.21.13.23"
both_forms = pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME])


@pytest.mark.parametrize("target", [f"/{IBIP}/", f"/{IBIP}!/", f"/{IBIP}%2F", f"/{IBIP}/?a=b"])
def test_the_path_slash_is_no_path(target: str) -> None:
    assert PersistentUrl.parse(target).file_path is None


@pytest.mark.parametrize(
    "path",
    [
        *("/.", "/..", "/a/.", "/a/..", "/./a", "/../a", "/a/../b", "/%2e%2E/a", "/..%2Fa", "/%2e"),
        *("/a\\b", "/a%5Cb", "/..%5ca", "\\a"),
        *("/a%00", "/%00/b", "/a\0b"),
        *("//", "//a", "/a//b", "/a/", "/%2F", "/a%2F%2Fb"),
    ],
)
@both_forms
def test_dots_backslashes_nul_and_empty_segments_are_refused(label: str, path: str) -> None:
    with pytest.raises(InvalidPersistentUrl) as caught:
        PersistentUrl.parse(f"/{label}{path}")
    assert not isinstance(caught.value, PunctuatedLabel)


@pytest.mark.parametrize("path", ["/.htaccess", "/a..b", "/...", "/a./b", "/..a"])
def test_dots_that_are_not_a_whole_segment_are_in_order(path: str) -> None:
    assert PersistentUrl.parse(f"/{IBIP}{path}").file_path == path


@pytest.mark.parametrize("blanks", ["%20", " ", "%20%20", "%09", "%0D%0A", "\n"])
@pytest.mark.parametrize("before", ["", "!", "/a.pdf", "-TDI"])
def test_trailing_blanks_are_dropped(before: str, blanks: str) -> None:
    assert PersistentUrl.parse(f"/{IBIP}{before}{blanks}") == PersistentUrl.parse(f"/{IBIP}{before}")
    assert PersistentUrl.parse(f"/{IBIP}{before}{blanks}?a=b ") == PersistentUrl.parse(f"/{IBIP}{before}?a=b")


@pytest.mark.parametrize("punctuation", [".", ",", ";", ")", ").", "...", "%2E", "),", ". "])
@both_forms
def test_punctuation_after_a_label_is_told_apart_and_the_label_suggested(label: str, punctuation: str) -> None:
    with pytest.raises(PunctuatedLabel) as caught:
        PersistentUrl.parse(f"/{label}{punctuation}")
    assert caught.value.code == "punctuated-label"
    assert caught.value.details["suggestion"] == label
    assert label in str(caught.value)


@pytest.mark.parametrize(
    ("target", "suggestion"),
    [
        (f"/{IBIP.lower()}.", IBIP.lower()),
        (f"/{IBIP}!:(OAI_DC)).", f"{IBIP}!:(oai_dc)"),
        (f"/ibi/{IBIP}-TDI;", IBIP),
        (f"/{IBIP},?a=b&ibiurl.verblist=GetMetadata", f"{IBIP}:?a=b"),
    ],
)
def test_the_suggestion_is_what_was_probably_meant_in_the_spelling_received(target: str, suggestion: str) -> None:
    with pytest.raises(PunctuatedLabel) as caught:
        PersistentUrl.parse(target)
    assert caught.value.details["suggestion"] == suggestion
    PersistentUrl.parse(suggestion)


@pytest.mark.parametrize(
    "rest", [".pdf", ".!", ",a", ".-TDI", "]", "'", "=", "0", "_", "(pt)", "~", "-", "-TDI-2", "é"]
)
def test_anything_else_after_a_label_is_refused(rest: str) -> None:
    with pytest.raises(InvalidPersistentUrl) as caught:
        PersistentUrl.parse(f"/{IBIP}{rest}")
    assert caught.value.code == "invalid-persistent-url"
    assert "suggestion" not in caught.value.details


@pytest.mark.parametrize("tag", ["-TDI", "-tdi", "-T1", "-2013"])
@both_forms
def test_a_tag_of_letters_and_digits_after_either_form_is_dropped(label: str, tag: str) -> None:
    assert PersistentUrl.parse(f"/{label}{tag}") == PersistentUrl.parse(f"/{label}")


@pytest.mark.parametrize("prefix", ["/IBI/", "/Rep/", "/iBi:", "IBI:", "/ibi%3A", "/ibi%2F", "rep/"])
@both_forms
def test_a_prefix_is_dropped_in_any_case(label: str, prefix: str) -> None:
    assert PersistentUrl.parse(f"{prefix}{label}") == PersistentUrl.parse(f"/{label}")


@pytest.mark.parametrize("prefix", ["/ibi/ibi/", "/rep/rep/", "/ibi/rep/", "/ibi/ibi:", "ibi:ibi:", "ibi:/", "/ibi//"])
def test_a_prefix_is_dropped_only_once(prefix: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"{prefix}{IBIP}")


@pytest.mark.parametrize(
    "host", ["http://urlib.net", "HTTPS://urlib.net:8443", "http://[::1]:8765", "https://resolver.example.org"]
)
def test_an_absolute_url_of_any_resolver_is_read(host: str) -> None:
    assert PersistentUrl.parse(f"{host}/{IBIP}!?a=b") == PersistentUrl.parse(f"/{IBIP}!?a=b")


@pytest.mark.parametrize("pairs", ["a=b", "&a=b"])
def test_two_question_marks_may_be_followed_by_pairs(pairs: str) -> None:
    assert PersistentUrl.parse(f"/{IBIP}??{pairs}") == PersistentUrl.parse(f"/{IBIP}:?a=b")


def test_two_question_marks_and_a_colon_are_one_metadata_too_many() -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}:??")


@pytest.mark.parametrize("value", ["Original", "original", "ORIGINAL", "%4Friginal", "Original%20"])
def test_original_is_read_in_any_case(value: str) -> None:
    assert PersistentUrl.parse(f"/{IBIP}?ibiurl.requireditemstatus={value}").required_original


@pytest.mark.parametrize("value", ["Copy", "", "Original+Copy", "Orig%20inal"])
def test_no_other_required_status_is_accepted(value: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}?ibiurl.requireditemstatus={value}")


@pytest.mark.parametrize("name", ["verblist", "requireditemstatus", "language", "backgroundlanguage", "unheardof"])
def test_a_repeated_pair_for_the_resolver_is_refused(name: str) -> None:
    value = {"verblist": "GetMetadata", "requireditemstatus": "Original"}.get(name, "pt")
    PersistentUrl.parse(f"/{IBIP}?ibiurl.{name}={value}")
    with pytest.raises(InvalidPersistentUrl, match="twice"):
        PersistentUrl.parse(f"/{IBIP}?ibiurl.{name}={value}&a=b&ibiurl.{name}={value}")


def test_a_repetition_is_seen_through_case_and_encoding() -> None:
    with pytest.raises(InvalidPersistentUrl, match="twice"):
        PersistentUrl.parse(f"/{IBIP}?ibiurl.language=pt&IBIURL%2Elanguage=en")


@pytest.mark.parametrize(
    "modifier", ["+(xx)", "+()", ":()", "+(pt-)", "+(-BR)", "!()", "+(pt)(en)", "+((pt))", "+(pt", ":)("]
)
def test_an_unknown_language_or_empty_parentheses_are_refused(modifier: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}{modifier}")


@pytest.mark.parametrize(
    "verbs", ["GetAll", "GetTranslation(xx)", "GetTranslation()", "GetMetadata()", "%3A", "GetFileList()"]
)
def test_an_unknown_verb_is_refused(verbs: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}?ibiurl.verblist={verbs}")


def test_the_language_comes_before_the_background_language() -> None:
    for query in ("ibiurl.language=en&ibiurl.backgroundlanguage=pt", "ibiurl.backgroundlanguage=pt&ibiurl.language=en"):
        assert PersistentUrl.parse(f"/{IBIP}?{query}").language == "en"


def test_formats_compare_without_case() -> None:
    assert PersistentUrl.parse(f"/{IBIP}:(bibinpe)") == PersistentUrl.parse(f"/{IBIP}:(BibINPE)")
    assert str(PersistentUrl.parse(f"/{IBIP}:(OAI_DC)")) == f"http://urlib.net/{IBIP}:(oai_dc)"


@pytest.mark.parametrize(
    "query",
    [
        "a=%41%zz+%2b",
        "a",
        "a=",
        "=a",
        "?a=b",
        "a==b",
        "q=%f3&q=%C3%B3",
        "IBI=x",
        "ibiurlx=1",
        "xibiurl.a=1",
        "a=[b]|{c}",
    ],
)
def test_pairs_that_are_passed_on_stay_byte_for_byte(query: str) -> None:
    url = PersistentUrl.parse(f"/{IBIP}/file?{query}")
    assert url.query_string == query
    assert str(url) == f"http://urlib.net/{IBIP}/file?{query}"


@pytest.mark.parametrize("name", ["ibiurl.unheardof", "ibiurl.", "IbiUrl.New", "ibiurl%2Enew", "%69biurl.new"])
def test_an_unknown_pair_for_the_resolver_is_never_passed_on(name: str) -> None:
    assert PersistentUrl.parse(f"/{IBIP}?a=1&{name}=x&b=2").query_string == "a=1&b=2"


def test_a_fragment_is_dropped() -> None:
    assert PersistentUrl.parse(f"/{IBIP}!?a=b#c?d&ibiurl.verblist=x") == PersistentUrl.parse(f"/{IBIP}!?a=b")
    assert PersistentUrl.parse(f"/{IBIP}/a%23b").file_path == "/a#b"
