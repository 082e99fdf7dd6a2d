"""The page of what is followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from ibi.following.model.subscription import FeedEntry, Follow, FollowedState, FollowKind, FollowTarget, SourceAddress
from ibi.following.model.webhook import Webhook
from ibi.following.pages import FollowsPage
from ibi.following.ports.subscriptions import Advance
from ibi.items.model.change import ChangeKind
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.people.pages.sign_in import SignInPages
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.web.errors import problem
from ibi.web.reader import Sessions
from tests.support.followed_source import name_of
from tests.support.kept_subscriptions import kept_subscriptions
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, Browser
from tests.support.set_clocks import SetClocks

NOW = 1_800_000_000
FOLLOW = Follow(
    id="f0110",
    target=FollowTarget(FollowKind.SEARCH, "<rain>"),
    source=SourceAddress("https://a.example"),
    token="t0ken",
    created=NOW,
)
HOOK = Webhook(id="h00c", url="https://b.example/?key=1", secret=b"s" * 32, created=NOW, epoch="e", position=0)


class Site:
    def __init__(self, follows: Any, webhooks: Any) -> None:
        clocks, people, hasher = SetClocks(Instant(NOW)), MemoryPeople(), SecretHasher(PasswordHasher(1, 8, 1))
        sign_in = SignIn(people, clocks, hasher)
        sessions = Sessions(sign_in, "https://ibi.example")

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, IbiError)
            return problem(error)

        pages = [*SignInPages(sign_in, sessions).routes(), *FollowsPage(sessions, follows, webhooks).routes()]
        self.app = Starlette(routes=pages, exception_handlers={IbiError: refuse})
        for role in ("depositor", "librarian", "admin"):
            PersonAdmin(people, clocks, hasher).create(role, role, PASSWORD)

    async def browser(self, role: str) -> Browser:
        browser = Browser(self.app)
        assert (await browser.post("/sign-in", {"name": role, "password": PASSWORD})).status == 303
        return browser


async def page(data: Path, role: str, language: str = "en") -> tuple[int, str]:
    catalog = SqliteCatalog(data / "catalogue.sqlite")
    with kept_subscriptions(data, catalog.changes) as kept:
        kept.follows.add(FOLLOW)
        kept.follows.begin("f0110", "e", 0, 1, ())
        entries = [FeedEntry(number, name_of(number), ChangeKind.PUT, "x", 1) for number in (1, 2)]
        kept.follows.advance([Advance("f0110", "e", 2, 5, entries)], NOW)
        first, second = kept.follows.due(["f0110"], NOW, 2)
        kept.follows.finish(first, FollowedState.PURGED, 1, "x")
        kept.follows.put_off(second, NOW, "it is restricted")
        kept.follows.note_failure(["f0110"], "it took too long", NOW)
        kept.webhooks.add(HOOK)
        kept.webhooks.disable("h00c", "HTTP status 500", NOW)
        site = Site(kept.subscriptions.follows.list_follows, kept.subscriptions.webhooks.list_webhooks)
        answer = await (await site.browser(role)).get("/follows", **{"accept-language": language})
    catalog.close()
    return answer.status, answer.body.decode()


async def test_a_librarian_sees_what_is_followed_how_far_it_is_and_no_secret(tmp_path: Path) -> None:
    status, text = await page(tmp_path, "librarian")
    assert status == 200
    read_page(text.encode())
    for words in ("a search", "&lt;rain&gt;", "4 changes", "whose Original was purged", "it is restricted", "too long"):
        assert words in text
    assert "t0ken" not in text
    assert "b.example" not in text


async def test_an_administrator_sees_the_webhooks_too(tmp_path: Path) -> None:
    _, text = await page(tmp_path, "admin")
    assert "disabled since January 15, 2027" in text
    assert "HTTP status 500" in text
    assert "key=1" not in text


@pytest.mark.parametrize(("language", "words"), [("es", "Archivos seguidos"), ("pt-BR", "Arquivos seguidos")])
async def test_the_page_is_translated(tmp_path: Path, language: str, words: str) -> None:
    _, text = await page(tmp_path, "admin", language)
    assert words in text


async def test_others_do_not_see_it(tmp_path: Path) -> None:
    assert (await page(tmp_path, "depositor"))[0] == 403
    site = Site(list, list)
    answer = await Browser(site.app).get("/follows")
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?to=/follows")
    empty = await (await site.browser("librarian")).get("/follows")
    assert b"No Archives are followed." in empty.body
