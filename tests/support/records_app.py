"""The web application with an Archive on a disk that takes deposits: drafts, items, tokens of every scope."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.claims.opening import claim_context
from ibi.claims.service.claim_context import ClaimContext
from ibi.claims.service.inbox import NotificationInbox
from ibi.claims.store import SqliteNotifications
from ibi.collections.service import Collections
from ibi.collections.store import SqliteCollections
from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.copying import Copying
from ibi.copies.service.jobs import CopyWork
from ibi.copies.store.copy_jobs import SqliteCopyJobs
from ibi.copies.store.copy_parts import CopyParts
from ibi.deposits.rules.drafts import DraftQuota, DraftRules
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.store.draft_files import DraftFiles
from ibi.deposits.store.reviews import SqliteReviews
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.searching import Searching
from ibi.people.model.account import Scope
from ibi.people.rules.sign_in import TOKEN_BYTES, new_token
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.people.store.audit_log import FileAuditLog
from ibi.requests.service import ReaderRequests
from ibi.usage.store import MemoryUsageLog
from ibi.web.sites import ArchiveSite, ItemServices
from tests.support.archive_app import BASE, NOW, SERVICE
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import CREATED, made
from tests.support.set_clocks import SetClocks
from tests.support.sites import ArchiveParts, make_site, split_options

RECORDS = "/api/items"
NO_QUOTA = DraftQuota()
SAID = {"metadata": {"title": "Uma tese"}}


@dataclass
class RecordsApp:
    """`ask` asks with a token of the scope deposit and the name ana, unless told otherwise."""

    app: Starlette
    site: ArchiveSite
    services: ItemServices
    parts: ArchiveParts
    store: ArchiveStore
    drafts: Drafts
    clocks: SetClocks
    usage: MemoryUsageLog
    tokens: MemoryTokens
    texts: dict[tuple[Scope, str], str] = field(default_factory=dict)

    def bearer(self, scope: Scope = Scope.DEPOSIT, name: str = "ana") -> dict[str, str]:
        if (scope, name) not in self.texts:
            chance = bytes([len(self.texts)]) * TOKEN_BYTES
            self.texts[scope, name], token = new_token(chance, scope, CREATED, name=name)
            self.tokens.add(token)
        return {"authorization": f"Bearer {self.texts[scope, name]}"}

    async def ask(
        self,
        method: str,
        path: str,
        said: object = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | Sequence[bytes] = b"",
    ) -> Answer:
        sent = {**self.bearer(), **(headers or {})}
        if said is not None:
            body = json.dumps(said).encode()
            sent = {"content-type": "application/json", **sent}
        return await ask(self.app, method, path, {name: text for name, text in sent.items() if text}, body)

    async def begin(self, said: object = None, **options: Any) -> str:
        answer = await self.ask("POST", RECORDS, SAID if said is None else said, **options)
        assert answer.status == 201, answer.json()
        return f"{RECORDS}/{answer.json()['id']}"

    async def send(self, draft: str, path: str, body: bytes | Sequence[bytes] = b"content", **headers: str) -> Answer:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return await self.ask("PUT", f"{draft}/files/{path}", headers=named, body=body)

    async def publish(self, draft: str, **headers: str) -> dict[str, Any]:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        answer = await self.ask("POST", f"{draft}/publish", headers=named)
        assert answer.status == 201, answer.json()
        found = answer.json()
        assert isinstance(found, dict)
        return found

    async def deposit(self, said: object = None, **files: bytes) -> dict[str, Any]:
        """A published item; `a__b` is the file `a/b.txt`."""
        draft = await self.begin(said)
        for name, content in (files or {"a": b"content"}).items():
            assert (await self.send(draft, f"{name.replace('__', '/')}.txt", content)).status == 201
        return await self.publish(draft)


@asynccontextmanager
async def records_app(data: Path, **options: Any) -> AsyncIterator[RecordsApp]:
    """Started, and stopped at the end."""
    with unstarted_records_app(data, **options) as records:
        async with records.app.router.lifespan_context(records.app):
            yield records


def _collections(data: Path, store: ArchiveStore, clocks: SetClocks, opened: ExitStack) -> Collections:
    searching = Searching(store.search, store.catalog.recent_version)
    opened.callback(searching.close)
    kept = opened.enter_context(closing(SqliteCollections(data)))
    audit = opened.enter_context(closing(FileAuditLog(data)))
    return Collections(kept, store.catalog, clocks, searching=searching, audit=audit)


@contextmanager
def unstarted_records_app(
    data: Path,
    *,
    largest: int = 10_000_000,
    days: int = 30,
    quota: DraftQuota = NO_QUOTA,
    has_inbox: bool = False,
    inbox_of: Callable[[ClaimContext], NotificationInbox] = NotificationInbox,
    app_options: Mapping[str, Any] | None = None,
    is_reviewed: bool = False,
    people: MemoryPeople | None = None,
    requests_of: Callable[[ArchiveStore, SetClocks], ReaderRequests] | None = None,
    **options: Any,
) -> Iterator[RecordsApp]:
    """For a server, which starts it. With an inbox nothing is sent: there is no courier. With `people`, they can sign
    in. `app_options` are for the application, all others for the site of the Archive."""
    clocks, usage, tokens = SetClocks(NOW), MemoryUsageLog(), MemoryTokens()
    with open_store(data) as store, closing(SqliteCopyJobs(data)) as jobs, ExitStack() as opened:
        staging = CopyParts(data)
        copying = Copying(store, HttpItemSources(), staging, clocks, CopyRules())
        copy_work = CopyWork(jobs, copying, staging)
        exchange = None
        if has_inbox:
            notifications = opened.enter_context(closing(SqliteNotifications(data)))
            exchange = claim_context(notifications, store, clocks, SERVICE)
        drafts = Drafts(
            DraftFiles(data, clocks),
            store,
            clocks,
            DraftRules(largest, days, quota),
            service=SERVICE,
            reviews=opened.enter_context(closing(SqliteReviews(data))) if is_reviewed else None,
            is_reviewed=is_reviewed,
        )
        services = ItemServices(
            store, drafts, clocks, SERVICE, standing=lambda: {"membership": "off"}, exchange=exchange
        )
        given, others = split_options(options)
        parts = ArchiveParts(
            services=services,
            copy_work=copy_work,
            requests=None if requests_of is None else requests_of(store, clocks),
            inbox=None if exchange is None else inbox_of(exchange),
            collections=_collections(data, store, clocks, opened),
            **given,
        )
        site = make_site(
            ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE)),
            store.catalog,
            store.content,
            clocks,
            BASE,
            changes=parts.changes,
            usage=usage,
            feed=store.changes,
            tracking=None if parts.transfers is None else parts.transfers.tracking,
            inbox_url=None if exchange is None else f"{BASE}/inbox",
            **others,
        )
        sign_in = None if people is None else SignIn(people, clocks, SecretHasher())
        served = {"sign_in": sign_in, "people": people, **(app_options or {})}
        minting = made(clocks=clocks, tokens=tokens, archive=site, parts=parts, **served)
        yield RecordsApp(minting.app, site, services, parts, store, drafts, clocks, usage, tokens)
