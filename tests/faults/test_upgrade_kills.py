"""A data directory of layout 1 with every feature in use is upgraded: whole, also after a kill at any moment.

`tools/full_store_fixture.py` made the directory, and a backup of it, with a version of layout 1. `SOAK_UPGRADE=1` kills
at more moments.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ibi.people.model.account import LinkUse, Person, SecondFactor
from ibi.people.store.people import SqlitePeople
from ibi.standard.instant import Instant
from ibi.storage import earlier_layout
from ibi.storage.connection import STATE, driver  # type: ignore[attr-defined]  # the SQLite of the stores
from ibi.storage.directory_record import LAYOUT, layout_of
from ibi.storage.earlier_layout import FOLDER, STEPS, UpgradeRefused, upgrade_layout
from ibi.storage.earlier_tables import EARLIER
from ibi.storage.state import PARTS, make_empty_state
from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.support.forked_command import run_forked_script
from tests.support.ibi_command import IbiCommand
from tools.store_fixture import Release

ROOT = Path(__file__).parents[2]
PACKED = ROOT / "tests" / "support" / "stores" / "full-layout-1.tar.xz"
SCRIPT = Path(__file__).with_name("upgrade_worker.py")
MOMENTS = 60 if os.environ.get("SOAK_UPGRADE") else 6
KEEP = {"IBI_ARCHIVE_DRAFT_DAYS": "36500", "IBI_ARCHIVE_REQUEST_DAYS": "36500"}
"""The drafts and requests of the fixture grow older with every day."""

SOURCES = {
    "tokens": "tokens",
    "people": "people",
    "sessions": "sessions",
    "sign_in_links": "links",
    "invitations": "invitations",
    "identities": "identities",
    "second_factors": "second_factors",
    "registrations": "registrations",
    "registered_labels": "labels",
    "believed_successions": "successions",
    "believed_holdings": "holdings",
    "false_claims": "claims",
    "believed_deletions": "deletions",
    "named_copies": "copies",
    "rulings": "rulings",
    "told_chains": "chains",
    "told_chain_names": "names",
    "told_chain_services": "services",
    "transfers": "transfers",
    "transfer_peers": "peers",
    "untold_transfers": "untold",
    "transfer_track": "track",
    "unheard_servers": "unheard",
    "received_claims": "received",
    "sent_claims": "sent",
    "outgoing_notifications": "outgoing",
    "notification_position": "position",
    "follows": "follows",
    "followed_items": "followed",
    "webhooks": "webhooks",
    "copy_jobs": "jobs",
    "copy_job_items": "job_items",
    "copy_job_counts": "job_counts",
    "reviews": "reviews",
    "review_entries": "review_entries",
    "reader_requests": "requests",
    "collections": "collections",
    "collection_members": "members",
}
"""The table of layout 1 of each table of `state` that had one."""
LATER = {"item_chains", "item_chain_services", "open_items"}
"""Tables that the version of the fixture did not have."""
RENAMED = {"end": "last"}


@dataclass
class Kept:
    """A directory of layout 1, with what it was before."""

    command: IbiCommand
    facts: dict[str, Any]
    files: dict[str, bytes]

    @property
    def data(self) -> Path:
        return self.command.data


def old_files(folder: Path) -> dict[str, bytes]:
    """Every file of the databases of layout 1 and of its notes."""
    names = {each.kind.file_name for each in EARLIER}
    databases = (path for path in folder.iterdir() if path.name.partition("-")[0] in names)
    notes = (folder / "databases").iterdir() if (folder / "databases").exists() else ()
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in (*databases, *notes)}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    with tarfile.open(PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "data").rename(tmp_path / "ibi-data")
    command = IbiCommand(tmp_path)
    return Kept(command, json.loads((tmp_path / "expected.json").read_text("utf-8")), old_files(command.data))


def upgrade(data: Path) -> None:
    upgrade_layout(data, make_empty_state)


def columns_of(connection: Any, table: str) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def rows_of(connection: Any, table: str, columns: list[str]) -> list[Any]:
    named = ", ".join(f'"{column}"' for column in columns)
    return sorted(connection.execute(f"SELECT {named} FROM {table}"), key=repr)


def state_of(data: Path) -> dict[str, list[Any]]:
    """Every row of `state`, but for the times at which its parts were begun."""
    with closing(driver.connect(str(data / STATE.file_name))) as state:
        names = [name for (name,) in state.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: rows_of(state, name, sorted(columns_of(state, name) - {"begun"})) for name in names}


def old_database(copies: Path, part: str) -> Any:
    return driver.connect(str(copies / next(each.kind.file_name for each in EARLIER if each.part == part)))


def assert_upgraded(kept: Kept) -> None:
    assert layout_of(kept.data) == LAYOUT
    assert old_files(kept.data / FOLDER) == kept.files
    left = {path.name for path in kept.data.iterdir()}
    assert not left & {"databases", "state.sqlite.new", "upgrade-staging"}


def test_every_row_of_every_table_is_there(kept: Kept, tmp_path: Path) -> None:
    shutil.copytree(kept.data, tmp_path / "old")
    upgrade(kept.data)
    assert_upgraded(kept)
    tables = {table: part.name for part in PARTS for table in part.tables}
    assert tables.keys() == SOURCES.keys() | LATER | {"belief_counts"}
    with closing(driver.connect(str(kept.data / STATE.file_name))) as state:
        for table, source in SOURCES.items():
            with closing(old_database(tmp_path / "old", tables[table])) as old:
                had = sorted(columns_of(old, source))
                has = [RENAMED.get(column, column) for column in had]
                assert set(has) <= columns_of(state, table), table
                rows = rows_of(old, source, had)
                assert rows, f"the fixture has no {table}"
                assert rows_of(state, table, has) == rows, table
        with closing(old_database(tmp_path / "old", "beliefs")) as old:
            counted = [
                (new, *row)
                for new in ("believed_successions", "believed_holdings", "false_claims", "believed_deletions")
                for row in old.execute(f"SELECT owner, rows FROM {SOURCES[new]}_counts")
            ]
            assert rows_of(state, "belief_counts", ["name", "owner", "rows"]) == sorted(counted, key=repr)


def test_numbers_of_deleted_rows_are_not_used_again(kept: Kept, tmp_path: Path) -> None:
    shutil.copytree(kept.data, tmp_path / "old")
    upgrade(kept.data)
    last = dict(state_of(kept.data)["sqlite_sequence"])
    with closing(old_database(tmp_path / "old", "notifications")) as old:
        (before,) = old.execute("SELECT seq FROM sqlite_sequence WHERE name = 'received'").fetchone()
        ((highest,),) = old.execute("SELECT max(number) FROM received")
    assert last["received_claims"] == before > highest
    for part in ("subscriptions", "collections", "copies", "reviews", "requests", "beliefs"):
        with closing(old_database(tmp_path / "old", part)) as old:
            for name, number in old.execute("SELECT name, seq FROM sqlite_sequence"):
                tables = [table for each in PARTS if each.name == part for table in each.tables]
                (new,) = (table for table in tables if SOURCES.get(table) == name)
                assert last[new] == number, name


def test_transfers_are_as_the_ledger_writes_them(kept: Kept, tmp_path: Path) -> None:
    """The ledger keeps some of what a record says in columns; the upgrade fills them."""
    upgrade(kept.data)
    before = state_of(kept.data)["transfers"]
    with closing(SqliteTransferLedger(kept.data, tmp_path / "locks")) as ledger:
        for sent in ledger.list_outgoing():
            ledger.change_outgoing(sent.rep, lambda _, sent=sent: sent)  # type: ignore[misc]
        for come in ledger.list_incoming():
            ledger.change_incoming(come.rep, lambda _, come=come: come)  # type: ignore[misc]
    assert state_of(kept.data)["transfers"] == before


def test_people_sign_in_as_before(kept: Kept) -> None:
    upgrade(kept.data)
    with closing(SqlitePeople(kept.data)) as people:
        factor = people.find_factor("ana")
        assert isinstance(factor, SecondFactor)
        assert (factor.secret, factor.recovery) == (b"secret of twenty byte", frozenset({b"r" * 32, b"q" * 32}))
        assert people.find_identity("https://login.example", "4711") == "ana"
        session = people.find_session(b"s" * 32)
        assert session is not None
        assert session.person == "ana"
        link = people.find_link(bytes(32))
        assert link is not None
        assert link.use is LinkUse.SIGN_IN
        jose = people.find("josé ÅNGSTRÖM")
        assert isinstance(jose, Person)
        assert jose.disabled == Instant.parse("2036-11-15T12:00:00Z")


def ask(url: str, token: str | None = None) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return json.load(answer)


def findings(command: IbiCommand) -> set[str]:
    """The errors that doctor finds. Its warnings tell that the other Archive of the fixture does not answer."""
    done = command("doctor", "--offline", "--full", "--json", **KEEP)
    return {found["check"] for found in map(json.loads, done.out.splitlines()) if found.get("level") == "error"}


def assert_works(command: IbiCommand, facts: dict[str, Any]) -> None:
    tokens = facts["tokens"]
    with command.up(**KEEP) as (_, url):
        for label in facts["items"]:
            assert ask(f"{url}/api/items/{label}")["labels"], label
        assert ask(f"{url}/api/archives/{facts['peer']}")
        for state in ("submitted", "returned", "published"):
            assert len(ask(f"{url}/api/reviews?state={state}", tokens["edit"])["reviews"]) == 1
        assert len(ask(f"{url}/api/copies", tokens["edit"])["jobs"]) == 1
        for scope in ("admin", "deposit"):
            assert "drafts" in ask(f"{url}/api/items?state=draft", tokens[scope])
    assert facts["person"]["name"] in command("person", "list").out
    assert facts["peer"] in command("resolver", "list").out
    assert facts["collection"] in command("collection", "list").out
    assert command("transfers", "list", "--json").out.count('"item"') == 3
    assert len(command("follow", "list", "--json").out.splitlines()) == 1
    assert len(command("webhook", "list", "--json").out.splitlines()) == 1


def test_the_directory_works_and_doctor_finds_nothing_new(kept: Kept) -> None:
    before = findings(kept.command)
    assert_works(kept.command, kept.facts)
    assert_upgraded(kept)
    assert findings(kept.command) <= before - {"earlier-layout"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[Any]], int]:
    """What an upgrade without a kill leaves, and how many calls it makes."""
    folder = tmp_path_factory.mktemp("whole")
    with tarfile.open(PACKED) as packed:
        packed.extractall(folder, filter="data")
    code, out, err = run_forked_script(SCRIPT, str(folder / "data"), "", "0")
    assert code == 0, err
    return state_of(folder / "data"), json.loads(out.splitlines()[-1])["calls"]


@pytest.mark.parametrize("step", STEPS)
def test_an_upgrade_that_is_killed_at_a_step_is_finished(
    kept: Kept, whole: tuple[dict[str, list[Any]], int], step: str
) -> None:
    code, _, _ = run_forked_script(SCRIPT, str(kept.data), step, "0")
    assert code == -signal.SIGKILL
    if STEPS.index(step) < STEPS.index("renamed"):
        assert old_files(kept.data) == kept.files  # nothing has changed so far
    assert kept.command("token", "list").code == 0
    assert_upgraded(kept)
    assert state_of(kept.data) == whole[0]


@pytest.mark.parametrize("number", range(MOMENTS))
def test_an_upgrade_that_is_killed_at_any_moment_is_finished(
    kept: Kept, whole: tuple[dict[str, list[Any]], int], number: int
) -> None:
    moments = random.Random(number)
    for _ in range(3):  # the second and third find what the ones before left
        run_forked_script(SCRIPT, str(kept.data), "", str(moments.randrange(1, whole[1])))
    assert kept.command("token", "list").code == 0
    assert_upgraded(kept)
    assert state_of(kept.data) == whole[0]


def test_too_little_room_is_refused_before_anything_changes(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in kept.data.rglob("*") if path.is_file()}

    before = everything()
    monkeypatch.setattr(earlier_layout, "_ROOM", 1 << 60)
    with pytest.raises(UpgradeRefused, match=r"MiB have to be free on its disk, and .* Nothing was changed"):
        upgrade(kept.data)
    after = everything()
    after.pop(str(kept.data / "upgrade.lock"), None)
    assert after == before
    monkeypatch.undo()
    upgrade(kept.data)
    assert_upgraded(kept)


def test_a_damaged_account_database_is_refused_with_the_way_back(kept: Kept) -> None:
    shutil.copyfile(kept.data / "accounts.sqlite", kept.command.home / "good")
    (kept.data / "accounts.sqlite").write_bytes((kept.command.home / "good").read_bytes()[:5000])
    damaged = old_files(kept.data)
    for command in (["token", "list"], ["up", "--port", "0"]):
        done = kept.command(*command)
        assert done.code != 0
        assert "accounts.sqlite" in done.err
        assert "put it back from a backup" in done.err
    assert old_files(kept.data) == damaged
    assert not (kept.data / STATE.file_name).exists()
    shutil.copyfile(kept.command.home / "good", kept.data / "accounts.sqlite")
    assert kept.command("token", "list").code == 0
    assert_upgraded(kept)


def test_damaged_beliefs_are_left_out_with_a_warning(kept: Kept, whole: tuple[dict[str, list[Any]], int]) -> None:
    (kept.data / "beliefs.sqlite").write_bytes(b"no database" * 1000)
    kept.files["beliefs.sqlite"] = b"no database" * 1000
    done = kept.command("token", "list")
    assert done.code == 0
    assert "the upgrade leaves out" in done.err
    assert "beliefs.sqlite, which is damaged" in done.err
    assert_upgraded(kept)
    found, beliefs = state_of(kept.data), next(part for part in PARTS if part.name == "beliefs")
    assert not any(found[table] for table in beliefs.tables)
    others = found.keys() - set(beliefs.tables) - {"sqlite_sequence"}
    assert {name: found[name] for name in others} == {name: whole[0][name] for name in others}


def test_two_processes_upgrade_at_once(kept: Kept, whole: tuple[dict[str, list[Any]], int]) -> None:
    processes = [kept.command.start("token", "list") for _ in range(3)]
    for process in processes:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
    assert_upgraded(kept)
    assert state_of(kept.data) == whole[0]


def test_the_workers_of_a_server_upgrade_once(kept: Kept) -> None:
    with kept.command.up(**KEEP, IBI_WORKERS="3") as (_, url):
        assert ask(f"{url}/api/items/{kept.facts['items'][0]}")["labels"]
    assert_upgraded(kept)


def test_what_an_upgrade_leaves_is_not_taken_for_an_old_database(kept: Kept) -> None:
    """A kill after it was written, in a directory that had no such database."""
    for name in ("releases.sqlite", "transfers.sqlite"):
        (kept.data / name).unlink()
        del kept.files[name]
    code, _, _ = run_forked_script(SCRIPT, str(kept.data), "moved", "0")
    assert code == -signal.SIGKILL
    upgrade(kept.data)
    assert_upgraded(kept)


@pytest.mark.parametrize("is_upgraded", [True, False])
def test_a_backup_of_the_directory_is_whole_before_and_after_the_upgrade(
    kept: Kept, whole: tuple[dict[str, list[Any]], int], *, is_upgraded: bool
) -> None:
    if is_upgraded:
        upgrade(kept.data)
    place = kept.command.home / "new-backup"
    done = kept.command("backup", str(place), "--check")
    assert done.code == 0, done
    assert_upgraded(kept)
    home = kept.command.home / "restored"
    home.mkdir()
    command = IbiCommand(home)
    assert command("restore", str(place)).code == 0
    found = state_of(command.data)
    for name in whole[0].keys() - {"transfer_track", "change_numbers"}:
        assert found[name] == whole[0][name], name
    assert not {each.kind.file_name for each in EARLIER} & {path.name for path in command.data.iterdir()}


@pytest.fixture
def earlier(kept: Kept) -> Release:
    asked = ["git", "-C", str(ROOT), "archive", kept.facts["commit"], "src"]
    packed = subprocess.run(asked, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("the sources of the earlier version are not in this clone")
    (kept.command.home / "sources.tar").write_bytes(packed.stdout)
    with tarfile.open(kept.command.home / "sources.tar") as unpacked:
        unpacked.extractall(kept.command.home / "earlier", filter="data")
    return Release(kept.command.home / "earlier" / "src", kept.command.home, kept.data)


def test_an_earlier_version_refuses_the_upgraded_directory(kept: Kept, earlier: Release) -> None:
    upgrade(kept.data)
    before = state_of(kept.data)
    tried = (["up", "--port", "0"], ["token", "list"], ["person", "list"], ["resolver", "list"], ["collection", "list"])
    for refused in tried:
        code, out, err = earlier.run(*refused)
        assert code != 0, (refused, out)
        assert "was written by a newer version of this software" in err, refused
    assert state_of(kept.data) == before
    assert kept.command("token", "list").code == 0
    assert_upgraded(kept)


def test_going_back_as_the_manual_says(kept: Kept, earlier: Release) -> None:
    with kept.command.up(**KEEP):
        pass
    page = (ROOT / "docs" / "operations.md").read_text("utf-8").partition("**Back to a version before 0.2**")[2]
    steps = page.partition("```sh\n")[2].partition("```")[0].replace("/var/lib/ibi", str(kept.data))
    subprocess.run(["sh", "-e", "-c", steps], check=True)
    assert old_files(kept.data) == kept.files
    assert len(earlier("token", "list").splitlines()) >= len(kept.facts["tokens"])
    assert kept.facts["peer"] in earlier("resolver", "list")
    # And forward again.
    kept.files = old_files(kept.data)
    assert kept.command("person", "list").code == 0
    assert_upgraded(kept)


def test_the_files_of_an_upgrade_before_are_not_replaced(kept: Kept) -> None:
    """Somebody goes back, and leaves the folder."""
    shutil.copytree(kept.data, kept.command.home / "old")
    upgrade(kept.data)
    shutil.copytree(kept.data / FOLDER, kept.command.home / "old" / FOLDER)
    with pytest.raises(UpgradeRefused, match="moved away first"):
        upgrade(kept.command.home / "old")
    assert old_files(kept.command.home / "old") == kept.files


def test_an_upgrade_waits_for_the_end_of_a_server_of_the_earlier_version(kept: Kept, earlier: Release) -> None:
    with earlier.up():
        done = kept.command("token", "list")
        assert done.code != 0
        assert "has to end first" in done.err
    kept.files.clear()
    assert kept.command("token", "list").code == 0
    assert layout_of(kept.data) == LAYOUT


def test_a_backup_of_the_earlier_version_is_restored_whole(kept: Kept, whole: tuple[dict[str, list[Any]], int]) -> None:
    home = kept.command.home / "restored"
    home.mkdir()
    command = IbiCommand(home)
    done = command("restore", str(kept.command.home / "backup"))
    assert done.code == 0, done
    assert command("token", "list").code == 0
    found = state_of(command.data)
    # The mark of transfers is new, because the directory came from a backup.
    for name in whole[0].keys() - {"transfer_track", "change_numbers", "sqlite_sequence"}:
        assert found[name] == whole[0][name], name
    assert findings(command) == set()
    assert_works(command, kept.facts)
    assert findings(command) == set()
