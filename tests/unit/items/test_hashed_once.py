"""Every deposited byte enters SHA-512 once, whichever way it comes in."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes, Copy, Keep, Move, Source, Stream
from ibi.items.opening.archive_store import open_store
from tests.support.counted_sha512 import counted_sha512, high_bytes
from tests.support.deposit_samples import CountedLabels, deposits, draft
from tests.support.grouped_deposits import Gate, in_one_group
from tests.support.home_world import in_process
from tests.support.ibi_command import IbiCommand
from tests.support.records_app import RECORDS, records_app

SMALL, MEDIUM, BIG = 1000, 200_000, 3_500_000
"""One that is held in memory, one of which the digest of its block is kept, and one of several blocks."""
SIZES = (SMALL, MEDIUM, BIG)
IDENTITY = {
    "IBI_MINT_HOST": "ibi.localhost",
    "IBI_MINT_IP": "127.0.0.1",
    "IBI_MINT_HOST_PORT": "8765",
    "IBI_MINT_IP_PORT": "8765",
    "IBI_MINT_SANDBOX": "true",
}


def test_what_is_hashed_is_counted() -> None:
    with counted_sha512() as count:
        from hashlib import file_digest, sha512

        content = high_bytes(300)
        assert sha512(content).digest() == file_digest(io.BytesIO(content), "sha512").digest()
        sha512(b"ascii")
    assert count.entered == 600


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["bytes", "copy", "stream", "move"])
def test_a_file_of_a_deposit_is_hashed_once(tmp_path: Path, kind: str, size: int) -> None:
    content, place = high_bytes(size), tmp_path / "file"
    place.write_bytes(content)
    kinds: dict[str, Callable[[], Source]] = {
        "bytes": lambda: Bytes(content),
        "copy": lambda: Copy(str(place)),
        "stream": lambda: Stream(io.BytesIO(content).read),
        "move": lambda: Move(str(place)),
    }
    with open_store(tmp_path / "data") as store, counted_sha512() as count:
        item = deposits(store).deposit(draft("a.bin"), {"a.bin": kinds[kind]()}, "Ana")
    assert item.files[0].size == size
    assert count.entered == size


def test_files_that_are_deposited_by_the_command_are_hashed_once(tmp_path: Path) -> None:
    command, folder = IbiCommand(tmp_path), tmp_path / "folder"
    command.data.mkdir()
    folder.mkdir()
    for size in SIZES:
        (folder / f"{size}.bin").write_bytes(high_bytes(size))
    with counted_sha512() as count:
        in_process(command, "deposit", str(folder), "--title", "Title", "--target", f"{BIG}.bin", **IDENTITY)
    assert count.entered == sum(SIZES)


async def test_files_that_are_uploaded_and_published_are_hashed_once(tmp_path: Path) -> None:
    """SHA-512 is computed while they are received; that a disk has not changed them since is told by SHA-256."""
    async with records_app(tmp_path) as site:
        with counted_sha512() as count:
            draft = await site.begin()
            for size in SIZES:
                await site.send(draft, f"{size}.bin", high_bytes(size))
            assert count.entered == sum(SIZES)
            await site.publish(draft)
        (item,) = site.store.catalog.items()
        assert sorted(file.size for file in item.files) == sorted(SIZES)
        assert count.entered == sum(SIZES)
        assert [verified.problems for verified in site.store.verify()] == [()]


async def test_what_a_draft_adds_to_an_item_is_hashed_once(tmp_path: Path) -> None:
    async with records_app(tmp_path) as site:
        await site.deposit(a=high_bytes(MEDIUM), b=high_bytes(SMALL))
        (item,) = site.store.catalog.items()
        with counted_sha512() as count:
            draft = (await site.ask("POST", f"{RECORDS}/{item.rep}/draft")).json()
            await site.send(f"{RECORDS}/{draft['id']}", "c.bin", high_bytes(BIG))
            await site.publish(f"{RECORDS}/{draft['id']}")
        assert count.entered == BIG


def test_an_update_hashes_what_is_new_and_not_what_is_kept(tmp_path: Path) -> None:
    with open_store(tmp_path / "data") as store:
        made = deposits(store)
        first = {f"{size}.bin": Bytes(high_bytes(size)) for size in SIZES}
        item = made.deposit(draft(*first), first, "Ana")
        wanted: dict[str, Source] = {f"{size}.bin": Keep(f"{size}.bin") for size in SIZES}
        wanted |= {f"new {size}.bin": Bytes(high_bytes(size - 1)) for size in SIZES}
        with counted_sha512() as count:
            updated = made.update(item.rep, draft(*wanted), wanted, "Ana")
        assert len(updated.item.files) == 6
        assert count.entered == sum(SIZES) - len(SIZES)


def test_content_that_comes_again_is_hashed_once(tmp_path: Path) -> None:
    """What is kept already is compared with it, and not hashed a second time."""
    with open_store(tmp_path / "data") as store:
        made = deposits(store)
        given: dict[str, Source] = {f"{size}.bin": Bytes(high_bytes(size)) for size in SIZES}
        item = made.deposit(draft(*given), given, "Ana")
        with counted_sha512() as count:
            made.update(item.rep, draft(*given), given, "Ana")
        assert count.entered == sum(SIZES)


def test_small_items_that_are_written_together_are_hashed_once(tmp_path: Path) -> None:
    gate, number = Gate(), 5
    with open_store(tmp_path / "data", on_step=gate) as store, counted_sha512() as count:
        made = deposits(store, CountedLabels())
        jobs = [lambda: made.deposit(draft("a.bin"), {"a.bin": Bytes(high_bytes(SMALL))}, "Ana")] * number
        done = in_one_group(store, gate, jobs[0], jobs)
        assert len({each.result().rep for each in done}) == number + 1
    assert count.entered == (number + 1) * SMALL
