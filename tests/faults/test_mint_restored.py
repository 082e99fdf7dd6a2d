"""Real processes on directories that were put back, and on machines that forgot their locks: no label twice (E57)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.ibi_command import IbiCommand

# No public name has it, so that nothing on the Internet is asked.
HOST = "archive.ibi-restored.invalid"
IDENTITY = {"IBI_MINT_HOST": HOST, "IBI_MINT_SANDBOX": "true"}


@pytest.fixture
def ibi(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


def minted(ibi: IbiCommand, count: int = 300, *flags: str) -> list[str]:
    done = ibi("mint", "-n", str(count), *flags, **IDENTITY)
    assert done.code == 0, done.err
    return done.out.split()


def put_back(ibi: IbiCommand) -> None:
    shutil.rmtree(ibi.data)
    shutil.copytree(ibi.home / "backup", ibi.data)


def lose_locks(ibi: IbiCommand) -> None:
    shutil.rmtree(ibi.home / "locks")


def lose_minter(ibi: IbiCommand) -> None:
    shutil.rmtree(ibi.data / "mint")


@pytest.mark.parametrize(
    "events",
    [
        (put_back,),
        (put_back, lose_locks),
        (lose_locks,),
        (lose_minter, lose_locks),
    ],
    ids=lambda events: " ".join(event.__name__ for event in events),
)
def test_no_label_is_minted_twice(ibi: IbiCommand, events: tuple[Callable[[IbiCommand], None], ...]) -> None:
    labels = minted(ibi)
    shutil.copytree(ibi.data, ibi.home / "backup")
    labels += minted(ibi)
    for event in events:
        event(ibi)
    labels += minted(ibi)
    assert len(set(labels)) == len(labels) == 900


def test_a_lost_minter_beside_kept_items_is_refused_until_that_is_accepted(ibi: IbiCommand) -> None:
    assert ibi("archive", "init", **IDENTITY).code == 0
    labels = minted(ibi)
    (ibi.home / "file").write_text("text")
    deposit = ["deposit", "--title", "A text", "file"]
    assert ibi(*deposit, **IDENTITY).code == 0
    lose_minter(ibi)
    lose_locks(ibi)
    for command in (deposit, ["up", "--port", "0"]):
        refused = ibi(*command, **IDENTITY)
        assert (refused.code, refused.out) == (1, "")
        assert "ibi mint --accept-loss" in refused.err
        assert len(refused.err.splitlines()) == 1
    labels += minted(ibi, 300, "--accept-loss")
    assert ibi(*deposit, **IDENTITY).code == 0
    assert len(set(labels)) == len(labels) == 600


def test_a_changed_line_anywhere_stops_minting(ibi: IbiCommand) -> None:
    minted(ibi, 5000)
    log = ibi.data / "mint" / "mint.log"
    whole = log.read_bytes()
    assert whole.count(b"\n") == 6
    for line, command in ((1, ["mint"]), (3, ["up", "--port", "0"]), (6, ["mint"])):
        lines = whole.splitlines(keepends=True)
        lines[line - 1] = lines[line - 1].replace(b'"cli:', b'"clu:').replace(b'"who":[]', b'"who":[ ]')
        log.write_bytes(b"".join(lines))
        assert log.read_bytes() != whole
        refused = ibi(*command, **IDENTITY)
        assert (refused.code, refused.out) == (1, "")
        assert "of the mint log is not what was written there" in refused.err
    log.write_bytes(whole)
    minted(ibi, 1)


def test_a_line_changed_under_a_running_server_stops_minting(ibi: IbiCommand) -> None:
    with ibi.up(**IDENTITY) as (_, url):
        token = ibi("token", "create", "--scope", "deposit", **IDENTITY).out.split()[0]
        asked = {"IBI_SERVER": url, "IBI_TOKEN": token}
        assert ibi("mint", **asked).code == 0
        assert ibi("mint", **asked).code == 0
        log = ibi.data / "mint" / "mint.log"
        whole = log.read_bytes()
        log.write_bytes(whole.replace(b"token:", b"tokem:", 1))
        refused = ibi("mint", **asked)
        assert (refused.code, refused.out) == (1, "")
        log.write_bytes(whole)
        assert ibi("mint", **asked).code == 0


def test_a_name_of_private_networks_goes_on_minting_if_it_was_taken_before(ibi: IbiCommand) -> None:
    name = {"IBI_MINT_HOST": "archive.library.lan"}
    refused = ibi("mint", **name)
    assert refused.code == 1
    assert "would not be unique" in refused.err
    # As a version wrote it that took such a name for a global one.
    assert ibi("mint", **name, IBI_MINT_SANDBOX="true").code == 0
    import sqlite3

    with sqlite3.connect(ibi.data / "mint" / "ticks.sqlite") as database:
        database.execute("UPDATE clock SET sandbox = 0")
        database.execute("UPDATE store SET in_doubt = 0")
    done = ibi("mint", **name)
    assert done.code == 0, done.err
    assert "archive.library.lan is a name for private networks" in done.err
    assert done.out.startswith("library.lan/archive/")
