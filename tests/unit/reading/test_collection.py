"""`/col/<rep>/…`: bytes, and who gets them."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, unquote

import pytest

from ibi.items.model.visibility import Visibility
from ibi.reading.delivery.file_answer import MOST_SENT
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from ibi.usage.model import Usage
from ibi.web.request import MOST_LOOKED_AT
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, RESOLVER, archive_app, deleted, kept
from tests.support.page_reader import read_page
from tests.support.standards_archives import forms

DOC = f"/col/{REP}/doc"
PAGE = f"{BASE}/col/{REP}/metadata"
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_a_file_is_its_bytes() -> None:
    answer = await archive_app(kept(REP)).get(f"{DOC}/a.txt")
    assert (answer.status, answer.body) == (200, b"0123456789")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-length"] == "10"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["last-modified"] == "Thu, 02 Jan 2014 17:23:57 GMT"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_head_tells_the_same_without_the_bytes() -> None:
    app = archive_app(kept(REP))
    got, told = await app.get(f"{DOC}/a.txt"), await app.get(f"{DOC}/a.txt", method="HEAD")
    assert (told.status, told.body) == (200, b"")
    drop = "x-request-id"
    assert {k: v for k, v in told.headers.items() if k != drop} == {k: v for k, v in got.headers.items() if k != drop}


async def test_a_large_file_comes_in_pieces() -> None:
    content = bytes(range(256)) * (3 * MOST_SENT // 256) + b"end"
    answer = await archive_app(kept(REP, files={"big": ("application/octet-stream", content)})).get(f"{DOC}/big")
    assert answer.body == content
    assert max(map(len, answer.chunks)) <= MOST_SENT


async def test_a_file_without_bytes() -> None:
    app = archive_app(kept(REP, files={"empty": ("text/plain", b"")}))
    answer = await app.get(f"{DOC}/empty")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")
    assert (await app.get(f"{DOC}/empty", {"range": "bytes=0-"})).status == 416


TEXT = "introdução à ação — São José\n"


@pytest.mark.parametrize(
    ("media", "content", "told"),
    [
        ("text/plain", TEXT.encode(), "text/plain; charset=utf-8"),
        ("text/csv", TEXT.encode(), "text/csv; charset=utf-8"),
        ("text/html", TEXT.encode(), "text/html; charset=utf-8"),
        ("text/plain", ("a" + "ã" * MOST_LOOKED_AT).encode(), "text/plain; charset=utf-8"),  # a letter is cut in two
        ("text/plain", TEXT.replace("—", "-").encode("latin-1"), "text/plain"),
        ("text/plain", "café".encode("latin-1"), "text/plain"),  # as if a letter were cut in two
        ("text/plain", TEXT.encode("utf-16"), "text/plain"),
        ("text/plain", b"only ASCII", "text/plain"),
        ("text/plain; charset=iso-8859-1", TEXT.encode(), "text/plain; charset=iso-8859-1"),
        ("text/xml", TEXT.encode(), "text/xml"),
        ("application/json", TEXT.encode(), "application/json"),
    ],
)
async def test_a_browser_is_told_which_letters_a_text_is_in_if_that_is_certain(
    media: str, content: bytes, told: str
) -> None:
    app = archive_app(kept(REP, files={"x": (media, content)}))
    for asked in ({}, {"range": "bytes=3-5"}):
        assert (await app.get(f"{DOC}/x", asked)).headers["content-type"] == told
    assert (await app.get(f"{DOC}/x", method="HEAD")).headers["content-type"] == told


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_is_changed_here(method: str) -> None:
    answer = await archive_app(kept(REP)).get(f"{DOC}/a.txt", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "Relat%C3%B3rio%20Final.pdf",
        "Relat%c3%b3rio%20Final.pdf",
        "Relat%F3rio%20Final.pdf",
        "Relato%CC%81rio%20Final.pdf",
        "%52elat%C3%B3rio%20Final.pdf",
    ],
)
async def test_a_name_is_read_as_utf_8_or_else_as_iso_8859_1(written: str) -> None:
    """E33."""
    app = archive_app(kept(REP, files={"Relatório Final.pdf": ("application/pdf", b"%PDF")}))
    assert (await app.get(f"{DOC}/{written}")).body == b"%PDF"


@pytest.mark.parametrize(
    "name", ["a b.txt", "100%.txt", "a+b&c=d;e.txt", "%2e%2e", "файл/名前.txt", "#1?.txt", "a'\"<b>"]
)
async def test_every_name_has_an_address(name: str) -> None:
    app = archive_app(kept(REP, files={name: ("text/plain", b"x")}))
    assert (await app.get(f"{DOC}/{quote(name)}")).body == b"x"
    redirect = await app.get(f"{DOC}/")
    assert redirect.status == 302
    assert (await app.get(redirect.headers["location"].removeprefix(BASE))).body == b"x"


@pytest.mark.parametrize("rep", [REP.upper(), REP.replace("/", "%2F"), REP.replace("lab", "%6Cab"), IBIP])
async def test_the_item_is_known_by_any_spelling_of_its_labels(rep: str) -> None:
    assert (await archive_app(kept(REP, IBIP)).get(f"/col/{rep}/doc/a.txt")).body == b"0123456789"


TRAVERSALS = [
    "../item.json",
    "..%2Fitem.json",
    "%2e%2e/item.json",
    "%2e%2e%2fitem.json",
    "%252e%252e%252fitem.json",
    "%252e%252e/item.json",
    ".%2e/item.json",
    "..\\item.json",
    "..%5citem.json",
    "..%255citem.json",
    "%c0%ae%c0%ae/item.json",
    "%c0%ae%c0%ae%c0%afitem.json",
    "%e0%80%ae%e0%80%ae/item.json",
    "..%c0%af../item.json",
    "....//item.json",
    "/item.json",
    "//etc/passwd",
    "%2Fetc%2Fpasswd",
    "/etc/passwd",
    "../../../../../../../../etc/passwd",
    "a.txt/../../item.json",
    "a.txt/../a.txt",
    "./a.txt",
    "x/../a.txt",
    "a.txt/",
    "a.txt%00",
    "a.txt%00.png",
    "%00",
    "a.txt%0a",
    "A.TXT",
    "a.txt.",
    "a.txt%20",
    "a.txt::$DATA",
    "C:%5Cwindows%5Cwin.ini",
    "\uff0e\uff0e/item.json",
    "%uff0e%uff0e/item.json",
    "..;/item.json",
    "item.json",
    "doc/a.txt",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("path", TRAVERSALS)
@pytest.mark.parametrize("place", [DOC, f"/col/{REP}", f"/col/{REP}%2Fdoc"])
async def test_no_spelling_leads_out_of_an_item(place: str, path: str) -> None:
    answer = await archive_app(kept(REP)).get(f"{place}/{path}")
    if f"{place}/{path}" == f"/col/{REP}/doc/a.txt":
        assert answer.status == 200
        return
    assert answer.status == 404
    assert b"0123456789" not in answer.body
    assert b"root:" not in answer.body


# --- parts and conditions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "status", "body", "told"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=9-99", 206, b"9", "bytes 9-9/10"),
        ("BYTES=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=10-20", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("bytes=5-4", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=a-b", 200, b"0123456789", None),
        ("bytes=+1-2", 200, b"0123456789", None),
        ("bytes=٠-٣", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
        ("bytes 0-1", 200, b"0123456789", None),
        ("bytes=" + "9" * 5000 + "-", 200, b"0123456789", None),
        ("bytes=9999999999999999999-", 416, None, "bytes */10"),
        ("", 200, b"0123456789", None),
    ],
)
async def test_a_part_of_a_file(value: str, status: int, body: bytes | None, told: str | None) -> None:
    sent = {"range": value.encode().decode("latin-1")}
    answer = await archive_app(kept(REP)).get(f"{DOC}/a.txt", sent)
    assert answer.status == status
    assert answer.headers.get("content-range") == told
    if body is not None:
        assert answer.body == body
        assert answer.headers["content-length"] == str(len(body))


async def test_two_headers_for_a_part_are_none() -> None:
    answer = await archive_app(kept(REP)).get(f"{DOC}/a.txt", [("range", "bytes=0-1"), ("range", "bytes=2-3")])
    assert (answer.status, answer.body) == (200, b"0123456789")


DATE, BEFORE, AFTER = "Thu, 02 Jan 2014 17:23:57 GMT", "Thu, 02 Jan 2014 17:23:56 GMT", "Fri, 03 Jan 2014 00:00:00 GMT"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"if-none-match": "{etag}"}, 304),
        ({"if-none-match": "W/{etag}"}, 304),
        ({"if-none-match": '"x", {etag}'}, 304),
        ({"if-none-match": "*"}, 304),
        ({"if-none-match": '"x"'}, 200),
        ({"if-none-match": "x{etag}"}, 200),
        ({"if-none-match": '"x"', "if-modified-since": AFTER}, 200),
        ({"if-modified-since": DATE}, 304),
        ({"if-modified-since": AFTER}, 304),
        ({"if-modified-since": BEFORE}, 200),
        ({"if-modified-since": "Thursday, 02-Jan-14 17:23:57 GMT"}, 304),
        ({"if-modified-since": "yesterday"}, 200),
        ({"if-modified-since": "9" * 4000}, 200),
        ({"if-modified-since": "Thu, 02 Jan 99999 17:23:57 GMT"}, 200),
        ({"if-match": "{etag}"}, 200),
        ({"if-match": "*"}, 200),
        ({"if-match": '"x"'}, 412),
        ({"if-match": "W/{etag}"}, 412),
        ({"if-match": "{etag}", "if-unmodified-since": BEFORE}, 200),
        ({"if-unmodified-since": BEFORE}, 412),
        ({"if-unmodified-since": DATE}, 200),
        ({"if-match": '"x"', "if-none-match": "{etag}"}, 412),
        ({"range": "bytes=0-1", "if-range": "{etag}"}, 206),
        ({"range": "bytes=0-1", "if-range": DATE}, 206),
        ({"range": "bytes=0-1", "if-range": "W/{etag}"}, 200),
        ({"range": "bytes=0-1", "if-range": '"x"'}, 200),
        ({"range": "bytes=0-1", "if-range": AFTER}, 200),
        ({"range": "bytes=99-", "if-range": '"x"'}, 200),
        ({"range": "bytes=0-1", "if-none-match": "{etag}"}, 304),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_conditions(sent: dict[str, str], status: int, method: str) -> None:
    app = archive_app(kept(REP))
    etag = (await app.get(f"{DOC}/a.txt")).headers["etag"]
    headers = {name: value.replace("{etag}", etag) for name, value in sent.items()}
    answer = await app.get(f"{DOC}/a.txt", headers, method=method)
    # RFC 9110 §14.2: a Range means nothing to a HEAD.
    assert answer.status == (200 if method == "HEAD" and status == 206 else status)
    if answer.status == 304:
        assert answer.body == b""
        assert answer.headers["etag"] == etag
        assert "content-length" not in answer.headers


async def test_the_tag_is_made_from_the_digest() -> None:
    item, content = kept(REP)
    answer = await archive_app((item, content)).get(f"{DOC}/a.txt")
    assert answer.headers["etag"] == f'"{item.files[0].sha512[:64]}"'


# --- who may see what ------------------------------------------------------------------------------------------------

CLOSED = Visibility((network("150.163.0.0/16"), network("2001:db8::/32")))


@pytest.mark.parametrize(
    ("client", "status"),
    [
        ("150.163.2.175", 200),
        ("::ffff:150.163.2.175", 200),
        ("2001:db8::7", 200),
        ("8.8.8.8", 302),
        ("2001:db9::", 302),
    ],
)
async def test_the_address_that_fetches_decides(client: str, status: int) -> None:
    answer = await archive_app(kept(REP, visibility=CLOSED)).get(f"{DOC}/a.txt", client=client)
    assert answer.status == status
    if status == 302:
        assert (answer.headers["location"], answer.body) == (PAGE, b"")
        assert answer.headers["cache-control"] == "no-store"
    else:
        assert answer.headers["cache-control"] == "private, no-cache"


async def test_no_reader_says_who_they_are_themselves() -> None:
    app = archive_app(kept(REP, visibility=CLOSED))
    for name in ("x-forwarded-for", "forwarded", "x-real-ip", "client-ip"):
        assert (await app.get(f"{DOC}/a.txt", {name: "150.163.2.175"}, client="8.8.8.8")).status == 302


async def test_a_trusted_proxy_says_it_of_others() -> None:
    app = archive_app(kept(REP, visibility=CLOSED), proxies=(network("127.0.0.0/8"),))
    for forwarded, status in (("150.163.2.175", 200), ("150.163.2.175, 8.8.8.8", 302), ("8.8.8.8, 150.163.2.1", 200)):
        sent = {"x-forwarded-for": forwarded}
        assert (await app.get(f"{DOC}/a.txt", sent, client="127.0.0.1")).status == status
        assert (await app.get(f"{DOC}/a.txt", sent, client="8.8.4.4")).status == 302


async def test_an_embargo_is_for_every_reader_and_ends() -> None:
    app = archive_app(kept(REP, visibility=Visibility(embargo=Instant(NOW.seconds + 60))))
    assert (await app.get(f"{DOC}/a.txt")).headers["location"] == PAGE
    assert (await app.get(f"{DOC}/a.txt", method="HEAD")).status == 302
    app.clocks.advance(60)
    assert (await app.get(f"{DOC}/a.txt")).status == 200


# --- the folder of the files -----------------------------------------------------------------------------------------


async def test_the_folder_leads_to_the_target_file() -> None:
    app = archive_app(kept(REP, files={"b c.txt": ("text/plain", b"b"), "a.txt": ("text/plain", b"a")}))
    answer = await app.get(f"{DOC}/")
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}{DOC}/b%20c.txt")
    assert (await app.get(DOC)).headers["location"] == f"{BASE}{DOC}/"
    assert (await app.get(f"/col/{REP}")).headers["location"] == PAGE


async def test_a_web_service_leads_to_itself_and_an_item_without_target_to_its_page() -> None:
    service, bare = kept(REP, files={}, target_url="https://maps.lab.br/wms?x=1"), kept(OTHER, target=None)
    app = archive_app(service, bare)
    assert (await app.get(f"{DOC}/")).headers["location"] == "https://maps.lab.br/wms?x=1"
    assert (await app.get(f"/col/{OTHER}/doc/")).headers["location"] == f"{BASE}/col/{OTHER}/metadata"


@pytest.mark.parametrize(
    "visibility",
    [Visibility((network("192.0.2.0/24"),)), Visibility(embargo=Instant.parse("2030-01-01T00:00:00Z"))],
)
async def test_the_address_of_a_web_service_is_told_only_to_readers_whom_it_is_for(visibility: Visibility) -> None:
    service = kept(REP, files={}, target_url="https://maps.lab.br/wms", visibility=visibility)
    app = archive_app(service)
    inside = "https://maps.lab.br/wms" if visibility.networks else PAGE
    assert (await app.get(f"{DOC}/")).headers["location"] == inside
    assert (await app.get(f"{DOC}/", client="198.51.100.1")).headers["location"] == PAGE
    told = [f"/col/{REP}/metadata{query}" for query in ("", "?format=json", "?format=oai_dc", "?format=csl")]
    for path in (*told, f"/api/items/{REP}", f"/api/items/{REP}/usage", f"/api/items/{REP}/relations"):
        answer = await app.get(path, BROWSER, client="198.51.100.1")
        assert answer.status == 200
        assert b"maps.lab.br" not in answer.body
    links = (await app.get(f"/api/items/{REP}")).json()["links"]
    assert links["content"] == f"{BASE}{DOC}/"


async def test_the_list_of_files() -> None:
    app = archive_app(kept(REP, files={"<b>&.txt": ("text/plain", b"b"), "ü/a.txt": ("text/plain", b"a")}))
    answer = await app.get(f"{DOC}/?list")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = answer.body.decode()
    assert "&lt;b&gt;&amp;.txt" in page
    assert f'href="{BASE}{DOC}/%C3%BC/a.txt"' in page
    assert "<b>" not in page


async def test_a_list_that_is_not_permitted_says_so() -> None:
    app = archive_app(kept(REP, visibility=Visibility(listing=False)))
    answer = await app.get(f"{DOC}/?list", BROWSER)
    assert answer.status == 403
    assert b"a.txt" not in answer.body
    assert "www-authenticate" not in answer.headers
    assert (await app.get(f"{DOC}/a.txt")).status == 200


# --- what is not there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/doc/a.txt", "/doc/", "/doc", "", "/doc/?list"])
async def test_what_was_deleted_is_gone(place: str) -> None:
    app = archive_app(deleted(REP, why="withdrawn <by> its author", replaced_by=forms(OTHER)))
    answer = await app.get(f"/col/{REP}{place}")
    assert (answer.status, answer.json()["type"]) == (410, "urn:ibi:problem:item-deleted")
    page = (await app.get(f"/col/{REP}{place}", BROWSER)).body.decode()
    assert "withdrawn &lt;by&gt; its author" in page
    assert f'href="{BASE}/{OTHER}"' in page
    assert "2020-05-06" in page


async def test_no_such_file_is_told_to_browsers_and_programs() -> None:
    app = archive_app(kept(REP))
    assert (await app.get(f"{DOC}/x.txt")).json()["type"] == "urn:ibi:problem:no-such-file"
    page = await app.get(f"{DOC}/%3Cscript%3E", BROWSER)
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"<script>" not in page.body


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("/doc/a%20b.txt", "/a%20b.txt"),
        ("/doc/Relat%F3rio.pdf", "/Relat%F3rio.pdf"),
        ("/doc/%C3%B3%F3.pdf?a=%f3", "/%C3%B3%F3.pdf?a=%f3"),
        ("/doc/x.cgi?a=b%20c", "/x.cgi?a=b%20c"),
        ("/doc/", ""),
        ("/doc", ""),
        ("/doc/?list", "?ibiurl.verblist=GetFileList"),
        ("/metadata", ":"),
        ("/metadata?format=oai_dc", ":(oai_dc)"),
        ("", ":"),
    ],
)
async def test_a_foreign_name_is_sent_on_to_the_resolver(path: str, leads: str) -> None:
    """E34."""
    foreign = "Dpi.inpe.br/banon/1998/08.02.08.56"
    app = archive_app(kept(REP), resolver=RESOLVER + "/")
    answer = await app.get(f"/col/{foreign}{path}")
    assert (answer.status, answer.headers["location"]) == (302, f"{RESOLVER}/{foreign}{leads}")
    assert (await archive_app(kept(REP)).get(f"/col/{foreign}{path}")).status == 404


@pytest.mark.parametrize("path", TRAVERSALS[:12])
async def test_no_traversal_is_sent_on(path: str) -> None:
    answer = await archive_app(resolver=RESOLVER).get(f"/col/{REP}/doc/{path}")
    assert answer.status == 404 or not {".", ".."} & set(unquote(answer.headers["location"]).split("/"))


@pytest.mark.parametrize("path", ["/col/", "/col/x", "/col", "/col/a/b/c/d/doc/x", "/col/%00", "/col//doc/x", "/COL/x"])
async def test_what_names_no_item_is_nothing(path: str) -> None:
    answer = await archive_app(kept(REP), resolver=RESOLVER).get(path)
    assert answer.status in {400, 404}


# --- what is counted -------------------------------------------------------------------------------------------------


async def test_downloads_are_counted_and_robots_apart() -> None:
    item, content = kept(REP)
    app = archive_app((item, content), is_robot=lambda agent: "bot" in agent)
    await app.get(f"{DOC}/a.txt")
    await app.get(f"{DOC}/a.txt")
    await app.get(f"{DOC}/a.txt", {"range": "bytes=5-"}, client="192.0.2.1")
    await app.get(f"{DOC}/a.txt", method="HEAD", client="192.0.2.2")
    await app.get(f"{DOC}/a.txt", {"range": "bytes=0-4", "user-agent": "x-bot"}, client="192.0.2.3")
    ((_, usage),) = app.usage.days(item.rep)
    assert usage == Usage(downloads=1, robot_downloads=1)


async def test_a_damaged_file_is_no_fault_of_a_reader() -> None:
    item, _ = kept(REP)
    answer = await archive_app((replace(item), {})).get(f"{DOC}/a.txt", BROWSER)
    assert answer.status == 500
    assert "a.txt" not in read_page(answer.body).text
