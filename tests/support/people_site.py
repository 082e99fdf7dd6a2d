"""The pages of people on memory, and browsers that keep cookies and send forms as browsers do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.service.integrity.integrity import Integrity
from ibi.people.model.account import AuditEntry, Role
from ibi.people.pages.account import AccountPage
from ibi.people.pages.administration import PeoplePage
from ibi.people.pages.sign_in import SignInPages
from ibi.people.ports import IdentityProvider
from ibi.people.service.account_admin import LocalTokenAdmin, PersonAdmin
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.mail import Letter
from ibi.web.errors import problem
from ibi.web.middleware import KnownSite
from ibi.web.reader import ERRAND_COOKIE, SECURE_COOKIE, Sessions
from ibi.web.rendering import SiteFacts
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.memory.tokens import MemoryTokens
from tests.support.set_clocks import SetClocks

__all__ = [
    "HOST",
    "PASSWORD",
    "URL",
    "Browser",
    "KeptAudit",
    "PeopleSite",
    "PostBox",
    "account_page",
    "known_site",
    "signed_in",
]

PASSWORD = "um cavalo correto"
HOST = {"host": "ibi.example"}
URL = "https://ibi.example"
ERRAND = f"__Host-{ERRAND_COOKIE}"


class PostBox:
    """A mailer that keeps its letters, and an audit log that keeps its lines."""

    def __init__(self, refusal: IbiError | None = None) -> None:
        self.letters: list[Letter] = []
        self.refusal = refusal

    def send(self, letter: Letter) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.letters.append(letter)


class KeptAudit:
    """The port `AuditLog` without a disk and a chain."""

    def __init__(self) -> None:
        self.lines: list[AuditEntry] = []

    def append(self, entries: Sequence[AuditEntry]) -> None:
        self.lines += entries

    def watch(self, on_written: Callable[[], object]) -> None:
        """There is no disk."""

    def sync(self) -> None:
        """There is no disk."""

    def entries(self) -> Iterator[AuditEntry]:
        return iter(self.lines)

    def was_begun(self) -> bool:
        return bool(self.lines)

    def close(self) -> None:
        """Nothing to let go of."""

    @property
    def said(self) -> list[str]:
        return [f"{line.account or '-'} {line.act} {line.subject} {line.detail}".rstrip() for line in self.lines]


class Browser:
    """Keeps cookies, and sends forms as browsers do."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self.cookie: str | None = None
        self.errand: str | None = None

    async def get(self, path: str, **headers: str) -> Answer:
        return self._kept(await ask(self._app, "GET", path, self._headers(headers)))

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        sent = {"content-type": "application/x-www-form-urlencoded", "origin": "https://ibi.example", **headers}
        return self._kept(await ask(self._app, "POST", path, self._headers(sent), urlencode(fields).encode()))

    async def send(self, path: str, **fields: str) -> Answer:
        """A form of one's own."""
        return await self.post(path, {"csrf": await self.csrf(), **fields})

    async def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', (await self.get("/account")).body.decode())
        assert found is not None
        return found[1]

    def _headers(self, others: dict[str, str]) -> dict[str, str]:
        kept = {SECURE_COOKIE: self.cookie, ERRAND: self.errand}
        cookies = "; ".join(f"{name}={value}" for name, value in kept.items() if value is not None)
        return {**HOST, **({"cookie": cookies} if cookies else {}), **others}

    def _kept(self, answer: Answer) -> Answer:
        for said in answer.cookies:
            jar = SimpleCookie(said)
            if SECURE_COOKIE in jar:
                self.cookie = jar[SECURE_COOKIE].value or None
            if ERRAND in jar:
                self.errand = jar[ERRAND].value or None
        return answer


class PeopleSite:
    def __init__(
        self,
        integrity: Integrity | None = None,
        mailer: PostBox | None = None,
        provider: IdentityProvider | None = None,
        role: Role | None = None,
    ) -> None:
        self.audit = KeptAudit()
        self.clocks = SetClocks(Instant.parse("2026-11-15T12:00:00Z"))
        self.people, self.hasher = MemoryPeople(), SecretHasher(PasswordHasher(1, 8, 1))
        self.admin = PersonAdmin(self.people, self.clocks, self.hasher, audit=self.audit)
        self.seconds = 0.0
        sign_in = SignIn(self.people, self.clocks, self.hasher, monotonic=lambda: self.seconds, means=self.people)
        sessions = Sessions(sign_in, "https://ibi.example")
        self.recovery = AccountRecovery(
            sign_in, self.admin, public_url=URL, mailer=mailer, audit=self.audit, monotonic=lambda: self.seconds
        )
        vouched = None
        if provider is not None:
            vouched = ProviderSignIn(
                *(provider, sign_in, self.people, self.admin),
                public_url=URL,
                role=role,
                monotonic=lambda: self.seconds,
            )
        pages = SignInPages(sign_in, sessions, self.recovery, provider=vouched)
        self.tokens = LocalTokenAdmin(MemoryTokens(), self.clocks, self.people, audit=self.audit)
        account = AccountPage(sign_in, sessions, self.recovery, self.tokens, integrity=integrity, provider=vouched)
        people = PeoplePage(self.recovery)

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, IbiError)
            return problem(error)

        self.app = Starlette(
            routes=[*pages.routes(), *account.routes(), *people.routes()],
            middleware=[known_site(sessions)],
            exception_handlers={IbiError: refuse},
        )
        self.admin.create("ada", "librarian", PASSWORD)

    def browser(self) -> Browser:
        return Browser(self.app)


def known_site(sessions: Sessions, routes: Sequence[Route] = ()) -> Middleware:
    return Middleware(KnownSite, facts=SiteFacts().served_with(routes, ()), sessions=sessions)


def account_page(sign_in: SignIn, sessions: Sessions) -> AccountPage:
    """The page of one's own account, beside other pages that a test is about."""
    tokens = LocalTokenAdmin(MemoryTokens(), sign_in.clocks, sign_in.people)
    return AccountPage(sign_in, sessions, AccountRecovery(sign_in), tokens)


async def signed_in(site: PeopleSite, name: str = "ada") -> Browser:
    browser = site.browser()
    answer = await browser.post("/sign-in", {"name": name, "password": PASSWORD})
    assert answer.status == 303
    return browser
