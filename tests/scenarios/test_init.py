"""From a sandbox to labels that last: a new data directory, and never the old one."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.support.ibi_command import IbiCommand

OWN = ("--host", "ids.urlib.net", "--ip", "150.163.34.243")


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


def test_a_new_directory_mints_labels_that_last_and_has_an_archive(command: IbiCommand) -> None:
    made = command("init", *OWN, "--public-url", "https://ids.urlib.net", "--data", "new", "--json")
    again = command("init", *OWN, "--data", "new")
    minted = json.loads(command("mint", "--data", "new", "--json").out)
    status = json.loads(command("archive", "status", "--data", "new", "--json").out)

    assert made.code == 0, made
    links = json.loads(made.out)
    assert links["rep"].startswith("urlib.net/ids/")  # ports 80 and 800: neither is written
    assert links["ibip"].startswith("8JMKD3MGP8W/")
    assert links["url"] == "https://ids.urlib.net/"
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert "new is there already and stays as it is" in again.err
    assert (minted["sandbox"], minted["rep"].startswith("urlib.net/ids/")) == (False, True)
    assert (status["begun"], status["rep"], status["public_url"]) == (True, links["rep"], "https://ids.urlib.net")


def test_a_new_directory_is_not_taken_for_one_put_back_from_a_backup(command: IbiCommand) -> None:
    command("init", *OWN, "--data", "new")
    with closing(SqliteTransferLedger(command.home / "new", command.home / "locks")) as ledger:
        assert not ledger.has_lost_track()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--host", "ibi.localhost"), "ibi.localhost"),
        (("--host", "ids.urlib.net", "--ip", "192.168.1.5"), "192.168.1.5"),
        (("--host", "not a host"), "mint.host"),
        (("--host", "ids.urlib.net", "--public-url", "ids"), "public_url"),
    ],
)
def test_what_others_may_have_too_is_refused_and_leaves_nothing(
    command: IbiCommand, flags: tuple[str, ...], named: str
) -> None:
    refused = command("init", *flags, "--data", "new")

    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), refused
    assert named in refused.err
    assert not (command.home / "new").exists()


def test_a_sandbox_stays_one(command: IbiCommand) -> None:
    with command.up():
        pass
    own = {"IBI_MINT_HOST": "ids.urlib.net", "IBI_MINT_HOST_PORT": "80", "IBI_MINT_IP": "150.163.34.243"}
    own |= {"IBI_MINT_IP_PORT": "800", "IBI_MINT_SANDBOX": "false"}
    for flags in ((), ("--accept-identity",)):
        refused = command("mint", *flags, **own)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), refused
        assert "`ibi init --host HOST --ip ADDRESS --data DIRECTORY`" in refused.err
    assert json.loads(command("mint", "--json").out)["sandbox"] is True
    assert "ibi init --host" in (command.data / "ibi.toml").read_text()


@pytest.mark.parametrize("before", ["missing", "empty", "deep"])
def test_a_refused_init_leaves_the_directory_as_it_was(command: IbiCommand, before: str) -> None:
    """The lock directory cannot be made: no label can be minted."""
    target = command.home / ("new/of/many" if before == "deep" else "new")
    if before == "empty":
        target.mkdir()
    file_in_the_way = command.home / "locks-file"
    file_in_the_way.write_text("")
    refused = command("init", *OWN, "--data", str(target), IBI_LOCK_DIR=str(file_in_the_way))
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), refused
    assert "Nothing was made" in refused.err
    assert target.exists() is (before == "empty")
    assert not (command.home / "new" / "of").exists()
    if before == "empty":
        assert list(target.iterdir()) == []
    assert command("init", *OWN, "--data", str(target)).code == 0


def test_a_directory_that_has_something_in_it_is_not_touched(command: IbiCommand) -> None:
    target = command.home / "new"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    refused = command("init", *OWN, "--data", "new")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert [each.name for each in target.iterdir()] == ["notes.txt"]
