"""What surrounds every request."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Scope
from structlog.testing import capture_logs

from ibi.people.service.refusals import RefusalLog
from ibi.storage.errors import DiskRefused
from ibi.web import page_answers as pages
from ibi.web.page_answers import failure
from ibi.web.reader import SESSIONS
from ibi.web.request_errors import InternalError
from ibi.web.request_middleware import RefusalWatch
from tests.support.asgi_client import ask
from tests.support.memory.ticks import MemoryTicks
from tests.support.minting_app import MintingApp, minting_app
from tests.support.people_site import KeptAudit
from tests.support.set_clocks import SetClocks


class Broken(MemoryTicks):
    """Fails with whatever it is given."""

    failure: Exception | None = None

    def advance(self, decide):  # type: ignore[no-untyped-def]
        if self.failure is not None:
            raise self.failure
        return super().advance(decide)


def with_route(minting: MintingApp, endpoint: object) -> None:
    minting.app.router.routes.insert(0, Route("/odd", endpoint))  # type: ignore[arg-type]


async def test_an_unforeseen_failure_shows_nothing_and_logs_everything() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = ZeroDivisionError("the secret is hunter2")
        with capture_logs() as logs:
            answer = await minting.mint()
    assert answer.status == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "hunter2" not in answer.body.decode()
    assert "Traceback" not in answer.body.decode()
    name = answer.headers["x-request-id"]
    assert name in answer.json()["detail"]
    (failed,) = [each for each in logs if each["log_level"] == "error"]
    assert failed["request"] == name
    assert failed["exc_info"]


async def test_a_full_disk_is_a_503_whose_reason_is_in_the_log_alone() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = DiskRefused(path="/srv/ibi/mint.log", reason="no space left")
        with capture_logs() as logs:
            answer = await minting.mint()
        ticks.failure = None
        assert (await minting.mint()).status == 201
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "/srv" not in answer.body.decode()
    assert any("/srv/ibi/mint.log" in str(each.get("detail")) for each in logs)


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": "pt-BR"}


async def fail(_: Request) -> Response:
    raise ZeroDivisionError("the secret is hunter2")


async def test_a_browser_gets_a_page_of_a_failure_in_the_language_of_its_reader() -> None:
    async with minting_app() as minting:
        with_route(minting, fail)
        with capture_logs() as logs:
            answer = await ask(minting.app, "GET", "/odd", BROWSER)
    page = answer.body.decode()
    assert answer.status == 500
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-language"] == "pt-BR"
    assert answer.headers["cache-control"] == "no-store"
    assert "Ocorreu um erro no servidor" in page
    assert answer.headers["x-request-id"] in page
    assert "hunter2" not in page
    assert "Traceback" not in page
    assert [each["event"] for each in logs] == ["request failed", "request"]


@pytest.mark.parametrize("accept", ["*/*", "application/json", "", "text/html;q=0"])
async def test_a_program_gets_a_problem_of_a_failure(accept: str) -> None:
    async with minting_app() as minting:
        with_route(minting, fail)
        with capture_logs():
            answer = await ask(minting.app, "GET", "/odd", {"accept": accept})
    assert answer.status == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:ibi:problem:internal-error"


async def test_a_failure_of_the_page_of_a_failure_is_a_plain_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_too(*_: object, **__: object) -> None:
        raise OSError("no template")

    monkeypatch.setattr(pages, "render", fail_too)
    async with minting_app() as minting:
        with_route(minting, fail)
        with capture_logs():
            answer = await ask(minting.app, "GET", "/odd", BROWSER)
    assert answer.status == 500
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "Ocorreu um erro neste servidor" in answer.body.decode()


async def test_the_page_of_a_failure_does_not_ask_who_is_signed_in() -> None:
    class Away:
        def current(self, _: Scope) -> None:
            raise AssertionError

    scope = {"type": "http", "path": "/", "query_string": b"", "headers": [(b"accept", b"text/html")], SESSIONS: Away()}
    answer = failure(InternalError(request="a1"), scope)
    assert b"a1" in answer.body
    assert b"An error occurred</h1>" in answer.body


async def test_what_only_the_log_says_is_a_page_to_a_browser_as_well() -> None:
    async def refuse(_: Request) -> Response:
        raise DiskRefused(path="/srv/ibi/mint.log", reason="no space left")

    async with minting_app() as minting:
        with_route(minting, refuse)
        with capture_logs():
            answer = await ask(minting.app, "GET", "/odd", BROWSER)
    assert answer.status == 503
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert int(answer.headers["retry-after"]) >= 1
    assert "não pode fazer isso no momento" in answer.body.decode()
    assert "/srv" not in answer.body.decode()


async def test_an_answer_that_fails_half_way_is_broken_off() -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    async def endpoint(_: Request) -> Response:
        return StreamingResponse(half())

    async with minting_app() as minting:
        with_route(minting, endpoint)
        with capture_logs() as logs, pytest.raises(ZeroDivisionError):
            await ask(minting.app, "GET", "/odd")
    assert [each["event"] for each in logs] == ["request failed", "request"]


async def test_every_answer_is_hardened() -> None:
    async with minting_app() as minting:
        answers = [await minting.get(path) for path in ("/healthz", "/nothing", "/metrics", "/api/identity")]
        answers.append(await minting.mint())
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert len(answer.headers["x-request-id"]) == 16


async def test_an_answer_may_say_otherwise() -> None:
    async def page(_: Request) -> Response:
        return Response(b"", headers={"content-security-policy": "default-src 'self'"})

    async with minting_app() as minting:
        with_route(minting, page)
        answer = await ask(minting.app, "GET", "/odd")
    assert answer.headers["content-security-policy"] == "default-src 'self'"


async def test_no_two_requests_have_one_name() -> None:
    async with minting_app() as minting:
        names = {(await minting.get("/healthz")).headers["x-request-id"] for _ in range(50)}
    assert len(names) == 50


async def test_the_log_knows_the_network_of_a_client_and_nothing_secret() -> None:
    async with minting_app() as minting:
        token = minting.bearer()["authorization"].removeprefix("Bearer ")
        with capture_logs() as logs:
            await ask(minting.app, "GET", f"/nothing?token={token}", minting.bearer(), client=("203.0.113.77", 1))
            await ask(minting.app, "GET", "/nothing", client=None)
    assert [each["client"] for each in logs] == ["203.0.113.0/24", "unknown"]
    assert logs[0]["path"] == "/nothing"
    assert token not in str(logs)
    assert "203.0.113.77" not in str(logs)


async def test_a_hostile_path_does_not_fill_the_log() -> None:
    async with minting_app() as minting:
        with capture_logs() as logs:
            await minting.get("/" + "x" * 60_000)
    assert len(str(logs)) < 1000


@pytest.mark.parametrize("place", ["/sign-in", "/request/files"])
async def test_the_secret_of_a_link_is_not_in_the_log_of_requests(place: str) -> None:
    async with minting_app() as minting:
        with capture_logs() as logs:
            await ask(minting.app, "GET", f"{place}/s3cret")
    (request,) = [each for each in logs if each["event"] == "request"]
    assert request["path"] == f"{place}/…"


@pytest.mark.parametrize("place", ["/sign-in", "/request/files"])
async def test_the_secret_of_a_link_is_not_in_the_audit_log_of_refusals(place: str) -> None:
    audit = KeptAudit()

    async def identify(_: Scope) -> None:
        return None

    watch = RefusalWatch(Response("", 403), RefusalLog(audit, SetClocks()), identify)
    await ask(watch, "GET", f"{place}/s3cret/a.txt")
    assert [each.subject for each in audit.lines] == [f"path:{place}/…"]
    assert "s3cret" not in str(audit.lines)
