"""Bytes on a host of their own, and everything else on the other."""

from __future__ import annotations

import pytest

from tests.support.archive_app import BASE, REP, ArchiveApp, archive_app, kept

CONTENT = "https://content.lab.br"
FILE, PAGE = f"/col/{REP}/doc/a.txt", f"/col/{REP}/metadata"


def app() -> ArchiveApp:
    return archive_app(kept(REP), content_url=CONTENT)


@pytest.mark.parametrize("host", ["arq.lab.br", "ARQ.lab.br", "arq.lab.br:80"])
async def test_the_host_of_the_pages_sends_for_bytes_to_the_other(host: str) -> None:
    answer = await app().get(f"{FILE}?x=1", {"host": host})
    assert (answer.status, answer.headers["location"]) == (302, f"{CONTENT}{FILE}?x=1")


@pytest.mark.parametrize("host", ["content.lab.br", "Content.Lab.br:443"])
async def test_the_host_of_the_bytes_has_them(host: str) -> None:
    answer = await app().get(FILE, {"host": host})
    assert (answer.status, answer.body) == (200, b"0123456789")


@pytest.mark.parametrize("path", [PAGE, f"/col/{REP}/doc/?list", f"/col/{REP}", f"{PAGE}?format=oai_dc"])
async def test_the_host_of_the_bytes_has_nothing_else(path: str) -> None:
    answer = await app().get(path, {"host": "content.lab.br"})
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}{path}")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        *("/", "/search", "/search.atom", "/explain?q=x", "/static/ibi.css", "/language/es", "/col", "/%61pi/identity"),
        *("/api/identity", "/api/items", "/api/labels", "/metrics", "/healthz", f"/{REP}", f"/{REP}?servicesubject="),
    ],
)
async def test_the_host_of_the_bytes_has_nothing_beside_the_collection(path: str, method: str) -> None:
    answer = await app().get(path, {"host": "content.lab.br", "accept": "text/html"}, method=method)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "set-cookie" not in answer.headers


async def test_the_other_host_has_all_of_it() -> None:
    for path in ("/", "/search", "/api/identity", "/healthz"):
        assert (await app().get(path, {"host": "arq.lab.br"})).status == 200


@pytest.mark.parametrize("host", [{}, {"host": "127.0.0.1:8765"}, {"host": "content.lab.br.evil.example"}])
async def test_behind_a_proxy_that_tells_another_host_nothing_goes_in_circles(host: dict[str, str]) -> None:
    answer = await app().get(FILE, host)
    assert answer.status == 200
    assert "sandbox" in answer.headers["content-security-policy"]  # shut in, for nobody knows what else is there


async def test_two_hosts_at_once_are_none() -> None:
    answer = await app().get(FILE, [("host", "content.lab.br"), ("host", "arq.lab.br")])
    assert answer.status == 200
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_no_name_ends_the_header_that_leads_elsewhere() -> None:
    answer = await app().get(f"/col/{REP}/doc/a%0d%0ab", {"host": "arq.lab.br"})
    assert answer.headers["location"] == f"{CONTENT}/col/{REP}/doc/a%0d%0ab"


async def test_without_a_host_of_their_own_bytes_are_where_the_pages_are() -> None:
    assert (await archive_app(kept(REP)).get(FILE, {"host": "arq.lab.br"})).status == 200


@pytest.mark.parametrize(
    ("content_url", "host"),
    [
        *((f"{BASE}:80", "arq.lab.br"), (f"{BASE}:80", "arq.lab.br:80"), (f"{BASE}:80/", "ARQ.lab.br.")),
        *(("https://arq.lab.br:443", "arq.lab.br"), ("https://arq.lab.br:443", "arq.lab.br:443")),
        ("HTTP://Arq.Lab.BR.", "arq.lab.br"),
    ],
)
async def test_a_content_url_that_is_the_public_url_in_another_spelling_is_no_host_of_its_own(
    content_url: str, host: str
) -> None:
    same = archive_app(kept(REP), content_url=content_url)
    for path in ("/", "/search", PAGE, FILE, "/api/identity"):
        assert (await same.get(path, {"host": host})).status == 200
