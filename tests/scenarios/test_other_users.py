"""A data directory stays its owner's: root acts as the owner, and every other user may only read.

These are real users, by number, in a view of the file system in which they can read the interpreter.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.tables import ROOT
from tests.scenarios.test_read_only_copy import contents

OWNER, OTHER = 12345, 12346
_IBI = "from ibi.command import main; main()"
_NAMED = {"IBI_MINT_HOST": "lab.example", "IBI_MINT_IP": "192.0.2.10", "IBI_MINT_SANDBOX": "true"}


def _opened_view() -> str:
    """Shell commands after which all users may reach interpreter and package, as they may where these are installed."""
    lines = []
    for number, place in enumerate({Path(sys.base_prefix), Path(sys.prefix), ROOT}):
        hidden = [above for above in reversed(place.parents) if not above.stat().st_mode & 0o001]
        if hidden:
            lines += [
                f'mkdir -p "$STAGE/{number}" && mount --bind "{place}" "$STAGE/{number}"',
                f'mount -t tmpfs -o mode=755 none "{hidden[0]}"',
                f'mkdir -p "{place}" && mount --bind "$STAGE/{number}" "{place}"',
            ]
    return "\n".join(["set -e", *lines, 'exec "$@"'])


class Machine:
    """Runs the command as users of the machine."""

    def __init__(self, home: Path) -> None:
        self.home, self.data = home, home / "ibi-data"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("IBI_", "PYTEST"))}
        self.environment = {**kept, **_NAMED, "IBI_LOCK_DIR": str(home / "locks"), "STAGE": str(home / "stage")}

    def command(self, user: int, *arguments: str, code: str = _IBI) -> list[str]:
        become = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        view = ["unshare", "--mount", "sh", "-c", _opened_view(), "sh"]
        return [*view, *become, sys.executable, "-c", code, *arguments]

    def run(self, user: int, *arguments: str, code: str = _IBI) -> subprocess.CompletedProcess[str]:
        command = self.command(user, *arguments, code=code)
        return subprocess.run(
            command, cwd=self.home, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )

    def owners(self) -> set[int]:
        places = [self.data, *self.data.rglob("*"), *(self.home / "locks").rglob("*")]
        return {place.lstat().st_uid for place in places}


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine with a file that all may read, and one for root alone."""
    if os.getuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv"))):
        pytest.skip("only root acts as other users")
    home = Path(tempfile.mkdtemp(prefix="ibi-users-"))  # not below a directory of root's
    home.chmod(0o777)
    (home / "open.txt").write_text("for all")
    (home / "root.txt").write_text("for root")
    (home / "root.txt").chmod(0o600)
    made = Machine(home)
    if made.run(OWNER, code="import ibi").returncode != 0:
        pytest.skip("other users cannot be given the interpreter here")
    yield made
    shutil.rmtree(home)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done
    return done.stderr


def test_a_file_that_may_not_be_read_is_not_called_damaged(machine: Machine) -> None:
    assert machine.run(OWNER, "archive", "init").returncode == 0
    assert machine.run(OWNER, "deposit", "open.txt", "--title", "One").returncode == 0
    assert machine.run(OWNER, "doctor", "--offline", "--full").returncode == 0
    document = next(machine.data.rglob("open.txt"))
    closed = [machine.data / name for name in ("archive.json", "keys/archive.pem", "catalogue.sqlite", "mint/mint.log")]
    for path in (*closed, document, *machine.data.glob("store/*/*/*/*/inventory.json")):
        path.chmod(0)
    for user, named in ((OWNER, closed), (OTHER, closed[:3])):  # of a log whose database is closed, nothing is said
        machine.data.chmod(0o755)
        (machine.data / "keys").chmod(0o755)
        (machine.data / "mint").chmod(0o755)
        for arguments in ((), ("--full",)):
            done = machine.run(user, "doctor", "--offline", "--json", *arguments)
            told = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
            found = [each for each in told if each["level"] != "advice"]
            assert {each["check"] for each in found} - {"unwritable", "secret-open"} == {"unreadable"}, found
            said = {each["place"].rpartition("ibi-data/")[2]: each["what"] for each in found}
            assert all(f"#{OWNER}" in said[str(path.relative_to(machine.data))] for path in named), said
            assert not any("damage" in each["what"] or "backup" in each["remedy"] for each in found), found


def test_root_acts_as_the_owner_and_other_users_may_only_read(machine: Machine) -> None:
    begun = machine.run(OWNER, "archive", "init", "--json")
    assert begun.returncode == 0, begun.stderr
    deposited = machine.run(0, "deposit", "open.txt", "--title", "By root", "--json")
    assert deposited.returncode == 0, deposited.stderr
    assert machine.owners() == {OWNER}

    said = refused(machine.run(0, "deposit", "root.txt", "--title", "For root alone"))
    assert "root.txt" in said
    assert f"the command acts as #{OWNER}" in said

    before = contents(machine.data)
    machine.data.chmod(0o777)  # whatever its mode: locks and databases are for one user
    assert f"belongs to #{OWNER}" in refused(machine.run(OTHER, "deposit", "open.txt", "--title", "No"))
    assert contents(machine.data) == before

    machine.data.chmod(0o755)
    store, readable = machine.data / "store", ("catalogue.sqlite", "ibi-store.json")
    for place in (store, *store.rglob("*"), *(machine.data / name for name in readable)):
        place.chmod(0o755 if place.is_dir() else 0o644)
    before = contents(machine.data)
    shown = machine.run(OTHER, "show", json.loads(deposited.stdout)["rep"], "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["item"]["files"][0]["path"] == "open.txt"
    assert contents(machine.data) == before


def is_description(errors: str) -> bool:
    """Whether nothing but the line is there that says what confines the reading of files."""
    return errors.startswith("Processes that read the text of files") and errors.count("\n") == 1


def test_root_examines_as_the_owner_and_other_users_learn_what_they_may_not_read(machine: Machine) -> None:
    assert machine.run(OWNER, "archive", "init").returncode == 0
    healthy = machine.run(0, "doctor", "--offline")
    assert healthy.returncode == 0, healthy
    assert is_description(healthy.stderr)
    (machine.data / "usage.sqlite").touch(0o600)
    before = contents(machine.data)
    found = machine.run(0, "doctor", "--offline")
    assert found.returncode == 1
    assert f"usage.sqlite: it belongs to root, and the data directory to #{OWNER}" in found.stdout
    machine.data.chmod(0o755)
    other = machine.run(OTHER, "doctor", "--offline")
    assert other.returncode == 1
    assert is_description(other.stderr)
    assert "Run `ibi doctor` as" in other.stdout
    assert "Traceback" not in other.stdout
    assert contents(machine.data) == before


def test_a_server_of_root_is_its_owners_with_the_groups_of_that_user(machine: Machine) -> None:
    machine.data.mkdir()
    os.chown(machine.data, OWNER, OWNER + 1)
    command = machine.command(0, "up", "--port", "0", "--log-level", "error")
    server = subprocess.Popen(
        command, cwd=machine.home, env=machine.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert "is up" in server.stdout.readline()
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(r"^Uid:\t(.*)$", status, re.MULTILINE)[1].split() == [str(OWNER)] * 4  # type: ignore[index]
        # A user whom the system does not know has no group but the directory's.
        assert re.search(r"^Gid:\t(.*)$", status, re.MULTILINE)[1].split() == [str(OWNER + 1)] * 4  # type: ignore[index]
        assert re.search(r"^Groups:\t(.*)$", status, re.MULTILINE)[1].split() == [str(OWNER + 1)]  # type: ignore[index]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert machine.owners() == {OWNER}


def test_an_owner_who_cannot_reach_the_directory_is_named(machine: Machine) -> None:
    closed = machine.home / "closed"
    (closed / "ibi-data").mkdir(parents=True)
    closed.chmod(0o700)
    os.chown(closed / "ibi-data", OWNER, OWNER)
    said = refused(machine.run(0, "mint", "--data", str(closed / "ibi-data")))
    assert f"ibi-data cannot be read by #{OWNER}" in said
    assert list((closed / "ibi-data").iterdir()) == []
