"""Data directories that releases left (`tools/store_fixture.py` makes them): this version takes them over with all that
is in them, and what an earlier version is to be given back is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import urllib.request
from contextlib import closing
from hashlib import sha512
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from ibi.storage.connection import driver  # type: ignore[attr-defined]  # SQLite with what the index of words needs
from ibi.storage.earlier_layout import FOLDER
from ibi.storage.earlier_tables import EARLIER
from tests.support.ibi_command import IbiCommand
from tools.store_fixture import Release

ROOT = Path(__file__).parents[2]
RELEASES = sorted((ROOT / "tests" / "support" / "stores").glob("release-*.tar.xz"))
KEEP_DRAFTS = {"IBI_ARCHIVE_DRAFT_DAYS": "36500"}
"""Those of the fixtures grow older with every day."""


@pytest.fixture(params=RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[IbiCommand, dict[str, Any]]:
    with tarfile.open(request.param) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "data").rename(tmp_path / "ibi-data")
    return IbiCommand(tmp_path), json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))


def content(data: Path) -> dict[str, str]:
    """The files of all versions of all items. The Archive's own item gets another one, at another address."""
    return {
        path.relative_to(data).as_posix(): sha512(path.read_bytes()).hexdigest()
        for path in (data / "store").glob("**/content/**/*")
        if path.is_file()
    }


def get(url: str, token: str | None = None) -> tuple[int, bytes]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read()
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read()


def test_a_data_directory_of_a_release_is_served_with_all_that_is_in_it(kept: tuple[IbiCommand, Any]) -> None:
    command, expected = kept
    before = content(command.data)
    with command.up(**KEEP_DRAFTS) as (_, url):
        for item in expected["items"]:
            status, body = get(f"{url}/{item['ibip']}")
            if item.get("is_restricted"):  # its page is for all, and says so
                assert item["text"].strip() not in body.decode()
            else:
                assert (status, body.decode()) == (200, item["text"])
            shown = json.loads(command("show", item["rep"], "--json").out)
            assert shown["item"]["metadata"]["title"] == [{"value": item["title"]}]
        assert get(f"{url}/{expected['deleted']}")[0] == 410
        edition = expected["items"][1]
        assert get(f"{url}/{expected['items'][0]['ibip']}!")[1].decode() == edition["text"]
        assert get(f"{url}/{edition['ibip']}+(en)")[1].decode() == expected["items"][2]["text"]
        drafts = json.loads(get(f"{url}/api/items?state=draft", expected["token"])[1])["drafts"]
        assert [draft["id"] for draft in drafts] == [expected["draft"]]
    assert content(command.data).items() >= before.items()


def test_commands_go_on_with_the_directory_of_a_release(kept: tuple[IbiCommand, Any]) -> None:
    command, expected = kept
    assert json.loads(command("verify", "--json").out)["damaged"] == 0
    minted = json.loads(command("mint", "--json").out)["rep"]
    assert minted > expected["minted"]
    assert expected["person"]["name"] in command("person", "list").out
    assert expected["archive"] in command("resolver", "list").out
    assert expected["token"].split("_")[1] in command("token", "list").out
    assert command("mint", "--verify-log").code == 0
    assert json.loads(command("stats", "--json", expected["items"][0]["rep"]).out)
    (command.home / "new.txt").write_text("New\n")
    new = json.loads(command("deposit", "new.txt", "--title", "New", "--json").out)["rep"]
    assert command("update", expected["items"][0]["rep"], "--title", "Changed").code == 0
    assert command("relate", expected["items"][3]["rep"], "--next-edition", new).code == 0
    assert command("rebuild").code == 0
    assert json.loads(command("verify", "--json").out) == {"items": 7, "damaged": 0}


def schema(path: Path) -> dict[str, object]:
    """Tables with their columns, in any order, and what else is defined."""
    with closing(driver.connect(str(path))) as connection:
        found = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
        columns = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY name'
        return {
            name: connection.execute(columns, (name,)).fetchall() if kind == "table" else " ".join(text.split())
            for kind, name, text in found
        }


def databases(data: Path) -> dict[str, Path]:
    """Those in use; in the place of others, an upgrade leaves what earlier versions refuse."""
    earlier = {each.kind.file_name for each in EARLIER} if (data / FOLDER).exists() else set()
    found = (*data.glob("*.sqlite"), *data.glob("mint/*.sqlite"))
    return {path.name: path for path in found if path.name not in earlier}


def test_databases_of_a_release_become_what_new_ones_are(kept: tuple[IbiCommand, Any], tmp_path: Path) -> None:
    """A migration that was changed after others had run it would leave them behind."""
    command, _ = kept
    fresh = IbiCommand(tmp_path / "fresh")
    fresh.home.mkdir()
    for each in (command, fresh):
        with each.up(**KEEP_DRAFTS):
            pass
        assert each("resolver", "list").code == 0
    new = databases(fresh.data)
    for name, path in databases(command.data).items():
        assert schema(path) == schema(new[name]), name


def test_what_is_migrated_is_kept_as_it_was(kept: tuple[IbiCommand, Any]) -> None:
    command, _ = kept
    before = {name: dump(path) for name, path in databases(command.data).items()}
    with command.up(**KEEP_DRAFTS):
        pass
    copies = {path.name.partition(".format-")[0]: path for path in command.data.glob("*.sqlite.format-*")}
    assert "catalogue.sqlite" in copies
    for name, copy in copies.items():
        assert dump(copy) == before[name]
        assert copy.stat().st_mode & 0o077 == 0


def dump(path: Path) -> dict[str, object]:
    """Every row of the database's own tables; an index of words has no more in it than they."""
    with closing(driver.connect(str(path))) as connection:
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'words%'"
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in connection.execute(tables)}


@pytest.fixture
def earlier(kept: tuple[IbiCommand, Any]) -> Release:
    command, expected = kept
    if not os.environ.get("SOAK_UPGRADE"):
        pytest.skip("set SOAK_UPGRADE to run an earlier version: it takes long")
    asked = ["git", "-C", str(ROOT), "archive", expected["commit"], "src"]
    packed = subprocess.run(asked, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"the sources of {expected['version']} are not in this clone")
    sources = command.home / "sources.tar"
    sources.write_bytes(packed.stdout)
    with tarfile.open(sources) as unpacked:
        unpacked.extractall(command.home / "earlier", filter="data")
    return Release(command.home / "earlier" / "src", command.home, command.data)


def files_of(data: Path) -> dict[Path, bytes]:
    """But for the clock: `ibi rebuild` notes there that labels may have been given out, before anything else."""
    return {path: path.read_bytes() for path in data.rglob("*") if path.is_file() and path.parent.name != "mint"}


def test_an_earlier_version_refuses_what_it_does_not_know_and_nothing_is_lost(
    kept: tuple[IbiCommand, Any], earlier: Release
) -> None:
    command, expected = kept
    (command.home / "new.txt").write_text("New\n")
    new = json.loads(command("deposit", "new.txt", "--title", "New", "--json").out)["rep"]
    with command.up(**KEEP_DRAFTS):
        pass
    before = files_of(command.data)
    for refused in (["up", "--port", "0"], ["show", expected["items"][0]["rep"]], ["verify"], ["rebuild"]):
        code, out, err = earlier.run(*refused)
        assert code != 0, (refused, out)
        assert "newer version" in err, (refused, err)
    assert files_of(command.data) == before
    # As docs/operations.md says: with the databases from before the upgrade, and the copies that migrations left.
    for path in (*command.data.glob("state.sqlite*"), command.data / "directory.json"):
        path.unlink()
    shutil.copytree(command.data / FOLDER, command.data, dirs_exist_ok=True)
    shutil.rmtree(command.data / FOLDER)
    for copy in command.data.glob("*.sqlite.format-*"):
        name = copy.name.partition(".format-")[0]
        for end in ("", "-wal", "-shm"):
            (command.data / f"{name}{end}").unlink(missing_ok=True)
        copy.rename(command.data / name)
    earlier.run("rebuild")
    shown = [earlier.run("show", item["rep"])[0] for item in expected["items"]]
    assert shown == [0] * len(shown)
    assert earlier.run("show", new)[0] != 0
    # And forward again: what was deposited in between is there.
    assert command("rebuild").code == 0
    assert command("show", new).code == 0
    assert json.loads(command("verify", "--json").out) == {"items": 7, "damaged": 0}
