"""The Archive's service over HTTP: where it is, what it refuses, what it keeps, what it counts."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest
import structlog

from ibi.instant import Instant
from ibi.messages import ErrorAnswer, ServiceSubject, parse_answer
from ibi.model.item import Item
from ibi.model.metadata import DescriptiveMetadata, Text
from ibi.model.usage import Usage
from ibi.model.visibility import Visibility, network
from ibi.pairs import Pairs
from ibi.web.archive_service import ArchiveService
from tests.archive_app import IBIP, NOW, OTHER, REP, ArchiveApp, archive_app, deleted, kept

PLACE = "/lab.br/arq/2020/01.01.00.00"


def url_request(ibi: str = IBIP, client: str = "150.163.2.175", more: str = "", place: str = PLACE) -> str:
    pairs = f"clientinformation.ipaddress={client}&parsedibiurl.ibi={ibi}{more}"
    return f"{place}?{pairs}&servicesubject=urlRequest"


async def body(app: ArchiveApp, path: str) -> bytes:
    answer = await app.get(path)
    assert answer.status == 200
    return answer.body.rpartition(b"urlkey ")[0]


@pytest.mark.parametrize(
    "place",
    [
        "/lab.br/arq/2020/01.01.00.00",
        "/LAB.br/Arq/2020/01.01.00.00",
        "/lab.br%2Farq/2020/01.01.00.00",
        "/8JMKD3MGP8W/3UM2JL2",
        "/8jmkd3mgp8w/3um2jl2",
    ],
)
async def test_it_answers_at_both_forms_of_its_label_in_any_spelling(place: str) -> None:
    assert b"state Original" in await body(archive_app(kept(REP, IBIP)), url_request(place=place))


async def test_the_form_that_only_its_own_item_knows_is_its_label_too() -> None:
    from ibi.archive.profile import ArchiveProfile
    from ibi.archive.urls import ArchiveUrls
    from tests.standards_archives import forms

    profile = ArchiveProfile("arq.lab.br", forms(PLACE[1:]), ArchiveUrls("http://a.br", "http://a.br"))
    service, other = kept(PLACE[1:], "8JMKD3MGP8W/3UM2JL2"), kept(REP, IBIP)
    assert await body(archive_app(service, other, profile=profile), url_request(place="/8JMKD3MGP8W/3UM2JL2"))


async def test_without_a_subject_it_is_an_ordinary_item() -> None:
    answer = await archive_app(kept(PLACE[1:])).get(PLACE)
    assert (answer.status, answer.headers["location"]) == (302, f"http://arq.lab.br/col{PLACE}/doc/a.txt")


async def test_another_items_label_is_not_the_service() -> None:
    answer = await archive_app(kept(REP)).get(f"/{REP}?servicesubject=urlRequest")
    assert answer.status == 302


@pytest.mark.parametrize(
    "query",
    [
        "servicesubject=",
        "servicesubject=somethingElse",
        "servicesubject=urlRequest",
        "servicesubject=urlRequest&servicesubject=urlRequest",
        "servicesubject=inclusionRequest",
        "%73ervicesubject=x",
        f"servicesubject=urlRequest&clientinformation.ipaddress=1.2.3.4&parsedibiurl.ibi={IBIP}&parsedibiurl.verblist=Do",
        "servicesubject=urlRequest&clientinformation.ipaddress=x%7D%0D%0Aurl%20http://evil&parsedibiurl.ibi=x",
        "servicesubject=%C3%A9%7B%7D%00",
        "servicesubject=%FF",
    ],
)
async def test_what_is_no_request_gets_one_error_pair(query: str) -> None:
    """E18."""
    answer = await archive_app(kept(REP)).get(f"{PLACE}?{query}")
    assert (answer.status, answer.headers["content-type"]) == (400, "text/plain")
    assert answer.headers["cache-control"] == "no-store"
    pairs = Pairs.decode(answer.body)
    assert set(pairs) == {"error"}
    assert isinstance(parse_answer(ServiceSubject.URL_REQUEST, pairs), ErrorAnswer)


async def test_every_answer_has_another_key() -> None:
    app = archive_app(kept(REP, IBIP))
    keys = {(await app.get(url_request())).body.rpartition(b"urlkey ")[2] for _ in range(20)}
    assert len(keys) == 20


async def test_the_headers_say_how_long_an_answer_may_be_kept() -> None:
    """E32."""
    closed = Visibility((network("150.163.0.0/16"),))
    ending = Visibility(embargo=Instant(NOW.seconds + 100))
    for visibility, told in ((Visibility(), "max-age=300"), (closed, "no-store"), (ending, "max-age=100")):
        app = archive_app(kept(REP, IBIP, visibility=visibility))
        for _ in range(2):
            assert (await app.get(url_request())).headers["cache-control"] == told
    assert (await archive_app().get(url_request())).headers["cache-control"] == "no-store"
    confirmation = await archive_app().get(f"{PLACE}?servicesubject=inclusionConfirmationRequest")
    assert confirmation.headers["cache-control"] == "no-store"


# --- what is kept between requests -----------------------------------------------------------------------------------


async def test_the_same_request_is_not_looked_up_twice() -> None:
    app = archive_app(kept(REP, IBIP))
    first = await body(app, url_request())
    finds = app.catalog.finds
    assert await body(app, url_request()) == first
    assert await body(app, url_request(client="8.8.8.8")) == first
    assert await body(app, url_request(ibi=IBIP.lower())) == first
    assert app.catalog.finds == finds


async def test_a_change_of_the_catalogue_is_seen_at_once() -> None:
    item, content = kept(REP, IBIP)
    app = archive_app((item, content))
    await body(app, url_request())
    app.catalog.put(deleted(REP, IBIP)[0])
    assert b"state Deleted" in (await app.get(url_request())).body
    empty = archive_app()
    assert (await empty.get(url_request())).body == b""
    empty.catalog.put(item)
    assert b"state Original" in await body(empty, url_request())


async def test_without_word_of_changes_nothing_is_kept() -> None:
    app = archive_app(kept(REP, IBIP), caching=False)
    await body(app, url_request())
    finds = app.catalog.finds
    await body(app, url_request())
    assert app.catalog.finds > finds


async def test_what_one_client_may_see_is_not_told_another() -> None:
    app = archive_app(kept(REP, IBIP, visibility=Visibility((network("150.163.0.0/16"),))))
    for _ in range(2):
        assert b"contenttype Data" in await body(app, url_request())
        assert b"contenttype Metadata" in await body(app, url_request(client="8.8.8.8"))


async def test_an_answer_ends_with_the_embargo_it_speaks_of() -> None:
    app = archive_app(kept(REP, IBIP, visibility=Visibility(embargo=Instant(NOW.seconds + 100))))
    assert b"contenttype Metadata" in await body(app, url_request())
    app.clocks.advance(100)
    assert b"contenttype Data" in await body(app, url_request())


async def test_a_flood_of_requests_does_not_fill_the_memory() -> None:
    from ibi.archive.answer import EMPTY
    from ibi.web.archive_service import KeptAnswers

    answers = KeptAnswers(most=10)
    for number in range(100):
        answers.keep(number, EMPTY)
        assert answers.find(0, lambda: NOW) is EMPTY  # asked for again and again, it stays
    assert len(answers) == 10


# --- asked in the same process ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ibi", [IBIP, OTHER, "no label"])
async def test_who_asks_in_the_same_process_is_told_what_is_sent_over_http(ibi: str) -> None:
    app = archive_app(kept(REP, IBIP))
    service = ArchiveService(app.site, structlog.get_logger())
    path = url_request(ibi=quote(ibi))
    for _ in range(2):
        sent = await app.get(path)
        status, told, caching = service.answered(path.partition("?")[2].encode())
        assert (status, caching.decode()) == (sent.status, sent.headers["cache-control"])
        assert told.rpartition(b"urlkey ")[0] == sent.body.rpartition(b"urlkey ")[0]
        assert len(told) == len(sent.body)


# --- what is counted -------------------------------------------------------------------------------------------------


def acknowledgment(key: str, client: str = "150.163.2.175") -> str:
    return (
        f"{PLACE}?clientinformation.ipaddress={client}&contenttype=Data&servicesubject=acknowledgment&state=Original&"
        f"url=http://arq.lab.br/x&url.persistent=http://urlib.net/{IBIP}&urlkey={key}"
    )


def used(app: ArchiveApp, item: Item) -> Usage:
    return sum((usage for _, usage in app.usage.days(item.rep)), Usage())


async def test_an_acknowledged_resolution_counts_once_for_each_client_and_half_minute() -> None:
    """E32."""
    item, content = kept(REP, IBIP)
    app = archive_app((item, content))
    key = (await app.get(url_request())).body.rpartition(b"urlkey ")[2].decode()
    for _ in range(3):
        answer = await app.get(acknowledgment(key))
        assert (answer.body, answer.headers["cache-control"]) == (b"notice {acknowledgment received}", "no-store")
    assert used(app, item) == Usage(resolutions=1)
    await app.get(acknowledgment(key, "8.8.8.8"))
    app.clocks.advance(30)
    await app.get(acknowledgment(key))
    assert used(app, item) == Usage(resolutions=3)


async def test_a_key_that_is_not_ours_counts_nothing() -> None:
    item, content = kept(REP, IBIP)
    app = archive_app((item, content))
    answer = await app.get(acknowledgment("1427244889-5349022633744855"))
    assert (answer.status, answer.body) == (200, b"notice {acknowledgment received}")
    assert used(app, item) == Usage()


# --- hostile items ---------------------------------------------------------------------------------------------------

HOSTILE = "a}\u00a0url http:{evil}%0D%0Astate Deleted ü.txt"


async def test_names_and_descriptions_put_no_pairs_into_an_answer() -> None:
    described = DescriptiveMetadata(title=(Text("x\r\nurl http://evil.br/\r\nstate Deleted {"),))
    item, content = kept(REP, IBIP, files={HOSTILE: ("text/plain", b"x")}, metadata=described)
    app = archive_app((item, content), (replace(kept(OTHER)[0], target=None), {}))
    pairs = Pairs.decode((await app.get(url_request())).body)
    assert pairs["state"] == "Original"
    assert str(pairs["url"]).startswith(f"http://arq.lab.br/col/{REP}/doc/a%7D%C2%A0url")
    assert set(pairs) == {
        *("archiveaddress", "contenttype", "ibi", "ibi.archiveservice", "ibi.platformsoftware"),
        *("state", "timestamp", "url", "urlkey"),
    }
    assert (await app.get("/" + str(pairs["url"]).split("/", 3)[3])).body == b"x"
