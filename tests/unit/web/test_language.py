"""Which of its three languages a page speaks, and how a reader changes that."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette

from ibi.items.pages.search_page import common_routes
from ibi.web.reader import local_target, page_language
from ibi.web.rendering import static_url
from tests.support.asgi_client import ask


@pytest.mark.parametrize(
    ("accepted", "spoken"),
    [
        ("", "en"),
        ("pt-BR,pt;q=0.9", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("es-419,es;q=0.8", "es"),
        ("fr, es;q=0.3", "es"),
        ("de", "en"),
        ("en;q=0, es;q=0.1", "es"),
        ("\xff\xfe;;;q=,", "en"),
    ],
)
def test_a_page_speaks_the_best_of_its_languages(accepted: str, spoken: str) -> None:
    headers = [(b"accept-language", accepted.encode("latin-1"))]

    assert page_language({"headers": headers}) == spoken


@pytest.mark.parametrize(
    ("cookie", "spoken"),
    [
        *((b"ibi-language=es", "es"), (b"a=b; ibi-language=xx", "pt-BR"), (b"\x00ibi-language", "pt-BR")),
        *((b'a={"b": 1}; ibi-language=es', "es"), (b"a=%s; ibi-language=es" % (b"a" * 50_000), "es")),
    ],
)
def test_what_was_chosen_on_a_page_comes_first(cookie: bytes, spoken: str) -> None:
    assert page_language({"headers": [(b"cookie", cookie), (b"accept-language", b"pt")]}) == spoken


@pytest.mark.parametrize(
    "away", ["//evil.example/", "/\\evil.example", "https://evil.example/", "", "x", "/a\r\nb", "/é"]
)
def test_no_reader_is_led_away_by_a_choice(away: str) -> None:
    assert local_target(away) == "/"


def test_a_page_of_ours_is_gone_back_to() -> None:
    assert local_target("/col/a/b?x=1&y=%20") == "/col/a/b?x=1&y=%20"


async def test_a_choice_is_kept_in_a_cookie_and_leads_back() -> None:
    app = Starlette(routes=common_routes())

    answer = await ask(app, "GET", "/language/PT-br?to=/explain%3Fq%3D1")

    assert (answer.status, answer.headers["location"]) == (303, "/explain?q=1")
    assert answer.headers["set-cookie"].startswith("ibi-language=pt-BR;")
    assert "HttpOnly" in answer.headers["set-cookie"]


async def test_what_never_changes_is_kept_by_browsers() -> None:
    app = Starlette(routes=common_routes())

    answer = await ask(app, "GET", static_url("ibi.css"))

    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
