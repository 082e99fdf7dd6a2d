"""E72: labels of before 2008, outside G and case sensitive. The two are in public use."""

from __future__ import annotations

import copy
import pickle

import pytest

from ibi.items.model.description_values import Alternate
from ibi.resolver.rules.outcome import NotFound, Redirect, UnprovenClaims, Unsettled
from ibi.standard.errors import InvalidLabel, InvalidPersistentUrl
from ibi.standard.label import Ibip, LegacyLabel, RepositoryName, find_labels, parse, parse_any
from ibi.standard.label.search import home_prefix
from ibi.standard.messages import LabelForms, UrlList, UrlRequest, ip_addresses, parse_request, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl
from tests.support.archive_app import archive_app, kept
from tests.support.resolver_app import A, B, C, item, resolver_app
from tests.support.scripted_archives import archive, body, resolve

PLACE = "/lab.br/arq/2020/01.01.00.00"
LISE, OTHER = "83LX3pFwXQZ5Jpy/Bkjzd", "6qtX3pFwXQZ3P8SECKy/Gk4Ky"
REP, IBIP = "dpi.inpe.br/lise/2004/03.02.15.20", "8JMKD3MGP8W/35MMLL8"
ONE, TWO, THREE = archive("one"), archive("two"), archive("three")


def url_request(label: str) -> str:
    return f"{PLACE}?{UrlRequest(ip_addresses('150.163.2.174'), parse_any(label)).to_query()}"


# --- the label ---


@pytest.mark.parametrize("text", [LISE, OTHER, "aB/c", "a/Bc", "Ab/1", "Z9z/Z"])
def test_two_runs_with_both_cases_in_one_are_a_label(text: str) -> None:
    label = parse_any(text)
    assert isinstance(label, LegacyLabel)
    assert (str(label), label.spelling, label.form, label.is_dated) == (text, text, "legacy", False)
    assert label == LegacyLabel.parse(text)
    assert pickle.loads(pickle.dumps(label)) == copy.copy(label) == label
    assert home_prefix(label) == ""


def test_case_counts_in_a_legacy_label() -> None:
    assert parse_any(LISE) != parse_any(LISE.swapcase())
    assert len({parse_any(LISE), parse_any(LISE), parse_any(OTHER)}) == 2


@pytest.mark.parametrize(
    ("text", "kind"), [("8jmkd3MGP7W/3EPGUE5", Ibip), (REP, RepositoryName), ("LK47B6W/362sFKH", Ibip)]
)
def test_what_fits_the_standard_is_read_by_it_first(text: str, kind: type) -> None:
    assert isinstance(parse_any(text), kind)
    with pytest.raises(InvalidLabel):
        LegacyLabel.parse(text)


@pytest.mark.parametrize("text", [LISE.upper(), LISE.lower(), "ab/CD", "AB/cd"])
def test_what_has_one_case_alone_stays_a_mistyped_ibip_with_its_diagnosis(text: str) -> None:
    with pytest.raises(InvalidLabel) as refused:
        parse_any(text)
    with pytest.raises(InvalidLabel) as before:
        parse(text)
    assert str(refused.value) == str(before.value)


@pytest.mark.parametrize(
    "text", ["", "aB", "aB/", "/aB", "aB/c/d", "aB/c-d", "aB /c", "á/aB", "aB/c\n", "aB/" + "x" * 129]
)
def test_nothing_else_is_one(text: str) -> None:
    with pytest.raises(InvalidLabel):
        LegacyLabel.parse(text)
    with pytest.raises(InvalidLabel):
        parse_any(text)


def test_the_parser_of_the_standard_and_the_search_in_texts_know_none() -> None:
    with pytest.raises(InvalidLabel):
        parse(LISE)
    assert list(find_labels(f"See {LISE} and and/Or.")) == []


def test_a_legacy_label_does_not_say_when() -> None:
    with pytest.raises(TypeError):
        parse_any(LISE).instant  # noqa: B018


# --- links and messages ---


@pytest.mark.parametrize(
    "link", [f"/{LISE}", LISE, f"http://urlib.net/{LISE}", f"/ibi/{LISE}", f"upn:7EKRSA:{LISE}", f"/goto-/{LISE}"]
)
def test_a_legacy_label_may_stand_in_links(link: str) -> None:
    assert PersistentUrl.parse(link) == PersistentUrl(parse_any(LISE))
    assert str(PersistentUrl.parse(link)) == f"http://urlib.net/{LISE}"
    assert PersistentUrl.parse(f"{link}:(oai_dc)").relation.metadata_format == "oai_dc"
    assert PersistentUrl.parse(f"{link}/a.pdf?x=1").file_path == "/a.pdf"


@pytest.mark.parametrize("link", ["/ibi/Foo", "/rep/Foo", f"/{LISE.upper()}", "/index.html"])
def test_other_links_are_refused_as_before(link: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(link)


def test_a_legacy_label_is_asked_for_as_it_is_spelled() -> None:
    request = UrlRequest(ip_addresses("150.163.2.174"), parse_any(LISE))
    assert f"parsedibiurl.ibi={LISE}" in request.to_query()
    assert parse_request(request.to_query()) == request


def test_in_an_answer_it_may_stand_in_the_place_of_the_ibip() -> None:
    pairs = Pairs.decode(
        body(ONE, f"rep {REP} ibip {LISE}", url="http://one.example.org/x", contenttype="Data", state="Copy")
    )
    answer = parse_url_list(pairs)
    assert isinstance(answer, UrlList)
    assert answer.ibi == LabelForms(RepositoryName.parse(REP), None, LegacyLabel.parse(LISE))
    assert answer.left_out == ()
    assert answer.to_pairs()["ibi"] == ("rep", REP, "ibip", LISE)
    assert [answer.ibi.may_name(parse_any(text)) for text in (LISE, OTHER, REP)] == [True, False, True]


# --- resolution ---


def found(of: object, rep: str = REP, state: str = "Original") -> bytes:
    return body(
        of,  # type: ignore[arg-type]
        f"rep {rep}",
        url=f"http://{of}/{rep}",
        contenttype="Data",
        state=state,
        urlkey="1234567890",
    )


def test_all_archives_are_asked_and_one_claim_is_followed() -> None:
    asked = []

    def says(archive: object, answer: bytes):  # type: ignore[no-untyped-def]
        def say(request: UrlRequest) -> bytes:
            asked.append((archive, request.label.spelling))
            return answer

        return say

    outcome = resolve(LISE, {ONE: says(ONE, b""), TWO: says(TWO, found(TWO)), THREE: says(THREE, b"")})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO
    assert sorted(map(str, asked)) == sorted(map(str, [(each, LISE) for each in (ONE, TWO, THREE)]))


def test_claims_for_one_item_are_ranked_as_any() -> None:
    outcome = resolve(LISE, {ONE: lambda _: found(ONE, state="Copy"), TWO: lambda _: found(TWO)})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO


def test_claims_for_different_items_are_shown() -> None:
    other = "sid.inpe.br/mtc-m18/2004/03.02.15.20"
    outcome = resolve(LISE, {ONE: lambda _: found(ONE), TWO: lambda _: found(TWO, other), THREE: lambda _: b""})
    assert isinstance(outcome, UnprovenClaims)
    assert outcome.why is Unsettled.DIFFERENT_ITEMS
    assert {claim.archive for claim in outcome.claims} == {ONE, TWO}
    assert {(claim.archive, str(claim.item)) for claim in outcome.claims} == {(ONE, REP), (TWO, other)}


@pytest.mark.parametrize("link", [LISE, f"{LISE}:", f"{LISE}?ibiurl.requireditemstatus=Original"])
def test_a_copy_of_another_item_is_no_claim_against_an_original(link: str) -> None:
    other = "sid.inpe.br/mtc-m18/2004/03.02.15.20"

    def says(of: object, rep: str, state: str) -> bytes:
        pairs = {"url": f"http://{of}/{rep}", "contenttype": "Data", "state": state}
        return body(of, f"rep {rep}", **pairs, **{f"{name}.metadata": value for name, value in pairs.items()})  # type: ignore[arg-type]

    copies = {each: lambda _, each=each: says(each, other, "Copy") for each in (TWO, THREE)}
    outcome = resolve(link, {ONE: lambda _: says(ONE, REP, "Original"), **copies})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == ONE


def test_copies_of_different_items_are_shown_where_there_is_no_original() -> None:
    other = "sid.inpe.br/mtc-m18/2004/03.02.15.20"
    outcome = resolve(LISE, {ONE: lambda _: found(ONE, state="Copy"), TWO: lambda _: found(TWO, other, "Copy")})
    assert isinstance(outcome, UnprovenClaims)
    assert outcome.why is Unsettled.DIFFERENT_ITEMS


@pytest.mark.parametrize("has_copy", [False, True])
def test_only_copies_of_the_original_are_followed_for_what_it_does_not_offer(has_copy: bool) -> None:
    def says(of: object, rep: str) -> bytes:
        pairs = {"url": f"http://{of}/m", "contenttype": "Metadata", "state": "Copy"}
        return body(of, f"rep {rep}", **{f"{name}.metadata": value for name, value in pairs.items()})  # type: ignore[arg-type]

    answers = {
        ONE: lambda _: found(ONE),
        TWO: lambda _: says(TWO, REP) if has_copy else b"",
        THREE: lambda _: says(THREE, "sid.inpe.br/mtc-m18/2004/03.02.15.20"),
    }
    outcome = resolve(f"{LISE}:", answers)
    assert (isinstance(outcome, Redirect) and outcome.archive == TWO) if has_copy else not isinstance(outcome, Redirect)


def test_one_that_no_archive_knows_is_not_found() -> None:
    assert isinstance(resolve(LISE, {ONE: lambda _: b"", TWO: lambda _: b""}), NotFound)


async def test_a_claim_is_neither_remembered_nor_kept() -> None:
    app = resolver_app({A: b"", B: item(B), C: b""})
    for number in (1, 2):
        answer = await app.get(f"/{LISE}")
        assert (answer.status, answer.headers["cache-control"]) == (302, "no-store")
        assert len(app.gateway.asked) == 3 * number


async def test_readers_are_told_in_their_language_that_items_differ() -> None:
    other = item(B).replace(b"lab.br/arq/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8", b"lab.br/arq/2009/07.21.14.44")
    app = resolver_app({A: item(A), B: other})
    for language, words in (
        ("en", "claimed for different items"),
        ("pt-BR", "itens diferentes"),
        ("es", "ítems diferentes"),
    ):
        _, page = await app.page(f"/{LISE}", language)
        assert words in page
        assert LISE in page
        for label in ("lab.br/arq/2009/07.21.14.43", "lab.br/arq/2009/07.21.14.44"):
            assert label in page


# --- an Archive ---


async def test_an_archive_answers_for_the_item_that_has_it_as_another_name() -> None:
    app = archive_app(kept(REP, alternates=(Alternate("ibi", LISE),)))
    answer = parse_url_list(Pairs.decode((await app.get(url_request(LISE))).body))
    assert isinstance(answer, UrlList)
    assert answer.ibi == LabelForms.parse(f"rep {REP}")
    empty = await app.get(url_request(OTHER))
    assert (empty.status, empty.body) == (200, b"")
    assert (await app.get(url_request(LISE.swapcase()))).body == b""


async def test_an_archive_alone_resolves_a_legacy_label() -> None:
    app = archive_app(kept(REP, alternates=(Alternate("ibi", LISE),)))
    answer = await app.get(f"/{LISE}")
    assert (answer.status, answer.headers["location"]) == (302, f"http://arq.lab.br/col/{REP}/doc/a.txt")
    assert (await app.get(f"/{OTHER}")).status == 404
