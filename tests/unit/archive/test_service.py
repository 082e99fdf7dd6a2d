"""The Archive's service over HTTP: where it is, what it refuses, what it keeps, what it counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import pytest
import structlog
from structlog.testing import capture_logs

from ibi.archive.api import ArchiveService
from ibi.items.model.item import Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.net.http_connection import freshness
from ibi.resolver.client.gateways import LocalArchive
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages import (
    Acknowledgment,
    ContentType,
    ErrorAnswer,
    ServiceSubject,
    State,
    UrlList,
    UrlRequest,
    ip_addresses,
    parse_answer,
    parse_url_list,
)
from ibi.standard.networks import network
from ibi.standard.pairs import Pairs
from ibi.standard.reply import Failure
from ibi.standard.storage_errors import StoreDamaged
from ibi.usage.model import Usage
from ibi.web.errors import log_untold
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, ArchiveApp, archive_app, deleted, kept
from tests.support.flat_items import replace

PLACE = "/lab.br/arq/2020/01.01.00.00"
CLOSED = Visibility((network("150.163.0.0/16"),))


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
async def test_the_service_answers_at_both_forms_of_its_label_in_any_spelling(place: str) -> None:
    assert b"state Original" in await body(archive_app(kept(REP, IBIP)), url_request(place=place))


async def test_the_form_that_only_its_own_item_knows_is_its_label_too() -> None:
    from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
    from tests.support.standards_archives import forms

    profile = ArchiveProfile("arq.lab.br", forms(PLACE[1:]), ArchiveUrls("http://a.br", "http://a.br"))
    service, other = kept(PLACE[1:], "8JMKD3MGP8W/3UM2JL2"), kept(REP, IBIP)
    assert await body(archive_app(service, other, profile=profile), url_request(place="/8JMKD3MGP8W/3UM2JL2"))


async def test_without_a_subject_it_is_an_ordinary_item() -> None:
    answer = await archive_app(kept(PLACE[1:])).get(PLACE)
    assert (answer.status, answer.headers["location"]) == (302, f"http://arq.lab.br/col{PLACE}/doc/a.txt")


async def test_another_items_label_is_not_the_service() -> None:
    answer = await archive_app(kept(REP)).get(f"/{REP}?servicesubject=urlRequest")
    assert answer.status == 302


ASKED = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.174"


@pytest.mark.parametrize(
    "query",
    [
        "servicesubject=urlRequest",
        ASKED,
        f"{ASKED}&parsedibiurl.ibi=",
        f"{ASKED}&parsedibiurl.ibi=not-a-label",
        f"{ASKED}&parsedibiurl.ibi=sid.inpe.br/mtc-m19/2013/02.30.12.27",
        f"{ASKED}&parsedibiurl.ibi=83LX3PFWXQZ5JPY/BKJZD",
        f"{ASKED}&parsedibiurl.ibi={IBIP}&parsedibiurl.verblist=Do",
        f"{ASKED}&parsedibiurl.ibi={IBIP}&parsedibiurl.verblist=GetMetadata%20GetLastEdition",
        f"servicesubject=urlRequest&clientinformation.ipaddress=unknown&parsedibiurl.ibi={IBIP}",
        "servicesubject=urlRequest&clientinformation.ipaddress=x%7D%0D%0Aurl%20http://evil&parsedibiurl.ibi=x",
    ],
)
async def test_what_no_archive_can_have_is_answered_with_nothing(query: str) -> None:
    """E18: R Algorithm 2, lines 2 to 4. Some resolvers take any text for an answer, whatever its status."""
    answer = await archive_app(kept(REP, IBIP)).get(f"{PLACE}?{query}")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", "text/plain")
    assert answer.headers["cache-control"] == "no-store"
    assert "ibi-final" not in answer.headers


@pytest.mark.parametrize(
    "query",
    [
        "servicesubject=",
        "servicesubject=somethingElse",
        "servicesubject=urlRequest&servicesubject=urlRequest",
        f"{ASKED}&parsedibiurl.ibi={IBIP}&parsedibiurl.ibi={IBIP}",
        "servicesubject=inclusionRequest",
        "servicesubject=acknowledgment&servicesubject=acknowledgment",
        "%73ervicesubject=x",
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
    from ibi.archive.rules.answer import StaticAnswer
    from ibi.archive.service.answers import KeptAnswers

    answers, empty = KeptAnswers(10), StaticAnswer(b"")
    for number in range(100):
        answers.keep(number, empty)
        assert answers.find_valid(0, lambda: NOW) is empty  # asked for again and again, it stays
    assert len(answers) == 10


# --- asked in the same process ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ibi", [IBIP, OTHER, "no label"])
async def test_a_resolver_in_the_same_process_is_told_what_is_sent_over_http(ibi: str) -> None:
    app = archive_app(kept(REP, IBIP))
    service = ArchiveService(app.site, structlog.get_logger())
    path = url_request(ibi=quote(ibi))
    for _ in range(2):
        sent = await app.get(path)
        status, told, caching, _ = service.http_answer(path.partition("?")[2].encode())
        assert (status, caching.decode()) == (sent.status, sent.headers["cache-control"])
        assert told.rpartition(b"urlkey ")[0] == sent.body.rpartition(b"urlkey ")[0]
        assert len(told) == len(sent.body)


@pytest.mark.parametrize("visibility", [Visibility(), CLOSED, Visibility(embargo=Instant(NOW.seconds + 100))])
@pytest.mark.parametrize("made", [kept, deleted])
@pytest.mark.parametrize("client", ["150.163.2.175", "8.8.8.8"])
@pytest.mark.parametrize("ibi", [IBIP, REP, OTHER])
def test_the_message_is_the_one_that_would_be_read(
    ibi: str, client: str, made: Callable[..., tuple[Item, dict[str, bytes]]], visibility: Visibility
) -> None:
    app = archive_app(made(REP, IBIP, visibility=visibility))
    service = ArchiveService(app.site, structlog.get_logger())
    query = url_request(ibi=ibi, client=client).partition("?")[2]
    request = UrlRequest.from_query(query)
    for _ in range(2):
        told = app.site.answers.answer(request)
        message, max_age = told.answer, told.max_age
        _, sent, caching, _ = service.http_answer(query.encode())
        read = parse_url_list(Pairs.decode(sent))
        assert freshness(caching) == max_age
        if isinstance(message, UrlList) and isinstance(read, UrlList) and read.url_key is not None:
            assert message.url_key is not None
            assert message == replace(read, url_key=message.url_key)
        else:
            assert message == read


def test_what_one_client_may_see_is_not_told_another_in_the_same_process_either() -> None:
    app = archive_app(kept(REP, IBIP, visibility=CLOSED))
    for _ in range(2):
        for client, content_type in (("150.163.2.175", ContentType.DATA), ("8.8.8.8", ContentType.METADATA)):
            told = app.site.answers.answer(UrlRequest(ip_addresses(client), parse(IBIP)))
            message, max_age = told.answer, told.max_age
            assert isinstance(message, UrlList)
            assert (message.entries[0].content_type, max_age) == (content_type, 0)


def test_a_refusal_in_the_same_process_is_raised_and_its_cause_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    app = archive_app(kept(REP, IBIP))
    answers = app.site.answers
    report = partial(log_untold, log=structlog.get_logger())
    local = LocalArchive(app.site.profile.service, answers, report)
    message = answers.answer(UrlRequest(ip_addresses("8.8.8.8"), parse(IBIP))).answer
    assert isinstance(message, UrlList)
    assert message.url_key is not None
    thanks = Acknowledgment(
        ip_addresses("8.8.8.8"), ContentType.DATA, "http://arq.lab.br/x", BASE, message.url_key, State.ORIGINAL
    )

    def damaged(_: Label) -> Item | None:
        raise StoreDamaged(path="catalogue.sqlite", reason="it is")

    monkeypatch.setattr(app.catalog, "find", damaged)
    app.site.answers.keys._issued.clear()  # as after a restart: the name of the item has to be looked up
    with capture_logs() as logs:
        with pytest.raises(StoreDamaged):
            answers.answer(UrlRequest(ip_addresses("8.8.8.8"), parse(OTHER)))
        with pytest.raises(StoreDamaged):
            answers.acknowledge(thanks)
        assert local.at_once(UrlRequest(ip_addresses("8.8.8.8"), parse(OTHER))) is Failure.REFUSED
        assert not local.acknowledge_at_once(thanks)
    assert [each["code"] for each in logs] == ["store-damaged", "store-damaged"]


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


@pytest.mark.parametrize(
    ("sites", "counted"),
    [
        (("cross-site",), 0),
        (("Cross-Site ",), 0),
        (("none", "cross-site"), 0),
        (("none",), 1),
        (("same-origin",), 1),
        ((), 1),
    ],
)
@pytest.mark.parametrize("subject", ["acknowledgment", "%61cknowledgment"])
async def test_what_a_page_elsewhere_makes_a_browser_send_is_answered_and_not_counted(
    sites: tuple[str, ...], counted: int, subject: str
) -> None:
    item, content = kept(REP, IBIP)
    app = archive_app((item, content))
    key = (await app.get(url_request())).body.rpartition(b"urlkey ")[2].decode()
    path = acknowledgment(key).replace("=acknowledgment", f"={subject}")
    answer = await app.get(path, [("sec-fetch-site", site) for site in sites])
    assert (answer.status, answer.body) == (200, b"notice {acknowledgment received}")
    assert used(app, item) == Usage(resolutions=counted)


def test_one_in_the_same_process_is_counted_as_well_while_the_item_is_there() -> None:
    item, content = kept(REP, IBIP)
    app = archive_app((item, content))
    service = ArchiveService(app.site, structlog.get_logger())
    key = service.http_answer(url_request().partition("?")[2].encode())[1].rpartition(b"urlkey ")[2].decode()
    for client in ("8.8.8.8", "8.8.8.8", "8.8.4.4"):
        app.site.answers.acknowledge(Acknowledgment.from_query(acknowledgment(key, client).partition("?")[2]))
    assert used(app, item) == Usage(resolutions=2)
    app.catalog.remove(item.rep)
    app.site.answers.acknowledge(Acknowledgment.from_query(acknowledgment(key, "8.8.1.1").partition("?")[2]))
    assert used(app, item) == Usage(resolutions=2)


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
