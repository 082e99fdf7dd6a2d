"""An Archive on a real socket and a real disk."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest

from ibi.model.content import Bytes, Change, Source, Stream
from ibi.model.file import File
from ibi.model.item import Item
from ibi.storage.ocfl.store import OcflStore
from tests.archive_app import NOW, REP, archive_app, kept
from tests.running_server import RunningServer, running

PIECE = bytes(range(256)) * 4096
PIECES = 128
DOC = f"/col/{REP}/doc"


@contextmanager
def serving(tmp_path: Path, item: Item, **files: Source) -> Iterator[tuple[RunningServer, Any]]:
    store = OcflStore(tmp_path / "store")
    with closing(store):
        sources = {f"doc/{name}": source for name, source in files.items()}
        store.create(str(item.rep), {"item.json": Bytes(b"secret"), **sources}, Change("Ana", "deposit", NOW))
        app = archive_app((item, {}), content=store)
        with running(app.app) as server:
            yield server, app


def large() -> tuple[Item, Source, str]:
    """128 MiB that are never in memory at once."""
    digest = sha512()
    for _ in range(PIECES):
        digest.update(PIECE)
    left = [PIECES]

    def read(_: int) -> bytes:
        left[0] -= 1
        return PIECE if left[0] >= 0 else b""

    item, _files = kept(REP, files={})
    file = File("large", len(PIECE) * PIECES, digest.hexdigest())
    return (
        Item(labels=item.labels, created=item.created, updated=item.updated, files=(file,)),
        Stream(read),
        file.sha512,
    )


def test_a_large_download_takes_no_memory(tmp_path: Path) -> None:
    item, source, wanted = large()
    with serving(tmp_path, item, large=source) as (server, _), closing(server.connection()) as connection:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connection.request("GET", f"{DOC}/large")
        response, digest, size = connection.getresponse(), sha512(), 0
        while piece := response.read(1 << 16):
            digest.update(piece)
            size += len(piece)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (size, digest.hexdigest()) == (len(PIECE) * PIECES, wanted)
    assert after - before < 32 * 1024


def test_nothing_is_read_for_a_reader_who_has_gone(tmp_path: Path) -> None:
    item, source, _ = large()
    read: list[int] = []
    with serving(tmp_path, item, large=source) as (server, app):
        opened = app.site.content.open

        def counting(*arguments: Any) -> Any:
            file = opened(*arguments)
            original = file.read

            def counted(offset: int, length: int) -> bytes:
                read.append(length)
                return bytes(original(offset, length))

            file.read = counted
            return file

        app.site.content.open = counting
        with closing(server.connection()) as connection:
            connection.request("GET", f"{DOC}/large")
            connection.getresponse().read(1000)
    assert sum(read) < len(PIECE) * PIECES // 2


@pytest.mark.parametrize(
    "path",
    [
        "/../item.json",
        "/%2e%2e/item.json",
        "/..%2fitem.json",
        "/%252e%252e/item.json",
        "/..%5citem.json",
        "/a.txt%00",
        "//etc/passwd",
        "/../../../../../../../etc/passwd",
    ],
)
def test_no_path_leads_out_of_an_item(tmp_path: Path, path: str) -> None:
    item, _ = kept(REP)
    with serving(tmp_path, item, **{"a.txt": Bytes(b"0123456789")}) as (server, _), closing(server.connection()) as one:
        one.request("GET", f"{DOC}{path}")
        answer = one.getresponse()
        assert (answer.status, b"secret" in answer.read()) == (404, False)


def test_a_name_in_iso_8859_1_is_read(tmp_path: Path) -> None:
    """E33."""
    item, _ = kept(REP, files={"Relatório.pdf": ("application/pdf", b"%PDF")})
    with serving(tmp_path, item, **{"Relatório.pdf": Bytes(b"%PDF")}) as (server, _):
        response, body = server.ask("HEAD", f"{DOC}/Relat%F3rio.pdf")
        assert (response.status, response.getheader("content-length"), body) == (200, "4", b"")
        assert server.ask("GET", f"{DOC}/Relat%F3rio.pdf")[1] == b"%PDF"
