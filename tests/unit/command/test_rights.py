"""The rights on items by the command through a server: every cell of the table."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from shutil import rmtree
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner, Result

from ibi.command.root import app as command
from ibi.items.model.item import Item
from ibi.items.model.visibility import Visibility
from ibi.people.model.account import AuditIncomplete, Scope
from ibi.standard.errors import IbiError
from ibi.standard.label import parse
from ibi.standard.networks import network
from tests.support.records_app import unstarted_records_app
from tests.support.rights_cells import PUBLIC, RESTRICTED, UNCHANGING, Cell, RightsWorld, cells, earlier_version
from tests.support.running_server import running
from tests.unit.claims.test_inbox import CLAIMANT, offer

ELSEWHERE = "lab.br/arq/2019/01.02.03.04"
FLAGS = {
    "read": ("show",),
    "update": ("update", "--title", "Outra"),
    "narrow": ("update", "--embargo", "2027-01-01"),
    "open": ("update", "--public"),
    "relate": ("relate", "--next-edition", ELSEWHERE),
    "delete": ("delete", "--reason", "test"),
    "purge": ("delete", "--reason", "test", "--purge"),
    "give": ("update", "--owner", "ana"),
}
OTHERS = {"files", "deposit", "draft", "answer", "restore", "restore withheld"}
"""Acts whose commands take more than the label of an item."""


def run(url: str, token: str, *arguments: str) -> Result:
    """The command with a server and a token and nothing else."""
    unset = {name: None for name in os.environ if name.startswith("IBI_")}
    return CliRunner(env={**unset, "IBI_SERVER": url, "IBI_TOKEN": token}).invoke(command, list(arguments))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no settings of another directory


def test_each_cell_is_done_or_refused_as_the_table_says(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        world = RightsWorld(app)

        def attempt(scope: Scope, label: str, *arguments: str) -> Result:
            token = app.bearer(scope, "ana")["authorization"].removeprefix("Bearer ")
            return run(server.url, token, arguments[0], label, *arguments[1:])

        (tmp_path / "a.txt").write_bytes(b"content")

        def attempt_other(cell: Cell, item: Item) -> Result:
            """What takes more than the label."""
            token = app.bearer(cell.scope, "ana")["authorization"].removeprefix("Bearer ")
            if cell.act == "files":
                arguments = ["get", str(item.rep), str(tmp_path / f"{cell.scope}-{item.rep.prefix}-{cell.visibility}")]
            elif cell.act == "deposit":
                shown = [] if cell.visibility == PUBLIC else ["--allow", "10.0.0.0/8", "--no-listing"]
                arguments = ["deposit", "a.txt", "--title", "x", *shown]
            elif cell.act.startswith("restore"):
                arguments = ["restore", str(item.rep), "--version", str(earlier_version(app, item))]
            elif cell.act == "draft":
                paths = [] if cell.owner == "service" else ["a.txt"]
                arguments = ["deposit", "--draft", world.draft(cell.owner, cell.visibility), *paths]
            else:
                arguments = ["claims", str(item.rep), str(world.claimant(item).rep), "--decline"]
            return run(server.url, token, *arguments)

        for cell in cells():
            item = world.item(cell.owner, cell.visibility, cell.act)
            if cell.act in OTHERS:
                done = attempt_other(cell, item)
            else:
                done = attempt(cell.scope, str(item.rep), *FLAGS[cell.act])
            assert (done.exit_code == 0) is cell.is_allowed, (str(cell), done.output, done.exception)
            if not cell.is_allowed:
                assert isinstance(done.exception, IbiError), str(cell)
                is_hidden = cell.act == "draft" and cell.scope not in {Scope.READ, Scope.COPY}
                assert ("no draft" if is_hidden else "scope") in str(done.exception)
                assert app.store.find(item.rep) == item, str(cell)
            elif cell.act == "relate":
                assert attempt(Scope.ADMIN, str(item.rep), *FLAGS["relate"], "--undo").exit_code == 0
            if cell.is_allowed and cell.act not in UNCHANGING:
                world.note_changed(cell)


def test_the_command_says_whose_the_item_is(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        item = RightsWorld(app).item("another's", RESTRICTED)
        token = app.bearer(Scope.DEPOSIT, "ana")["authorization"].removeprefix("Bearer ")
        refused = run(server.url, token, "update", str(item.rep), "--public")
        assert f"{item.rep} belongs to bia" in str(refused.exception)
        assert "scope edit" in str(refused.exception)
        owned = run(server.url, token, "deposit", "--owner", "bia", "--url", "http://x.br/", "--title", "x")
        assert owned.exit_code == 2
        assert "items belong to the token's account" in owned.output
        shown = run(server.url, token, "show", str(item.rep))
        assert "owner" in shown.output
        assert "bia" in shown.output


@pytest.mark.parametrize("visibility", [RESTRICTED, Visibility((network("10.0.0.0/8"),)), Visibility(listing=False)])
def test_files_of_a_version_that_are_withheld_need_a_token(tmp_path: Path, visibility: Visibility) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        rep = str(RightsWorld(app).republished("another's", visibility, PUBLIC).rep)
        get = ("get", rep, str(tmp_path / "out"), "--version", "1")
        refused = run(server.url, "", *get)
        assert str(refused.exception).startswith(
            f"The files of version 1 of {rep} are not for all readers. Name a token"
        )
        token = app.bearer(Scope.EDIT, "ana")["authorization"].removeprefix("Bearer ")
        assert run(server.url, token, *get).exit_code == 0
        assert (tmp_path / "out" / "a.txt").read_bytes() == b"content"
        for given in ("", token):
            shown = run(server.url, given, "show", rep, "--version", "1")
            assert f"/{app.store.find(parse(rep)).labels.ibip}" in shown.output
            assert "None" not in shown.output


def test_no_cell_is_left_out() -> None:
    assert {cell.act for cell in cells()} == {*FLAGS, *OTHERS}
    assert all(isinstance(cell, Cell) for cell in cells())


def test_a_command_on_the_data_directory_names_an_owner(tmp_path: Path) -> None:
    def ibi(*arguments: str) -> Result:
        unset = {name: None for name in os.environ if name.startswith("IBI_")}
        runner = CliRunner(env={**unset, "IBI_LOCK_DIR": str(tmp_path / "locks")})
        umask = os.umask(0o022)
        try:
            return runner.invoke(command, [*arguments, "--data", str(tmp_path / "data")])
        finally:
            os.umask(umask)

    assert ibi("init", "--host", "lab.br").exit_code == 0
    assert ibi("person", "create", "ana", "--role", "depositor").exit_code == 0
    made = ibi("deposit", "--url", "http://x.br/", "--title", "x", "--owner", "ana", "--json")
    assert made.exit_code == 0, made.exception
    rep = json.loads(made.stdout)["rep"]

    def owner() -> str | None:
        told = json.loads(ibi("show", rep, "--json").stdout)["local"].get("owner")
        return None if told is None else str(told)

    assert owner() == "person:ana"
    assert ibi("update", rep, "--owner", "").exit_code == 0
    assert owner() is None
    unknown = ibi("update", rep, "--owner", "bia")
    assert "there is no account 'bia'" in str(unknown.exception)
    plain = ibi("deposit", "--url", "http://y.br/", "--title", "y", "--json")
    rep = json.loads(plain.stdout)["rep"]
    assert owner() is None
    assert ibi("token", "create", "--scope", "deposit", "--name", "harvester").exit_code == 0
    assert ibi("update", rep, "--owner", "harvester", "--title", "z").exit_code == 0
    assert owner() == "service:harvester"


def test_claims_are_listed_and_answered_through_a_server(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        item = RightsWorld(app).item("another's", PUBLIC)
        names = ("ana", "bia")
        texts = {name: app.bearer(name=name)["authorization"].removeprefix("Bearer ") for name in names}

        def ibi(name: str, *arguments: str) -> Result:
            return run(server.url, texts[name], *arguments)

        def printed(name: str, *arguments: str) -> str:
            """Without what the server in this process logs meanwhile."""
            lines = ibi(name, *arguments).stdout.splitlines()
            return "\n".join(line for line in lines if not re.match(r"\S+ \S+ \[\w+ *\]", line))

        said = ("--url", "http://x.br/", "--title", "x", "--edition-of", str(item.rep), "--json")
        claimant = json.loads(printed("ana", "deposit", *said))["rep"]
        assert app.store.find(item.rep).next_edition is None
        line = f"{claimant} (ana) says edition_of {item.rep} (bia)"
        assert [printed(name, "claims") for name in ("ana", "bia")] == [line, line]
        assert "scope edit" in str(ibi("ana", "claims", str(item.rep), claimant, "--accept").exception)
        assert ibi("bia", "claims", str(item.rep), claimant, "--decline").exit_code == 0
        assert printed("bia", "claims") == ""
        assert json.loads(printed("bia", "claims", "--declined", "--json"))["state"] == "declined"
        assert ibi("bia", "claims", str(item.rep), claimant, "--accept").exit_code == 0
        accepted = app.store.find(item.rep).next_edition
        assert accepted is not None
        assert str(accepted.rep) == claimant
        for wrong in (("--accept",), (str(item.rep),), (str(item.rep), claimant, "--accept", "--decline")):
            assert ibi("bia", "claims", *wrong).exit_code == 2


def test_all_claims_of_one_network_are_declined_through_a_server(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data", has_inbox=True) as app, running(app.app) as server:
        item = str(RightsWorld(app).item("own", PUBLIC).rep)
        for number in range(3):
            body = json.dumps(offer(item, number)).encode()
            sent = Request(f"{server.url}/inbox", body, {"Content-Type": "application/ld+json"})
            with urlopen(sent) as answer:
                assert answer.status == 201
        token = app.bearer(Scope.EDIT, "bia")["authorization"].removeprefix("Bearer ")
        assert "--network goes with --decline" in run(server.url, token, "claims", item, CLAIMANT, "--network").output
        assert run(server.url, token, "claims", item, CLAIMANT, "--decline", "--network").exit_code == 0
        declined = run(server.url, token, "claims", "--declined", "--json").stdout
        assert declined.count('"state":"declined"') + declined.count('"state": "declined"') == 3


def test_the_audit_log_is_shown_and_verified(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with unstarted_records_app(data) as app:
        item = RightsWorld(app).item("own", PUBLIC)
        RightsWorld(app).item("service", PUBLIC)
    unset = {name: None for name in os.environ if name.startswith("IBI_")}

    def ibi(*arguments: str) -> Result:
        return CliRunner(env=dict(unset)).invoke(command, ["audit", *arguments, "--data", str(data)])

    assert len(ibi().stdout.splitlines()) == 2
    (line,) = ibi(str(item.rep)).stdout.splitlines()
    assert f"publish     {item.rep}  command from command  Deposited" in line
    assert json.loads(ibi(str(item.rep), "--json").stdout)["act"] == "publish"
    assert ibi("--verify").stdout == "2 lines, each bound to the one before it.\n"
    log = data / "audit" / "audit.log"
    log.write_bytes(log.read_bytes().replace(b"Deposited", b"deposited", 1))
    broken = ibi("--verify")
    assert broken.exit_code == 1
    assert "Line 1 of the audit log" in str(broken.exception)


def test_an_audit_log_that_lost_lines_is_never_whole_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    log = data / "audit" / "audit.log"

    def verify() -> Result:
        return CliRunner(env={name: None for name in os.environ if name.startswith("IBI_")}).invoke(
            command, ["audit", "--verify", "--data", str(data)]
        )

    with unstarted_records_app(data) as app:
        world = RightsWorld(app)
        world.item("own", PUBLIC)
        assert verify().stdout.startswith("1 lines")
        log.write_bytes(b"")
        world.item("service", PUBLIC)
    broken = verify()
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert isinstance(broken.exception, AuditIncomplete)
    assert "line 1, of " in str(broken.exception)
    assert "expected line 1 (SHA-256 " in str(broken.exception)
    rmtree(log.parent)
    removed = verify()
    assert (removed.exit_code, removed.stdout) == (1, "")
    assert "had a log" in str(removed.exception)
    (data / "directory.json").unlink()
    unknown = verify()
    assert unknown.exit_code == 0
    assert "the log may begin later, or was removed" in unknown.stderr
