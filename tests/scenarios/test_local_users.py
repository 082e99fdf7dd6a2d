"""Other users of the machine: they see nothing of a data directory unless it is opened to them, and stop nobody."""

from __future__ import annotations

import fcntl
import stat
from pathlib import Path

import pytest

from tests.support.ibi_command import IbiCommand

NAMED = {"IBI_MINT_HOST": "lab.example", "IBI_MINT_IP": "192.0.2.10"}
FIRST = [
    ("mint",),
    ("archive", "init"),
    ("deposit", "paper.txt", "--title", "Uma tese", "--embargo", "2999-01-01"),
]


@pytest.fixture
def ibi(tmp_path: Path) -> IbiCommand:
    (tmp_path / "paper.txt").write_text("secret until 2999")
    return IbiCommand(tmp_path)


def run(ibi: IbiCommand, *arguments: str) -> None:
    done = ibi(*arguments, IBI_MINT_SANDBOX="true", **NAMED)
    assert done.code == 0, done.err


def modes(data: Path) -> dict[str, int]:
    places = [data, *data.rglob("*")]
    return {str(place.relative_to(data)): stat.S_IMODE(place.stat().st_mode) for place in places}


@pytest.mark.parametrize("first", FIRST, ids=lambda arguments: arguments[0])
def test_a_data_directory_is_for_its_owner_whichever_command_makes_it(ibi: IbiCommand, first: tuple[str, ...]) -> None:
    run(ibi, *first)
    run(ibi, *FIRST[2])
    found = modes(ibi.data)
    assert len(found) > 10
    assert [name for name, mode in found.items() if mode & 0o077] == []


def test_who_opens_the_data_directory_to_a_group_opens_what_is_deposited_to_it(ibi: IbiCommand) -> None:
    ibi.data.mkdir()
    ibi.data.chmod(0o750)
    run(ibi, *FIRST[2])
    found = modes(ibi.data)
    deposited = {name: mode for name, mode in found.items() if name.startswith("store/")}
    assert len(deposited) > 5
    assert set(deposited.values()) == {0o750, 0o640}
    assert [name for name, mode in found.items() if mode & 0o027] == []
    assert [name for name, mode in found.items() if name.endswith("lock") and mode & 0o077] == []


def test_who_has_to_wait_for_a_lock_is_told_so(ibi: IbiCommand) -> None:
    run(ibi, "mint")
    with (ibi.data / "mint" / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = ibi.start("mint", IBI_MINT_SANDBOX="true", **NAMED)
        assert waiting.stderr is not None
        told = waiting.stderr.readline()
        fcntl.flock(held, fcntl.LOCK_UN)
    out, _ = waiting.communicate(timeout=60)
    assert str(Path("mint", "lock")) in told
    assert waiting.returncode == 0
    assert out.strip()
