"""A backup and a restore that are killed at any moment: the backup before stays whole, and both go on where they were.

`SOAK_BACKUP=20` tries so many moments of each, drawn by chance from the number as a seed; otherwise a few are tried.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.forked_command import run_forked_script
from tests.support.ibi_command import IbiCommand

SCRIPT = Path(__file__).with_name("backup_worker.py")
SOAK = int(os.environ.get("SOAK_BACKUP", "0"))
IDENTITY = {"IBI_MINT_HOST": "archive.ibi-backup.invalid", "IBI_MINT_SANDBOX": "true"}
ITEMS = 6


class World:
    """A data directory with a backup, changed since, and what the backup was at both times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ibi = IbiCommand(folder)
        assert self.ibi("archive", "init", **IDENTITY).code == 0
        labels = [self.deposit(f"text {number}") for number in range(ITEMS)]
        self.work("backup", "ibi-data", "backup")
        self.before = self.objects(self.ibi.data)
        self.deposit("newer")
        (folder / "file.txt").write_text("changed")
        assert self.ibi("update", labels[0], "file.txt").code == 0
        assert self.ibi("delete", labels[1], "--reason", "withdrawn", "--purge").code == 0
        self.purged = labels[1]
        self.after = self.objects(self.ibi.data)

    def deposit(self, text: str) -> str:
        (self.folder / "file.txt").write_text(text)
        done = self.ibi("deposit", "--title", text, "--json", "file.txt", **IDENTITY)
        assert done.code == 0, done
        return str(json.loads(done.out)["rep"])

    def work(self, kind: str, data: str, place: str, moment: int = 0) -> dict[str, int]:
        arguments = [kind, str(self.folder / data), str(self.folder / place), str(self.folder / "locks"), str(moment)]
        code, out, err = run_forked_script(SCRIPT, *arguments)
        assert err == ""
        assert code == (-signal.SIGKILL if moment else 0), out
        return {} if moment else dict(json.loads(out))

    def objects(self, data: Path) -> dict[str, bytes]:
        """Every file of every object."""
        root = data / "store"
        files = (path for path in root.glob("*/*/*/*/**/*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    def restored(self, place: str) -> dict[str, bytes]:
        shutil.rmtree(self.folder / "probe", ignore_errors=True)
        self.work("restore", "probe", place)
        return self.objects(self.folder / "probe")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("backups"))


def moments(steps: int, few: tuple[float, ...]) -> list[int]:
    if not SOAK:
        return [max(1, round(share * steps)) for share in few]
    return random.Random(SOAK).choices(range(1, steps + 1), k=SOAK)


def test_a_killed_backup_leaves_the_one_before_whole_and_goes_on(world: World) -> None:
    shutil.copytree(world.folder / "backup", world.folder / "whole")
    steps = world.work("backup", "ibi-data", "whole")
    assert world.restored("whole") == world.after
    for moment in moments(steps["steps"], (0.6, 0.95)):
        place = f"backup-{moment}"
        shutil.copytree(world.folder / "backup", world.folder / place)
        world.work("backup", "ibi-data", place, moment)
        found = world.restored(place)
        # Of what was purged, the old backup may have nothing any more once the new one is complete, not before.
        assert found in (world.before, world.after), moment
        done = world.work("backup", "ibi-data", place)
        assert done["versions"] <= steps["versions"]
        assert world.restored(place) == world.after
        assert not list((world.folder / place).glob("incoming/*"))
        assert len(list((world.folder / place / "manifests").iterdir())) == 1
        assert len(list((world.folder / place / "items" / world.purged).iterdir())) == 1
        shutil.rmtree(world.folder / place)


def test_a_killed_restore_goes_on_where_it_was(world: World) -> None:
    steps = world.work("restore", "probe-first", "backup")["steps"]
    for moment in moments(steps, (0.3, 0.9)):
        data = f"restored-{moment}"
        world.work("restore", data, "backup", moment)
        refused = world.ibi("list", "--data", data)
        if moment < steps:
            assert (refused.code, len(refused.err.splitlines())) == (1, 1)
            assert "run `ibi restore` again" in refused.err
            done = world.work("restore", data, "backup")
            assert done["items"] == ITEMS + 1
            assert done["there"] >= min(ITEMS, (moment - 1) // 2 * 2), moment
        assert world.objects(world.folder / data) == world.before
        verified = world.ibi("verify", "--json", "--data", data)
        assert json.loads(verified.out) == {"items": ITEMS + 1, "damaged": 0}
        shutil.rmtree(world.folder / data)
