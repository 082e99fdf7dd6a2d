"""An Archive on a real socket and a real disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha512
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from ibi.items.model.content import Bytes, Change, Source, Stream
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.store.ocfl.store import OcflStore
from tests.support.archive_app import NOW, REP, archive_app, kept
from tests.support.ibi_command import IbiCommand
from tests.support.running_server import RunningServer, running

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


def large() -> tuple[Item, Source]:
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
    )


def peak_memory(process: int) -> int:
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def download(url: str) -> tuple[int, str]:
    """How many bytes there are at a URL, and their SHA-512."""
    digest, size = sha512(), 0
    with urlopen(url, timeout=60) as response:
        while piece := response.read(1 << 16):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the memory of another process from /proc")
def test_a_large_download_takes_no_memory(tmp_path: Path) -> None:
    """The server is a process of its own: the peak of this process is that of all tests it has run."""
    command, digest = IbiCommand(tmp_path), sha512()
    with (tmp_path / "large").open("wb") as file:
        for _ in range(PIECES):
            file.write(PIECE)
            digest.update(PIECE)
    (tmp_path / "small").write_bytes(PIECE)
    with command.up() as (server, _):
        deposited = command("deposit", "large", "small", "--title", "T", "--target", "small", "--json")
        small = json.loads(deposited.out)["url"]
        download(small)
        before = peak_memory(server.pid)
        assert download(small.removesuffix("small") + "large") == (len(PIECE) * PIECES, digest.hexdigest())
        assert peak_memory(server.pid) - before < 32 << 20


def test_nothing_is_read_for_a_reader_who_has_gone(tmp_path: Path) -> None:
    item, source = large()
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
