"""Persistent URLs sent to an Archive on its own."""

from __future__ import annotations

from typing import Any

import pytest

from ibi.items.model.visibility import Visibility
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.standard.networks import network
from ibi.usage.model import Usage
from tests.support.archive_app import BASE, IBIP, OTHER, REP, RESOLVER, ArchiveApp, archive_app, deleted, kept
from tests.support.standards_archives import forms

NEW, EN, GONE, META, ALONE = (f"lab.br/arq/2020/01.02.03.{minute}" for minute in ("05", "06", "07", "08", "09"))
BROWSER = {"accept": "text/html,*/*;q=0.8"}
PAGE = f"{BASE}/col/{REP}/metadata"
_EN, _PT, _BR = LanguageTag("en"), LanguageTag("pt"), LanguageTag("pt", "BR")


def network_of_items(**options: Any) -> ArchiveApp:
    files = {"a b.txt": ("text/plain", b"x"), "Relatório.pdf": ("application/pdf", b"y")}
    return archive_app(
        kept(REP, IBIP, files=files, next_edition=forms(NEW)),
        kept(NEW, edition_of=forms(REP, IBIP), language=_PT, translations=((_EN, forms(EN)),)),
        kept(EN, language=_EN, translation_of=forms(NEW)),
        deleted(GONE, why="by request"),
        kept(OTHER, files={}, target=None, target_url="https://maps.lab.br/wms?v=1#map"),
        **options,
    )


@pytest.mark.parametrize("place", [f"/{OTHER}/a.txt", f"/col/{OTHER}/doc/a.txt"])
async def test_an_archive_without_a_resolver_names_that_of_the_world(place: str) -> None:
    answer = await archive_app(kept(REP)).get(place, BROWSER)
    assert answer.status == 404
    assert f'href="http://urlib.net/{OTHER}/a.txt"' in answer.body.decode()


def data(rep: str, name: str = "a.txt") -> str:
    return f"{BASE}/col/{rep}/doc/{name}"


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (f"/{REP}", data(REP, "a%20b.txt")),
        (f"/{IBIP}", data(REP, "a%20b.txt")),
        (f"/{IBIP.lower()}", data(REP, "a%20b.txt")),
        (f"/ibi/{IBIP}", data(REP, "a%20b.txt")),
        (f"/rep/{REP}", data(REP, "a%20b.txt")),
        (f"/{REP.replace('/', '%2F')}", data(REP, "a%20b.txt")),
        (f"/{REP}-TDI", data(REP, "a%20b.txt")),
        (f"/{IBIP}/Relat%C3%B3rio.pdf", data(REP, "Relat%C3%B3rio.pdf")),
        (f"/{IBIP}/Relat%F3rio.pdf", data(REP, "Relat%C3%B3rio.pdf")),
        (f"/{IBIP}:", PAGE),
        (f"/{IBIP}??", PAGE),
        (f"/{IBIP}:(oai_dc)", f"{PAGE}?format=oai_dc"),
        (f"/{IBIP}?ibiurl.verblist=GetFileList", f"{BASE}/col/{REP}/doc/?list"),
        (f"/{IBIP}!", data(NEW)),
        (f"/{IBIP}!:", f"{BASE}/col/{NEW}/metadata"),
        (f"/{IBIP}!/a.txt", data(NEW)),
        (f"/{IBIP}!+(en)", data(EN)),
        (f"/{NEW}!", data(NEW)),
        (f"/{NEW}+(en)", data(EN)),
        (f"/{NEW}+(pt)", data(NEW)),
        (f"/{EN}+(pt)", data(NEW)),
        (f"/{NEW}+", data(NEW)),
        (f"/{IBIP}+", data(REP, "a%20b.txt")),
        (f"/{NEW}?x=1&y=%20", data(NEW) + "?x=1&y=%20"),
        (f'/{NEW}?x=a|b"<{{}}^`~%zz&wsdl', data(NEW) + '?x=a|b"<{}^`~%zz&wsdl'),
        (f"/{NEW}:?x=1", f"{BASE}/col/{NEW}/metadata"),
        (f"/{OTHER}?x=1", "https://maps.lab.br/wms?v=1&x=1#map"),
        (f"/{OTHER}?ibiurl.unknown=1", "https://maps.lab.br/wms?v=1#map"),
        (f"/{NEW}?ibiurl.requireditemstatus=Original", data(NEW)),
    ],
)
async def test_what_is_here_is_found_here(path: str, location: str) -> None:
    app = network_of_items(resolver=RESOLVER)
    for method in ("GET", "HEAD"):
        answer = await app.get(path, method=method)
        assert (answer.status, answer.headers.get("location")) == (302, location)
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("accepted", "rep"),
    [
        ("en", EN),
        ("en-US,en;q=0.9", EN),
        ("pt-BR,pt;q=0.9,en;q=0.8", NEW),
        ("fr, en;q=0.1", EN),
        ("en;q=0, fr", NEW),
        ("fr", NEW),
        ("*", NEW),
        ("", NEW),
        ("\xe9;;q=x,,,", NEW),
        ("," * 10000, NEW),
    ],
)
async def test_the_readers_language_is_chosen(accepted: str, rep: str) -> None:
    answer = await network_of_items().get(f"/{NEW}+", {"accept-language": accepted})
    assert answer.headers["location"] == data(rep)


async def test_the_language_of_a_link_goes_before_the_browsers() -> None:
    """E21."""
    answer = await network_of_items().get(f"/{NEW}+?ibiurl.language=en", {"accept-language": "pt"})
    assert answer.headers["location"] == data(EN)


async def test_a_single_variant_of_a_language_is_taken_for_it() -> None:
    app = archive_app(
        kept(REP, language=_EN, translations=((_BR, forms(OTHER)),)),
        kept(OTHER, language=_BR, translation_of=forms(REP)),
    )
    for path, accepted in ((f"/{REP}+(pt)", ""), (f"/{REP}+(pt-BR)", ""), (f"/{REP}+", "pt-PT")):
        assert (await app.get(path, {"accept-language": accepted})).headers["location"] == data(OTHER)
    answer = await app.get(f"/{REP}+(pt-PT)")
    assert (answer.status, answer.json()["type"]) == (404, "urn:ibi:problem:no-such-translation")
    assert "en, pt-BR" in answer.json()["detail"]


FOREIGN = "Dpi.inpe.br/banon/1998/08.02.08.56"


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        (f"/{FOREIGN}", f"/{FOREIGN}"),
        (f"/{FOREIGN}!:(oai_dc)?x=1", f"/{FOREIGN}!:(oai_dc)?x=1"),
        (f"/ibi/{FOREIGN}/Relat%F3rio.pdf", f"/{FOREIGN}/Relat%F3rio.pdf"),
        (f"/{FOREIGN}+?ibiurl.language=en", f"/{FOREIGN}+?ibiurl.language=en"),
    ],
)
async def test_what_is_not_here_is_the_resolvers_to_find(path: str, leads: str) -> None:
    answer = await network_of_items(resolver=RESOLVER).get(path)
    assert (answer.status, answer.headers["location"]) == (302, RESOLVER + leads)
    alone = await network_of_items().get(path)
    assert (alone.status, alone.json()["type"]) == (404, "urn:ibi:problem:unknown-item")


async def test_an_archive_that_is_its_own_resolver_sends_no_reader_round_in_circles() -> None:
    assert (await network_of_items(resolver=BASE + "/").get(f"/{FOREIGN}")).status == 404


async def test_related_items_elsewhere_are_the_resolvers_to_find() -> None:
    items = (
        kept(REP, next_edition=forms(FOREIGN)),
        kept(NEW, language=_PT, translations=((_EN, forms(FOREIGN)),)),
        kept(OTHER, metadata_item=forms(FOREIGN)),
    )
    for path in (f"/{REP}!", f"/{REP}!:", f"/{NEW}+(en)", f"/{NEW}+(en):", f"/{OTHER}:"):
        sent = await archive_app(*items, resolver=RESOLVER).get(path)
        assert (sent.status, sent.headers["location"]) == (302, f"{RESOLVER}{path}")
        alone = await archive_app(*items).get(path)
        assert (alone.status, alone.json()["type"]) == (404, "urn:ibi:problem:item-elsewhere")
        assert FOREIGN in alone.json()["detail"]


@pytest.mark.parametrize(
    ("added", "accepted", "rep"),
    [
        (":", "pt", OTHER),
        (":+", "pt", NEW),
        (":+", "en", OTHER),
        (":+", "fr", OTHER),
        (":+(pt)", "en", NEW),
        ("!:+", "pt", NEW),
        ("!+:+", "pt", NEW),
    ],
)
async def test_metadata_that_is_an_item_is_led_to_in_the_readers_language(added: str, accepted: str, rep: str) -> None:
    app = archive_app(
        kept(REP, metadata_item=forms(OTHER)),
        kept(OTHER, language=_EN, describes=forms(REP), translations=((_PT, forms(NEW)),)),
        kept(NEW, language=_PT, translation_of=forms(OTHER)),
    )
    assert (await app.get(f"/{REP}{added}", {"accept-language": accepted})).headers["location"] == data(rep)


async def test_a_last_edition_that_was_deleted_is_gone() -> None:
    app = archive_app(kept(REP, next_edition=forms(NEW)), kept(NEW, next_edition=forms(GONE)), deleted(GONE))
    for path in (f"/{REP}!", f"/{REP}!:", f"/{REP}!+", f"/{REP}!+(en)"):
        answer = await app.get(path)
        assert (answer.status, answer.json()["type"]) == (410, "urn:ibi:problem:item-deleted")
        assert GONE in answer.json()["detail"]


async def test_a_line_of_editions_tied_into_a_loop_ends() -> None:
    """E23."""
    app = archive_app(kept(REP, next_edition=forms(NEW)), kept(NEW, next_edition=forms(REP)))
    assert (await app.get(f"/{REP}!+")).json()["type"] == "urn:ibi:problem:item-elsewhere"


async def test_a_required_original_is_not_a_copy() -> None:
    path = f"/{REP}?ibiurl.requireditemstatus=Original"
    copy = kept(REP, state=State.COPY)
    assert (await archive_app(copy, resolver=RESOLVER).get(path)).headers["location"] == RESOLVER + path
    assert (await archive_app(copy).get(path)).json()["type"] == "urn:ibi:problem:original-elsewhere"
    assert (await archive_app(copy).get(f"/{REP}")).status == 302


def copy_beside_originals(**options: Any) -> ArchiveApp:
    """A Copy with an edition and a translation that were deposited here, an Original with a translation that is a Copy,
    and a translation whose source is elsewhere."""
    return archive_app(
        kept(REP, IBIP, state=State.COPY, next_edition=forms(NEW)),
        kept(NEW, edition_of=forms(REP, IBIP)),
        kept(EN, language=_EN, translation_of=forms(REP, IBIP)),
        kept(OTHER, language=_PT, translations=((_EN, forms(META)),)),
        kept(META, state=State.COPY, language=_EN, translation_of=forms(OTHER)),
        kept(ALONE, language=_EN, translation_of=forms(FOREIGN)),
        **options,
    )


@pytest.mark.parametrize(
    "added",
    ["!", "!:", "!/a.txt", "+(pt)", "+(en)", "+", "+(pt)/a.txt", "!+(pt)", "/new.txt", ":(BibINPE)"],
)
async def test_what_a_copy_cannot_know_is_the_resolvers_to_find(added: str) -> None:
    """The Original may have a later edition, another translation or another file since the Copy was made."""
    sent = await copy_beside_originals(resolver=RESOLVER).get(f"/{REP}{added}")
    assert (sent.status, sent.headers["location"]) == (302, f"{RESOLVER}/{REP}{added}")


@pytest.mark.parametrize("path", [f"/{ALONE}+(fr)", f"/{ALONE}+", f"/{META}+(fr)", f"/{META}!"])
async def test_what_a_source_elsewhere_knows_is_the_resolvers_to_find(path: str) -> None:
    sent = await copy_beside_originals(resolver=RESOLVER).get(path)
    assert (sent.status, sent.headers["location"]) == (302, RESOLVER + path)


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (f"/{REP}", data(REP)),
        (f"/{REP}/a.txt", data(REP)),
        (f"/{REP}:", PAGE),
        (f"/{REP}?ibiurl.verblist=GetFileList", f"{BASE}/col/{REP}/doc/?list"),
        (f"/{NEW}!", data(NEW)),
        (f"/{OTHER}+(en)", data(META)),
        (f"/{OTHER}+", data(OTHER)),
        (f"/{ALONE}+(en)", data(ALONE)),
    ],
)
async def test_copies_and_originals_are_found_here_as_far_as_they_tell_all(path: str, location: str) -> None:
    answer = await copy_beside_originals(resolver=RESOLVER).get(path, {"accept-language": "pt"})
    assert (answer.status, answer.headers["location"]) == (302, location)


async def test_a_copy_answers_where_there_is_no_resolver() -> None:
    app = copy_beside_originals()
    assert (await app.get(f"/{REP}!")).headers["location"] == data(NEW)
    assert (await app.get(f"/{REP}+(pt)")).json()["type"] == "urn:ibi:problem:no-such-translation"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"/{GONE}", 410, "item-deleted"),
        (f"/{GONE}:", 410, "item-deleted"),
        (f"/{IBIP}/nothing.txt", 404, "no-such-file"),
        (f"/{IBIP}!/a%20b.txt", 404, "no-such-file"),
        (f"/{NEW}+(fr)", 404, "no-such-translation"),
        (f"/{NEW}:(BibINPE)", 404, "unknown-format"),
        (f"/{IBIP}.", 404, "punctuated-label"),
        (f"/{IBIP}!!", 400, "invalid-persistent-url"),
        (f"/{IBIP}/../x", 400, "invalid-persistent-url"),
        (f"/{IBIP}/%2e%2e/x", 400, "invalid-persistent-url"),
        (f"/{IBIP}/a%5Cb", 400, "invalid-persistent-url"),
        (f"/{IBIP}/a%00", 400, "invalid-persistent-url"),
        (f"/{IBIP}?ibiurl.requireditemstatus=Copy", 400, "invalid-persistent-url"),
        ("/not/a/label", 400, "invalid-persistent-url"),
        ("/favicon.ico", 404, "not-found"),
        ("", 404, "not-found"),
        ("/%00", 404, "not-found"),
        ("/%FF", 404, "not-found"),
        *(
            (f"/{word}/x/2020/01.01.00.00", 404, "not-found")
            for word in ("static", "healthz", "readyz", "metrics", "api")
        ),
        ("/%61pi/nothing", 404, "not-found"),
    ],
)
async def test_what_cannot_be_found_says_why(path: str, status: int, code: str) -> None:
    app = network_of_items()
    answer = await app.get(path)
    assert (answer.status, answer.json()["type"]) == (status, f"urn:ibi:problem:{code}")
    page = await app.get(path, BROWSER)
    assert page.status == status


@pytest.mark.parametrize(
    ("link", "rep"), [(f"{IBIP}!/a%20b.txt", NEW), (f"{NEW}+(en)/b.txt", EN), (f"{IBIP}/b.txt", IBIP)]
)
async def test_the_item_without_the_file_is_named(link: str, rep: str) -> None:
    answer = await network_of_items().get(f"/{link}")
    assert answer.json()["detail"].startswith(f"{rep} has no file ")


async def test_a_reserved_word_is_escaped() -> None:
    rep = "api/x/2020/01.01.00.00"
    app = archive_app(kept(rep))
    assert (await app.get(f"/{rep}")).status == 404
    assert (await app.get(f"/ibi/{rep}")).headers["location"] == data(rep)


async def test_a_browser_gets_a_page_that_runs_nothing() -> None:
    page = await network_of_items().get(f"/{IBIP}/%3Cscript%3E", BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<script>" not in page.body
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_links_are_only_followed(method: str) -> None:
    answer = await network_of_items().get(f"/{IBIP}", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_readers_elsewhere_are_led_to_the_description() -> None:
    app = archive_app(kept(REP, visibility=Visibility((network("150.163.0.0/16"),))))
    assert (await app.get(f"/{REP}", client="8.8.8.8")).headers["location"] == PAGE
    assert (await app.get(f"/{REP}", client="150.163.1.1")).headers["location"] == data(REP)


async def test_the_host_that_a_request_names_is_not_believed() -> None:
    app = network_of_items()
    sent = {"host": "evil.br", "x-forwarded-host": "evil.br", "forwarded": "host=evil.br"}
    for path in (f"/{IBIP}", f"/{IBIP}:", f"/col/{REP}/doc/", f"/col/{REP}/metadata", f"/api/items/{REP}"):
        answer = await app.get(path, sent)
        assert "evil" not in answer.headers.get("location", "")
        assert b"evil" not in answer.body


@pytest.mark.parametrize("path", [f"/{NEW}?x=%0d%0aSet-Cookie:a=b", f"/{NEW}?x=\u00e9", f"/{OTHER}?a=%22%3E"])
async def test_no_link_ends_the_header_that_it_is_sent_on_in(path: str) -> None:
    answer = await network_of_items().get(path)
    assert answer.status == 302
    assert "set-cookie" not in answer.headers
    assert answer.headers["location"].isascii()
    assert answer.headers["location"].isprintable()


async def test_a_resolution_is_counted_once_for_each_reader() -> None:
    item, content = kept(REP)
    app = archive_app((item, content))
    for _ in range(3):
        await app.get(f"/{REP}")
    await app.get(f"/{REP}", client="8.8.8.8")
    await app.get(f"/{REP}", method="HEAD", client="8.8.4.4")
    ((_, usage),) = app.usage.days(item.rep)
    assert usage == Usage(resolutions=2)


async def test_the_pages_of_minting_are_where_they_were() -> None:
    app = network_of_items()
    assert (await app.get("/healthz")).status == 200
    assert (await app.get("/api/identity")).status == 200
    assert (await app.get("/api/identity", method="POST")).status == 405
    assert (await app.get("/api/nothing")).status == 404
