"""Pages and files under names that are ours; under others 421, but for services, health checks and redirects."""

from __future__ import annotations

import json

import pytest
import structlog

from ibi.server.fast_path import Dispatcher
from ibi.web.middleware import HostCheck
from ibi.web.rendering import SiteFacts
from ibi.web.request import ServedHosts
from tests.support.archive_app import BASE, REP
from tests.support.asgi_client import Answer
from tests.support.one_port import OnePort

EVIL = {"host": "evil.example:8765"}
BROWSER = {**EVIL, "accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FILE = f"/col/{REP}/doc/a.txt"


def one_port(content_url: str | None = None) -> OnePort:
    urls = [BASE, *([content_url] if content_url else [])]
    return OnePort(content_url, hosts=ServedHosts(urls, ["old.name"]), facts=SiteFacts(public_url=BASE))


async def get(path: str, headers: dict[str, str], method: str = "GET") -> Answer:
    return await one_port().get(path, headers, method)


@pytest.mark.parametrize(
    "path",
    ["/", "/search", "/static/ibi.css", "/api/openapi.json", FILE, f"/col/{REP}/metadata", "/%63ol/x", "/x", "//a/b"],
)
async def test_a_name_of_others_gets_neither_pages_nor_files(path: str) -> None:
    answer = await get(path, EVIL)
    assert (answer.status, answer.headers["content-type"]) == (421, "application/problem+json")
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    assert (told["type"], told["field"]) == ("urn:ibi:problem:misdirected-request", "Host")
    assert f"{BASE}/" in told["detail"]
    assert "hosts" in told["detail"]


@pytest.mark.parametrize("host", ["arq.lab.br", "ARQ.lab.br.", "localhost:8765", "old.name", "127.0.0.1"])
async def test_a_name_of_ours_gets_them(host: str) -> None:
    for path in ("/", "/search", "/api/identity", FILE):
        assert (await get(path, {"host": host})).status == 200


async def test_a_browser_gets_a_small_page_that_loads_nothing() -> None:
    answer = await get("/search?q=<b>%00&x=ç", {**BROWSER, "accept-language": "pt-BR"})
    text = answer.body.decode()
    assert answer.status == 421
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "set-cookie" not in answer.headers
    assert "Endereço diferente" in text
    assert f'href="{BASE}/search?q=&lt;b&gt;%00&amp;x=%C3%A7"' in text
    assert "<script" not in text
    assert "/static/" not in text


async def test_the_host_is_quoted_harmlessly() -> None:
    answer = await get("/", {**BROWSER, "host": "<script>alert(1)</script>"})
    assert answer.status == 421
    assert b"<script>" not in answer.body


@pytest.mark.parametrize("path", [b"@evil.example/a", b"http://evil.example/a", b"/" + b"a" * 4000])
def test_the_address_to_use_is_always_on_our_host(path: bytes) -> None:
    check = HostCheck(one_port().app, ServedHosts(), BASE, Dispatcher(()), lambda: None, structlog.get_logger("test"))
    headers = [(b"host", b"evil.example")]
    answer = check.refusal({"method": "GET", "raw_path": path, "query_string": b"", "headers": headers})
    assert f"use {BASE}/ instead" in json.loads(bytes(answer.body))["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/identity"])
async def test_health_and_metrics_are_told_under_any_name(path: str) -> None:
    assert (await get(path, {"host": "10.1.2.3:8765"})).status in {200, 503}


async def test_a_service_is_asked_under_any_name() -> None:
    answer = await get(f"/{REP}?servicesubject=urlRequest&servicesubject=x", EVIL)
    assert answer.status != 421


@pytest.mark.parametrize("path", ["/?servicesubject=urlRequest", "/search?servicesubject=", f"{FILE}?servicesubject=x"])
async def test_a_subject_makes_no_page_a_service(path: str) -> None:
    assert (await get(path, EVIL)).status == 421


@pytest.mark.parametrize("path", [f"/{REP}", f"/{REP.replace('/', '%2F')}", f"/ibi/{REP}"])
async def test_a_persistent_url_leads_on_under_any_name(path: str) -> None:
    ours = await get(path, {"host": "arq.lab.br"})
    answer = await get(path, BROWSER)
    assert (answer.status, answer.headers["location"]) == (ours.status, ours.headers["location"])
    assert answer.body == b""


async def test_what_it_says_to_programs_is_no_page() -> None:
    answer = await get("/iconet.com.br/banon/2000/12.30.22.55.07", EVIL)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/iconet.com.br/banon/2000/12.30.22.55.07", f"/{REP}?ibiurl.trace=html"])
async def test_a_page_about_a_persistent_url_is_on_our_host_alone(path: str) -> None:
    assert "text/html" in (await get(path, {**BROWSER, "host": "arq.lab.br"})).headers["content-type"]
    answer = await get(path, BROWSER)
    assert answer.status == 421
    assert f"{BASE}{path}".encode() in answer.body


async def test_refusals_are_counted() -> None:
    port = one_port()
    for path in ("/", FILE, "/healthz"):
        await port.get(path, EVIL)
    told = (await port.get("/metrics")).body.decode()
    assert "ibi_misdirected_requests_total 2.0" in told


@pytest.mark.parametrize("host", ["bytes.lab.br", "bytes.lab.br.", "BYTES.lab.br:8765"])
async def test_a_final_dot_or_port_does_not_bring_pages_to_the_host_of_the_bytes(host: str) -> None:
    port = one_port("https://bytes.lab.br")
    for path in ("/", "/api/identity", "/sign-in"):
        assert (await port.get(path, {"host": host})).status == 404
    assert (await port.get(FILE, {"host": host})).status == 200
