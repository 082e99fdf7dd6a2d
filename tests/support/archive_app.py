"""The web application with an Archive: items and bytes in memory, clocks that tests set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha512
from typing import Any

from starlette.applications import Starlette

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.items.model.change import Revision
from ibi.items.model.content import Bytes, Change
from ibi.items.model.file import File
from ibi.items.model.item import Item, Tombstone
from ibi.items.service.searching import Searching
from ibi.standard.instant import Instant
from ibi.standard.messages import State
from ibi.usage.store import MemoryUsageLog
from ibi.web.sites import ArchiveSite
from tests.support.archive_catalog import PlainCatalog
from tests.support.asgi_client import Answer, ask
from tests.support.flat_items import replace
from tests.support.memory.content import MemoryContent
from tests.support.memory.search import MemorySearch
from tests.support.minting_app import made
from tests.support.set_clocks import SetClocks
from tests.support.sites import ArchiveParts, make_site, split_options
from tests.support.standards_archives import forms, item

SERVICE = forms("lab.br/arq/2020/01.01.00.00", "8JMKD3MGP8W/3UM2JL2")
REP, IBIP = "lab.br/arq/2009/07.21.14.43", "8JMKD3MGP8W/35MMLL8"
OTHER = "lab.br/arq/2020/01.02.03.04"
BASE = "http://arq.lab.br"
RESOLVER = "http://urlib.net"
NOW = Instant.parse("2026-11-20T10:00:00Z")


class CountedCatalog(PlainCatalog):
    """Tells of its changes, and how often it was asked."""

    def __init__(self, *items: Item) -> None:
        self.changes = self.finds = 0
        super().__init__(*items)

    def put(self, item: Item, revision: Revision | None = None) -> None:
        self.changes += 1
        super().put(item, revision)

    def remove(self, label: Any, at: Instant | None = None) -> bool:
        self.changes += 1
        return super().remove(label, at)

    def find(self, label: Any) -> Item | None:
        self.finds += 1
        return super().find(label)


@dataclass
class ArchiveApp:
    app: Starlette
    site: ArchiveSite
    parts: ArchiveParts
    catalog: CountedCatalog
    usage: MemoryUsageLog
    clocks: SetClocks

    async def get(
        self,
        path: str,
        headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
        client: str = "192.0.2.77",
        method: str = "GET",
    ) -> Answer:
        return await ask(self.app, method, path, headers, client=(client, 4711))


def kept(
    *labels: str, files: Mapping[str, tuple[str, bytes]] | None = None, **others: Any
) -> tuple[Item, dict[str, bytes]]:
    """An item, and the bytes of its files: by path their media type and content; the first is the target."""
    files = {"a.txt": ("text/plain", b"0123456789")} if files is None else files
    recorded = tuple(
        File(path, len(content), sha512(content).hexdigest(), media) for path, (media, content) in files.items()
    )
    made_item = item(*labels, at="2014-01-02T17:23:57Z", files=())
    values = {"files": recorded, "target": next(iter(files), None), **others}
    return replace(made_item, **values), {path: content for path, (_, content) in files.items()}


def deleted(*labels: str, why: str = "by request", **others: Any) -> tuple[Item, dict[str, bytes]]:
    tombstone = Tombstone(Instant.parse("2020-05-06T07:08:09Z"), why, others.pop("replaced_by", None))
    return kept(*labels, files={}, state=State.DELETED, tombstone=tombstone, **others)


def archive_app(*items: tuple[Item, dict[str, bytes]], caching: bool = True, **options: Any) -> ArchiveApp:
    clocks, usage, content = SetClocks(NOW), MemoryUsageLog(), MemoryContent()
    for one, files in items if "content" not in options else ():
        sources = {f"doc/{path}": Bytes(body) for path, body in files.items()}
        content.create(str(one.rep), {"item.json": Bytes(b"{}"), **sources}, Change("Ana", "deposit", NOW))
    catalog = CountedCatalog(*(one for one, _ in items))
    profile = options.pop("profile", ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE)))
    changes = (lambda: catalog.changes) if caching else None
    given, others = split_options({"search": Searching(MemorySearch(catalog)), "changes": changes, **options})
    site = make_site(
        profile,
        others.pop("catalog", catalog),
        others.pop("content", content),
        clocks,
        BASE,
        changes=changes,
        usage=usage,
        **others,
    )
    parts = ArchiveParts(**given)
    return ArchiveApp(made(clocks=clocks, archive=site, parts=parts).app, site, parts, catalog, usage, clocks)
