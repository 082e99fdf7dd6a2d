"""E78: what readers see of an Archive that is switched off."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from ibi.web.middleware import SwitchGuard
from ibi.web.reader import SESSIONS
from tests.support.asgi_client import Answer, ask


class Sessions:
    def current(self, scope: Scope) -> object | None:
        return object() if dict(scope["headers"]).get(b"cookie") == b"known" else None


class Switched:
    """An Archive behind its switch."""

    def __init__(self, *, on: bool) -> None:
        self.on, self.seconds = on, 0.0
        self._guard = SwitchGuard(self._inner, lambda: self.on, lambda: self.seconds)

    async def _inner(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[SESSIONS] = Sessions()
        await self._guard(scope, receive, send)

    async def get(self, path: str, **headers: Any) -> Answer:
        return await ask(self, "GET", path, headers)


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/search.atom", "/col/lab.br/arq/doc/a", "/%63ol/x"])
async def test_pages_and_bytes_answer_503_with_a_notice(path: str) -> None:
    archive = Switched(on=False)
    answer = await archive.get(path)
    assert (answer.status, answer.json()["type"]) == (503, "urn:ibi:problem:archive-switched-off")
    assert int(answer.headers["retry-after"]) == 600
    page = await archive.get(path, accept="text/html", **{"accept-language": "es"})
    assert page.status == 503
    assert "desactivado" in page.body.decode()


@pytest.mark.parametrize("path", ["/api/records", "/healthz", "/readyz", "/metrics", "/sign-in", "/static/ibi.css"])
async def test_what_is_not_about_items_goes_on(path: str) -> None:
    assert (await Switched(on=False).get(path)).status == 200


async def test_signed_in_people_see_everything() -> None:
    assert (await Switched(on=False).get("/", cookie="known")).status == 200


async def test_the_switch_is_looked_at_once_a_second() -> None:
    archive = Switched(on=True)
    assert (await archive.get("/")).status == 200
    archive.on = False
    assert (await archive.get("/")).status == 200
    archive.seconds += 1
    assert (await archive.get("/")).status == 503
