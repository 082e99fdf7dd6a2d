"""All files of an item in one download, on a real socket: other programs read it, broken off and resumed.

`SOAK_ZIP=1` tries ten thousand files of twenty gigabytes together, which are sparse files on the disk.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256, sha512
from pathlib import Path
from shutil import which
from typing import Any
from zipfile import ZipFile
from zlib import crc32

import pytest

from ibi.items.model.content import BLOCK
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.service.integrity.verified_file import VerifiedFile
from tests.support.archive_app import REP, archive_app, kept
from tests.support.running_server import RunningServer, running

IS_SOAK = bool(os.environ.get("SOAK_ZIP"))
LARGE, SMALL = (10, 9_990) if IS_SOAK else (2, 300)
LARGE_SIZE = 2_000_000_001 if IS_SOAK else 3_000_001
PLACE = f"/col/{REP}.zip"


@lru_cache
def digests(size: int) -> tuple[str, str, bytes]:
    """SHA-512, CRC-32 and the digests of the blocks of so many zeros."""
    whole, crc, blocks = sha512(), 0, []
    zeros = bytes(BLOCK)
    for start in range(0, size, BLOCK):
        block = zeros if size - start >= BLOCK else bytes(size - start)
        whole.update(block)
        crc = crc32(block, crc)
        blocks.append(sha256(block).digest())
    return whole.hexdigest(), f"{crc:08x}", b"".join(blocks)


class SparseFile:
    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size
        self.digest = digests(self.size)[0]

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> SparseFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SparseContent:
    """Content whose files are sparse ones in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, name: str, path: str, version: int | None = None) -> Any:
        return SparseFile(self._folder / path.removeprefix("doc/"))


class KnownBlocks:
    """Every block is known and right, as of an Archive that verified its content."""

    is_prompt = True

    def find_blocks(self, digest: str) -> bytes | None:
        return next((blocks for whole, _, blocks in map(digests, (LARGE_SIZE,)) if whole == digest), None)

    def keep_blocks(self, digest: str, blocks: bytes) -> None: ...

    def forget_blocks(self, digests: object) -> None: ...

    def verified_file(self, file: Any, name: str, path: str) -> VerifiedFile:
        return VerifiedFile(file, name, path, self)

    def require_whole(self, name: str) -> None: ...

    def watch(self, listener: object) -> None: ...

    def is_damaged(self, name: str) -> bool:
        return False


@contextmanager
def serving(folder: Path) -> Iterator[RunningServer]:
    sizes = {f"small/{number:05}.dat": number % 7 * 500 for number in range(SMALL)}
    sizes |= {f"large/{number}.fits": LARGE_SIZE for number in range(LARGE)}
    for path, size in sizes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as made:
            made.truncate(size)
    files = tuple(File(path, size, digests(size)[0], crc32=digests(size)[1]) for path, size in sizes.items())
    item: Item = replace(kept(REP, files={})[0], files=files)
    options: dict[str, Any] = {"content": SparseContent(folder), "integrity": KnownBlocks()}
    with running(archive_app((item, {}), **options).app) as server:
        yield server


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_from(server: RunningServer, offset: int, etag: str, most: int) -> Iterator[bytes]:
    """A download from a byte on, which is broken off after so many."""
    with closing(server.connection()) as connection:
        connection.request("GET", PLACE, headers={"range": f"bytes={offset}-", "if-range": etag})
        answer = connection.getresponse()
        assert answer.status == 206
        while most > 0 and (piece := answer.read(min(most, 1 << 20))):
            most -= len(piece)
            yield piece


def test_a_download_of_many_files_resumes_at_any_byte_in_little_memory(tmp_path: Path) -> None:
    chance = random.Random(17)
    with serving(tmp_path) as server:
        head, _ = server.ask("HEAD", PLACE)
        size, etag = int(head.getheader("content-length") or 0), head.getheader("etag") or ""
        before, most = resident(), 0
        found = []
        for breaks in (1, 12):
            digest, offset = sha256(), 0
            while offset < size:
                for piece in read_from(server, offset, etag, chance.randrange(1, 2 * size // breaks)):
                    digest.update(piece)
                    offset += len(piece)
                most = max(most, resident())
            found.append(digest.hexdigest())
        assert found[0] == found[1]
        assert most - before < 64 << 20


@pytest.mark.skipif(IS_SOAK, reason="twenty gigabytes are not written to the disk")
@pytest.mark.skipif(which("wget") is None or which("unzip") is None, reason="needs wget and unzip")
def test_wget_goes_on_and_unzip_finds_nothing_wrong(tmp_path: Path) -> None:
    saved = tmp_path / "saved.zip"
    with serving(tmp_path / "content") as server:
        wget = ["wget", "-q", "-c", "-O", str(saved), f"{server.url}{PLACE}"]
        subprocess.run(wget, check=True, timeout=60)
        whole = saved.read_bytes()
        for cut in (1, 29, len(whole) // 2, len(whole) - 70_000, len(whole) - 3):
            os.truncate(saved, cut)
            subprocess.run(wget, check=True, timeout=60)
            assert saved.read_bytes() == whole
    assert subprocess.run(["unzip", "-tqq", str(saved)], timeout=60, check=False).returncode == 0
    with ZipFile(saved) as opened:
        assert len(opened.namelist()) == SMALL + LARGE
