"""One flipped byte in any kept file, a real server, real sockets: no reader gets it with a success to its end."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ibi.items.opening.archive_store import open_store
from ibi.standard.label import parse
from tests.support.ibi_command import IbiCommand

SMALL = "árvore\n".encode() * 100
MIDDLE = bytes(range(256)) * 1500  # some pieces, one block
LARGE = bytes(range(251)) * 14_000  # three blocks and a part of a fourth
FILES = {"small.txt": SMALL, "middle.bin": MIDDLE, "large.bin": LARGE}
BLOCK = 1 << 20


@dataclass(frozen=True)
class Received:
    status: int
    is_complete: bool
    """Whether as many bytes came as the head of the answer said."""
    body: bytes


@dataclass
class Site:
    ibi: IbiCommand
    url: str
    rep: str

    def fetch(self, path: str, *headers: str, method: str = "GET", version: str = "1.1") -> Received:
        parts = urlsplit(self.url)
        assert parts.hostname
        lines = [f"{method} {path} HTTP/{version}", f"Host: {parts.netloc}", "Connection: close", *headers]
        with closing(socket.create_connection((parts.hostname, parts.port or 80), timeout=60)) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = b"".join(iter(lambda: connection.recv(1 << 18), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = 0 if method == "HEAD" else int(lengths[0].partition(b":")[2])
        return Received(int(head.split()[1]), len(body) == length, body)

    def file(self, name: str, *headers: str, method: str = "GET", version: str = "1.1") -> Received:
        return self.fetch(f"/col/{self.rep}/doc/{name}", *headers, method=method, version=version)

    @property
    def place(self) -> Path:
        return self.ibi.data / "store" / self.rep

    def verify(self) -> bool:
        """As `ibi verify` does, beside the server."""
        with open_store(self.ibi.data) as store:
            return not any(each.problems for each in store.verify([parse(self.rep)]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all: each test puts right what it has damaged."""
    ibi = IbiCommand(tmp_path_factory.mktemp("damaged"))
    for name, content in FILES.items():
        (ibi.home / name).write_bytes(content)
    with ibi.up(IBI_ARCHIVE_VERIFY_DAYS="0") as (_, url):
        made = ibi("deposit", *FILES, "--title", "Bytes", "--json")
        assert made.code == 0, made.err
        yield Site(ibi, url, json.loads(made.out)["rep"])


@contextmanager
def flipped(site: Site, file: Path, offset: int) -> Iterator[None]:
    """One bit of a byte, as a disk would: the size and the times of the file stay."""
    _flip(file, offset)
    try:
        yield
    finally:
        _flip(file, offset)
        assert site.verify()
        # The server looks some times a second at what others have verified.
        while b'"damaged":true' in site.fetch(f"/api/items/{site.rep}").body:
            pass


def _flip(file: Path, offset: int) -> None:
    status = file.stat()
    with file.open("r+b") as opened:
        opened.seek(offset)
        (byte,) = opened.read(1)
        opened.seek(offset)
        opened.write(bytes([byte ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def kept_file(site: Site, name: str) -> Path:
    (found,) = site.place.rglob(name)
    return found


def assert_is_not_given(received: Received, right: bytes) -> None:
    """Refused, or broken off; or it is right, because the damage lies elsewhere."""
    if received.status in {200, 206} and received.is_complete:
        assert received.body == right


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_flipped_byte_of_a_file(site: Site, name: str, where: str) -> None:
    content, file = FILES[name], kept_file(site, name)
    assert site.file(name).body == content  # a first good download
    offset = {"first": 0, "middle": len(content) // 2, "last": len(content) - 1}[where]
    with flipped(site, file, offset):
        part = site.file(name, f"Range: bytes={offset}-{offset}")
        assert part.status == 500
        assert b"urn:ibi:problem:content-damaged" in part.body
        for received in (
            site.file(name),
            site.file(name, version="1.0"),
            site.file(name, "Accept-Encoding: gzip"),
            site.file(name, f"Range: bytes={max(0, offset - 10)}-"),
            site.file(name, f"Range: bytes=-{len(content) - offset}"),
        ):
            assert received.status == 500
            assert received.is_complete
        assert site.file(name, method="HEAD").status == 500
        page = site.fetch(f"/col/{site.rep}/metadata", "Accept: text/html")
        assert (page.status, b"damaged" in page.body) == (200, True)
        others = [each for each in FILES if each != name]
        assert [site.file(each).body for each in others] == [FILES[each] for each in others]
    assert site.file(name).body == content


@pytest.mark.parametrize("offset", [0, BLOCK + 7, len(LARGE) - 1])
def test_the_first_reader_of_a_damaged_file_gets_no_success(site: Site, offset: int) -> None:
    with flipped(site, kept_file(site, "large.bin"), offset):
        assert site.file("large.bin", method="HEAD").status == 200  # no one has noticed yet
        received = site.file("large.bin")
        assert received.status == (500 if offset == 0 else 200)
        assert received.status == 500 or not received.is_complete
        assert LARGE.startswith(received.body) or received.status == 500
        assert site.file("large.bin").status == 500


def test_a_part_beside_the_damage_is_right(site: Site) -> None:
    with flipped(site, kept_file(site, "large.bin"), 2 * BLOCK + 5):
        for first, last in ((0, 99), (BLOCK - 10, BLOCK + 10), (len(LARGE) - 5, len(LARGE) - 1)):
            received = site.file("large.bin", f"Range: bytes={first}-{last}")
            assert (received.status, received.body) == (206, LARGE[first : last + 1])
        broken = site.file("large.bin", f"Range: bytes={BLOCK}-{len(LARGE) - 1}")
        assert broken.status in {206, 500}
        assert not (broken.status == 206 and broken.is_complete)


@pytest.mark.parametrize("name", ["item.json", "local.json", "inventory.json", "inventory.json.sha512", "0=ocfl*"])
def test_a_flipped_byte_of_what_lies_beside_the_files(site: Site, name: str) -> None:
    for file in sorted(site.place.rglob(name)):
        for offset in (0, file.stat().st_size // 2, file.stat().st_size - 1):
            before = file.read_bytes()
            _flip(file, offset)
            for each, content in FILES.items():
                assert_is_not_given(site.file(each), content)
                assert_is_not_given(site.file(each, "Range: bytes=5-9"), content[5:10])
            record = site.fetch(f"/api/items/{site.rep}")
            assert (record.status, json.loads(record.body)["labels"]["rep"]) == (200, site.rep)
            file.write_bytes(before)
    assert site.verify()


def test_a_damaged_item_takes_no_new_version_until_it_is_restored(site: Site) -> None:
    with flipped(site, kept_file(site, "middle.bin"), 1000):
        assert site.file("middle.bin").status == 500
        refused = site.ibi("update", site.rep, "--title", "Other")
        assert refused.code != 0
        assert "damaged" in refused.err
        assert f"ibi verify {site.rep}" in refused.err
        assert len(refused.err.strip().splitlines()) == 1
        assert site.ibi("verify", site.rep).code == 1
        status = json.loads(site.ibi("archive", "status", "--json").out)
        assert status["damaged"] == [site.rep]
    assert site.ibi("update", site.rep, "--title", "Other").code == 0
    assert json.loads(site.ibi("archive", "status", "--json").out)["damaged"] == []


def test_an_item_whose_record_is_damaged_is_not_unknown_and_other_damage_is_found(tmp_path: Path) -> None:
    """Not unknown even to a catalogue that is made anew, in either form of its label. A file that no one asks for is
    found damaged by the server itself."""
    ibi = IbiCommand(tmp_path)
    (tmp_path / "small.txt").write_bytes(SMALL)
    with ibi.up(IBI_ARCHIVE_VERIFY_DAYS="0") as (server, _):
        made, other = (json.loads(ibi("deposit", "small.txt", "--title", "Bytes", "--json").out) for _ in range(2))
        server.kill()
    (record,) = (ibi.data / "store" / made["rep"]).rglob("item.json")
    _flip(record, 10)
    (unread,) = (ibi.data / "store" / other["rep"]).rglob("small.txt")
    _flip(unread, 10)
    for end in ("", "-wal", "-shm"):
        (ibi.data / f"catalogue.sqlite{end}").unlink(missing_ok=True)
    with ibi.up() as (_, url):
        site = Site(ibi, url, made["rep"])
        while b"ibi_items_damaged 2.0" not in site.fetch("/metrics").body:
            pass
        assert site.fetch(f"/col/{other['rep']}/doc/small.txt", method="HEAD").status == 500
        for path in (f"/col/{site.rep}/metadata", f"/col/{site.rep}/doc/small.txt"):
            received = site.fetch(path)
            assert (received.status, b"content-damaged" in received.body) == (500, True), path
        for label in (made["rep"], made["ibip"]):
            assert site.fetch(f"/api/items/{label}").status == 500, label
            assert 500 <= site.fetch(f"/{label}").status < 600, label
        _flip(record, 10)
        assert ibi("verify", site.rep).code == 0
        while site.fetch(f"/col/{site.rep}/metadata").status != 200:
            pass
        assert site.file("small.txt").body == SMALL
