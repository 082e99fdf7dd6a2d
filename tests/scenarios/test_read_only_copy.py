"""Commands that only read, on a copy of a data directory that cannot be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.ibi_command import IbiCommand

Run = Callable[..., subprocess.CompletedProcess[str]]
_IBI = "from ibi.command import main; main()"
_MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def _can_mount(place: Path) -> bool:
    """Whether this process may see a directory as read-only that others may write."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", "sh", "-c", _MOUNTED, str(place), "sh", "-c", f'! touch "{place}/x" 2>/dev/null']
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def contents(place: Path) -> dict[str, tuple[int, int]]:
    """Size and date of everything in a directory, and of the directories themselves."""
    found = {str(path.relative_to(place)): path.lstat() for path in (place, *place.rglob("*"))}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in found.items()}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data directory with an item, and the label of that."""
    home = tmp_path_factory.mktemp("home")
    ibi = IbiCommand(home)
    (home / "a.txt").write_text("content")
    variables = {"IBI_MINT_HOST": "ibi.localhost", "IBI_MINT_IP": "127.0.0.1", "IBI_MINT_SANDBOX": "true"}
    made = ibi("deposit", "a.txt", "--title", "A title", "--json", **variables)
    assert made.code == 0, made
    return ibi.data, str(json.loads(made.out)["ibip"])


@pytest.fixture
def copied(data: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy without the logs that SQLite keeps beside a database that is open."""
    copy = tmp_path / "copy"
    shutil.copytree(data[0], copy)
    for path in [*copy.glob("*-wal"), *copy.glob("*-shm")]:
        path.unlink()
    return copy


@pytest.fixture
def run(copied: Path, tmp_path: Path) -> Iterator[Run]:
    """Runs the command where the copy cannot be written."""
    is_mounted = _can_mount(copied)
    if not is_mounted:
        if os.getuid() == 0:
            pytest.skip("this user may write everything, and cannot mount anything read-only")
        for path in (copied, *copied.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
    (tmp_path / "tmp").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IBI_")}
    environment |= {"TMPDIR": str(tmp_path / "tmp"), "IBI_LOCK_DIR": str(tmp_path / "locks")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", _IBI, *arguments, "--data", str(copied)]
        before = ["unshare", "--mount", "sh", "-c", _MOUNTED, str(copied)] if is_mounted else []
        return subprocess.run(
            [*before, *program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    yield run
    for path in (copied, *copied.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_items_of_a_read_only_copy_are_shown_and_verified(
    data: tuple[Path, str], copied: Path, run: Run, tmp_path: Path
) -> None:
    before = contents(copied)
    shown = run("show", data[1], "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)["item"]["files"][0]["path"] == "a.txt"
    verified = run("verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)) == (0, {"items": 1, "damaged": 0})
    refused = run("delete", data[1], "--reason", "by request")
    assert (refused.returncode, "Read-only" in refused.stderr or "denied" in refused.stderr) == (1, True)
    assert "Traceback" not in refused.stderr
    assert contents(copied) == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_damage_of_a_read_only_copy_is_found(data: tuple[Path, str], copied: Path, run: Run) -> None:
    (damaged,) = copied.glob("store/**/content/doc/a.txt")
    damaged.write_text("c0ntent")
    verified = run("verify")
    assert verified.returncode == 1
    assert "a.txt" in verified.stdout


def test_a_read_only_copy_without_its_catalogue_is_read_all_the_same(
    data: tuple[Path, str], copied: Path, run: Run
) -> None:
    (copied / "catalogue.sqlite").unlink()
    shown = run("show", data[1], "--json")
    assert (shown.returncode, json.loads(shown.stdout)["ibip"]) == (0, data[1])
    assert "made anew" in shown.stderr
    assert not (copied / "catalogue.sqlite").exists()
