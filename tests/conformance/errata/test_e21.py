"""E21: links in use that the standard does not describe."""

from __future__ import annotations

import time

import pytest

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.label import find_labels
from ibi.standard.persistent_url import PersistentUrl, PunctuatedLabel

IBIP = "8JMKD3MGP7W/3EPGUE5"
REPOSITORY_NAME = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"


@pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME])
@pytest.mark.parametrize(
    "prefix", ["/ibi/", "/rep/", "/ibi:", "ibi:", "http://urlib.net/rep/", "https://urlib.net/ibi:"]
)
def test_a_prefix_before_the_label_is_dropped(prefix: str, label: str) -> None:
    assert PersistentUrl.parse(f"{prefix}{label}") == PersistentUrl.parse(f"/{label}")


@pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME])
def test_two_question_marks_ask_for_metadata(label: str) -> None:
    assert PersistentUrl.parse(f"http://urlib.net/{label}??") == PersistentUrl.parse(f"http://urlib.net/{label}:")


def test_two_question_marks_after_a_modifier_ask_for_metadata_of_what_it_selects() -> None:
    assert PersistentUrl.parse(f"/{IBIP}!??").relation.modifier == "!:"


@pytest.mark.parametrize("name", ["ibiurl.language", "ibiurl.backgroundlanguage"])
def test_a_language_in_the_query_takes_the_place_of_the_browsers_preference(name: str) -> None:
    url = PersistentUrl.parse(f"/{IBIP}?{name}=pt-br")
    assert url.language == "pt-BR"
    assert url.query == ()


@pytest.mark.parametrize("value", ["xx", "pt-XX", "english", "pt_BR", "", "pt,en"])
def test_a_language_that_does_not_exist_is_refused(value: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}?ibiurl.language={value}")


def test_a_citation_tag_after_a_repository_name_is_dropped() -> None:
    assert PersistentUrl.parse(f"/{REPOSITORY_NAME}-TDI") == PersistentUrl.parse(f"/{REPOSITORY_NAME}")


def test_a_modifier_or_a_path_may_follow_a_citation_tag() -> None:
    assert PersistentUrl.parse(f"/{REPOSITORY_NAME}-TDI:/a") == PersistentUrl.parse(f"/{REPOSITORY_NAME}:/a")


@pytest.mark.parametrize("name", ["BibINPE", "oai_dc", "marc21", "x-y_z"])
def test_a_metadata_format_is_any_name(name: str) -> None:
    url = PersistentUrl.parse(f"/{IBIP}:({name})")
    assert url.relation.metadata_format == name
    assert str(url) == f"http://urlib.net/{IBIP}:({name})"


@pytest.mark.parametrize("name", ["1marc", "_x", "a.b", "a b", "a%20b", "é", "a/b"])
def test_what_is_no_name_is_no_metadata_format(name: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/{IBIP}:({name})")


@pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME])
@pytest.mark.parametrize(
    "prefix",
    [
        *("upn:7EKRSA:", "UPN:7ekrsa:", "goto-/", "GoTo-/", "attachment.cgi/", "upn%3A7EKRSA%3A"),
        *("http://urlib.net/upn:7EKRSA:", "http://urlib.net/goto-/", "http://mtc-m16c.sid.inpe.br/attachment.cgi/"),
    ],
)
def test_what_platforms_put_before_the_label_is_dropped(prefix: str, label: str) -> None:
    slash = "" if "://" in prefix else "/"
    for start in (f"{slash}{prefix}", prefix):
        assert PersistentUrl.parse(f"{start}{label}!/a.pdf?x=1") == PersistentUrl.parse(f"/{label}!/a.pdf?x=1")


@pytest.mark.parametrize(
    "text", ["/upn::{}", "/upn:a b:{}", "/goto/{}", "/goto-/ibi/{}", "/ibi/upn:7EKRSA:{}", "/upn:{}"]
)
def test_other_prefixes_and_two_of_them_are_refused(text: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(text.format(IBIP))


@pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME])
@pytest.mark.parametrize(
    ("link", "meant"),
    [
        ("/col/{}/doc/a/b.pdf", "/{}/a/b.pdf"),
        ("http://mtc-m16c.sid.inpe.br/col/{}/doc/CCSDS%20650.0-B-1.pdf", "/{}/CCSDS%20650.0-B-1.pdf"),
        ("/col/{}/doc/metadata.cgi?choice=oai_dc", "/{}/metadata.cgi?choice=oai_dc"),
        ("/col/{}/doc", "/{}"),
        ("/COL/{}/doc/", "/{}"),
        ("/col/{}/doc/doc/x", "/{}/doc/x"),
        ("http://mtc-m21c.sid.inpe.br/attachment.cgi/{}/doc/publicacao.pdf", "/{}/publicacao.pdf"),
        ("/attachment.cgi/{}/a.pdf", "/{}/a.pdf"),
        ("/displaydoccontent.cgi/{}/doc/a.pdf", "/{}/a.pdf"),
    ],
)
def test_a_link_to_a_file_in_an_archive_is_the_label_with_that_path(link: str, meant: str, label: str) -> None:
    assert PersistentUrl.parse(link.format(label)) == PersistentUrl.parse(meant.format(label))


@pytest.mark.parametrize(
    "link", ["/col/{}", "/col/{}/metadata", "/col/{}/docs/a", "/col/{}!/doc/a", "/col/{}/doc/../x", "/col/x/doc/a"]
)
def test_other_links_into_an_archive_are_refused(link: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(link.format(REPOSITORY_NAME))


@pytest.mark.parametrize("label", [IBIP, REPOSITORY_NAME, "83LX3pFwXQZ5Jpy/Bkjzd"])
@pytest.mark.parametrize(
    "start",
    [
        *(
            "/upn:7EKRSA:/",
            "upn:7EKRSA:/",
            "./upn:7EKRSA:",
            "./upn:7EKRSA:/",
            "/./upn:7EKRSA:",
            "http://urlib.net/upn:X:/",
        ),
        *("/displaydoccontent.cgi/", "http://mtc-m16d.sid.inpe.br/displaydoccontent.cgi/", "./ibi/"),
        *("IBI:", "IBI: ", "ibi:\t", "/IBI:%20"),
    ],
)
def test_the_links_that_are_in_use_elsewhere_are_read(start: str, label: str) -> None:
    """The one with displaydoccontent.cgi is printed in R Example 9.12."""
    assert PersistentUrl.parse(f"{start}{label}!/a.pdf?x=1") == PersistentUrl.parse(f"/{label}!/a.pdf?x=1")


BRACKETS = ["<{}>", "<<{}>>", "‹{}›", "«{}»", "({})", "< {} >", "IBI:<{}>", "IBI: ‹{}›", "<IBI:{}>", "(ibi: {})"]


@pytest.mark.parametrize(
    "label", [IBIP, f"{REPOSITORY_NAME}+(pt)", "83LX3pFwXQZ5Jpy/Bkjzd", f"http://urlib.net/{IBIP}:"]
)
@pytest.mark.parametrize("brackets", BRACKETS)
def test_brackets_around_a_label_are_no_part_of_it(brackets: str, label: str) -> None:
    if "ibi:" in brackets.lower() and "http" in label:
        return  # two prefixes
    url = PersistentUrl.parse(brackets.format(label))
    assert url == PersistentUrl.parse(label)


@pytest.mark.parametrize(
    "brackets", ["<{}>", "<<{}>>", "‹{}›", "({})", "%3C{}%3E", "%3C%3C{}%3E%3E", "%E2%80%B9{}%E2%80%BA"]
)
def test_brackets_that_were_pasted_behind_the_host_are_no_part_of_a_label(brackets: str) -> None:
    url = PersistentUrl.parse(f"http://urlib.net/{brackets.format(f'{IBIP}!/a%f3b%20c')}?x=1")
    assert url == PersistentUrl.parse(f"/{IBIP}!/a%f3b%20c?x=1")
    assert url.spelled_path == "/a%f3b%20c"


@pytest.mark.parametrize("text", [f"<{IBIP}", f"(({IBIP})", f"<<{IBIP}>", "<>", "()", "<<>>", f"[{IBIP}]", f"<{IBIP})"])
def test_brackets_that_do_not_match_are_refused(text: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(text)


def test_what_is_wrong_inside_brackets_is_pointed_at() -> None:
    with pytest.raises(InvalidPersistentUrl) as caught:
        PersistentUrl.parse(f"< {IBIP}!!>")
    assert caught.value.text[caught.value.offset :] == "!>"


@pytest.mark.parametrize("sign", ["<", "(", "<<", "‹", "ibi:", "./", "upn:A:", "<ibi:"])
def test_many_brackets_and_prefixes_cost_no_time(sign: str) -> None:
    closing = {"<": ">", "(": ")", "<<": ">>", "‹": "›"}.get(sign, "")
    text = sign * 2000 + IBIP + closing * 2000
    start = time.process_time()
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(text)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("label", ["83LX3pFwXQZ5Jpy/Bkjzd", "6qtX3pFwXQZ3P8SECKy/Gk4Ky"])
@pytest.mark.parametrize(
    "text",
    [
        *("http://urlib.net/{}", "http://www.urlib.net/{}.", "see urlib.net/{},", "https://urlib.net/ibi/{}/a.pdf"),
        *("IBI:{}", "(ibi: {})", "<IBI:{}>", "upn:7EKRSA:/{}", "./upn:7EKRSA:{} x", "/rep/{}", "goto-/{}?x"),
        *("http://bibdigital.sid.inpe.br/{}", '<a href="http://mtc-m12.sid.inpe.br/rep/{}">', "/col/{}/doc/a.pdf"),
    ],
)
def test_case_sensitive_labels_are_found_in_links(text: str, label: str) -> None:
    (found,) = find_labels(text.format(label))
    assert str(found.label) == label
    assert text.format(label)[found.start : found.end] == label


@pytest.mark.parametrize(
    "text",
    [
        *("either/Or", "https://github.com/Foo/Bar", "https://en.wikipedia.org/wiki/Foo", "src/Main/java", "TCP/Ip"),
        *("https://example.org/Foo1/Bar", "rep/Foo/Bar", "http://urlib.net/", "IBI:", "83LX3pFwXQZ5Jpy/Bkjzd"),
        *("http://urlib.net/aa/bb", "http://urlib.net/6qtX3pFwXQZ3P8SECKy/Gk4Ky_x"),
    ],
)
def test_what_only_looks_like_a_case_sensitive_label_is_not_found(text: str) -> None:
    assert list(find_labels(text)) == []


@pytest.mark.parametrize(
    "text", ["http://", "https://urlib.net/", "ibi: ", "rep/", "upn:a:", "http://a.", "urlib.net/aB1/"]
)
def test_labels_are_looked_for_in_linear_time(text: str) -> None:
    """Eight times the text: at most thirty times the time, and not sixty-four."""

    def seconds(times: int) -> float:
        start = time.process_time()
        assert len(list(find_labels(text * times))) < times
        return time.process_time() - start

    once = min(seconds(4_000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(2)) < max(30 * once, 0.05)


ALL = [IBIP, REPOSITORY_NAME, "83LX3pFwXQZ5Jpy/Bkjzd"]


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize(
    "text",
    [
        *(
            "<{}>",
            "<<{}>>",
            "‹{}›",
            "«{}»",
            "({})",
            "IBI: <{}>",
            "IBI:<{}>",
            "ibi: ({})",
            "Disponível em: <{}>. Acesso",
        ),
        *("< {} >", "(ver <{}>)", "IBI: <<{}>>.", "(http://urlib.net/{})"),
    ],
)
def test_labels_in_brackets_are_found_in_texts(text: str, label: str) -> None:
    (found,) = find_labels(text.format(label))
    assert text.format(label)[found.start : found.end] == label


@pytest.mark.parametrize("text", ["(either/Or)", "<p/Br>", "(TCP/Ip)", "(83LX3pFwXQZ5Jpy/Bkjzd x)", "«Cats/dogs»"])
def test_what_only_looks_like_a_label_in_brackets_is_not_found(text: str) -> None:
    assert list(find_labels(text)) == []


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize(
    "text", ["<{}>.", "({}),", "<<{}>>;", "IBI: <{}>.", "/%3C{}%3E.", "/«{}».", "<http://urlib.net/{}>."]
)
def test_after_brackets_the_end_of_a_sentence_is_told_from_the_label(text: str, label: str) -> None:
    with pytest.raises(PunctuatedLabel) as caught:
        PersistentUrl.parse(text.format(label))
    assert caught.value.details["suggestion"] == label
    assert caught.value.text[caught.value.offset :] in (".", ",", ";")


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(
            ("/<http://urlib.net/{}>", "/{}"),
            ("/%3Chttp://urlib.net/{}!%3E", "/{}!"),
            ("/(https://urlib.net/{}/a)", "/{}/a"),
        ),
        *(("/%AB{}%BB", "/{}"), ("http://urlib.net/%ab{}!%bb", "/{}!"), ("/%C2%AB{}%C2%BB", "/{}")),
        *(("/<{}>!", "/{}!"), ("/%3C{}%3E+(pt):", "/{}+(pt):"), ("/<{}>/a%f3b", "/{}/a%f3b"), ("IBI: <{}>:", "/{}:")),
        *(
            ("/<{}?x=1>", "/{}?x=1"),
            ("/%3C{}?x=1%3E", "/{}?x=1"),
            ("/<http://urlib.net/{}?ibiurl.language=pt>", "/{}?ibiurl.language=pt"),
        ),
        ("/<{}?ibiurl.verblist=GetMetadata(oai_dc)>", "/{}:(oai_dc)"),
    ],
)
def test_brackets_around_a_part_of_a_link_are_no_part_of_it(text: str, meant: str, label: str) -> None:
    url = PersistentUrl.parse(text.format(label))
    assert url == PersistentUrl.parse(meant.format(label))
    assert url.spelled_path == PersistentUrl.parse(meant.format(label)).spelled_path
