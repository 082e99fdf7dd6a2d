"""A server that is started on a disk without any room: readers are served, nothing is taken in, also the next time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.backup.store.data_files import RESERVE, StartReserve
from ibi.command.api_clients import RecordsClient
from ibi.net.errors import ServerRefused
from tests.scenarios.test_follow import get, run, until
from tests.support.ibi_command import IbiCommand

IDENTITY = {"IBI_MINT_HOST": "archive.ibi-full.invalid", "IBI_MINT_SANDBOX": "true"}
PAGE = 4096
AT_ONCE = "import ibi.app.cli.server; ibi.app.cli.server._RESERVE_AFTER = 1"
"""Room is kept for the next start as soon as this one is done."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def fill(disk: Path) -> None:
    with (disk / "filling").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * PAGE)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_on_a_full_disk_starts_and_serves_readers_again_and_again(
    small_disk: Path, tmp_path: Path, workers: str
) -> None:
    home, settings = small_disk / "home", {**IDENTITY, "IBI_WORKERS": workers}
    home.mkdir()
    ibi = IbiCommand(home, first=AT_ONCE, log=tmp_path / "server.log")
    (home / "file.txt").write_text("some text")
    assert ibi("archive", "init", **IDENTITY).code == 0
    made = json.loads(ibi("deposit", "--title", "Title", "--json", "file.txt", **IDENTITY).out)
    token = run(ibi, "token", "create", "--scope", "deposit").strip()
    with ibi.up(**settings):
        until((ibi.data / RESERVE).exists)
    fill(small_disk)
    for is_killed in (False, True, False):
        assert free(small_disk) == 0
        with ibi.up(**settings) as (server, url):
            until(lambda: free(small_disk) == 0)  # the room for the next start is kept again
            label = made["rep"]
            for path in ("/", f"/col/{label}/metadata", "/search?q=title", "/api/changes", "/healthz", "/metrics"):
                assert get(url, path)[0] == 200, path
            assert get(url, f"/{label}")[0] == 302
            assert get(url, f"/col/{label}/doc/file.txt")[1] == b"some text"
            status, body = get(url, "/readyz")
            assert (status, json.loads(body)["reasons"][0]["code"]) == (503, "disk-nearly-full")
            with pytest.raises(ServerRefused, match="room"):
                RecordsClient(url, token).deposit({"metadata": {"title": "T"}}, {"a.txt": b"text"}, None)
            minted = ibi("mint", IBI_SERVER=url, IBI_TOKEN=token)
            assert minted.code == 1
            assert "no room left on the disk" in minted.err
            if is_killed:
                server.kill()
    (small_disk / "filling").unlink()
    with ibi.up(**settings) as (_, url):
        until(lambda: get(url, "/healthz")[0] == 200)
        until(lambda: (ibi.data / RESERVE).stat().st_size == 8 << 20)
        assert ibi("mint", IBI_SERVER=url, IBI_TOKEN=token).code == 0


def test_a_reserve_takes_what_there_is_and_gives_it_back_when_the_disk_is_full(small_disk: Path) -> None:
    reserve = StartReserve(small_disk, 100 * PAGE)
    assert not reserve.release()  # there is none
    reserve.take()
    assert (small_disk / RESERVE).stat().st_blocks * 512 == 100 * PAGE
    assert not reserve.release()  # there is room
    fill(small_disk)
    assert reserve.release()
    assert free(small_disk) == 100 * PAGE
    (small_disk / "more").write_bytes(bytes(60 * PAGE))
    reserve.take()
    assert free(small_disk) == 0
    assert (small_disk / RESERVE).stat().st_size == 40 * PAGE
