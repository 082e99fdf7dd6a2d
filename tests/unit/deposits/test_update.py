"""`ibi update`: flags that contradict each other, other names that go, and updates that go on after a stop."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ibi.command.api_clients import RecordsClient
from ibi.command.root import app as command
from ibi.people.model.account import Scope
from ibi.standard.label import parse
from tests.support.records_app import RecordsApp, unstarted_records_app
from tests.support.running_server import running
from tests.unit.reading.test_cli_versions import run

UNSET = {name: None for name in os.environ if name.startswith("IBI_")}
DOI, LISE = "doi:10.1000/AbC", "ibi:83LX3pFwXQZ5Jpy/Bkjzd"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no settings of another directory
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(name)


def remote(app: RecordsApp, url: str, *arguments: str, scope: Scope = Scope.DEPOSIT) -> Result:
    token = app.bearer(scope, "ana")["authorization"].removeprefix("Bearer ")
    return CliRunner(env={**UNSET, "IBI_SERVER": url, "IBI_TOKEN": token}).invoke(command, list(arguments))


def deposited(done: Result) -> str:
    assert done.exit_code == 0, (done.output, done.exception)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return str(json.loads(lines[-1])["rep"])


@pytest.mark.parametrize("flags", [("--embargo", "2999-01-01"), ("--allow", "10.0.0.0/8"), ("--embargo-reason", "x")])
def test_an_item_is_not_opened_and_restricted_at_a_time(tmp_path: Path, flags: tuple[str, ...]) -> None:
    rep = deposited(run(tmp_path / "data", "deposit", "a.txt", "--title", "x", "--json"))
    refused = run(tmp_path / "data", "update", rep, "--public", *flags)
    assert refused.exit_code == 2
    assert "--public ends what --embargo and --allow begin" in refused.output


def test_another_name_is_removed_in_any_spelling_of_it(tmp_path: Path) -> None:
    rep = deposited(
        run(tmp_path / "data", "deposit", "a.txt", "--title", "x", "--alternate", DOI, "--alternate", LISE, "--json")
    )
    unknown = run(tmp_path / "data", "update", rep, "--remove-alternate", "doi:10.1000/other")
    assert unknown.exit_code == 2
    assert "there is no other name doi:10.1000/other to remove" in unknown.output
    assert run(tmp_path / "data", "update", rep, "--remove-alternate", DOI.lower()).exit_code == 0
    told = json.loads(run(tmp_path / "data", "show", rep, "--json").stdout)["item"]
    assert told["alternates"] == [{"scheme": "ibi", "value": "83LX3pFwXQZ5Jpy/Bkjzd"}]
    assert run(tmp_path / "data", "update", rep, "--remove-alternate", LISE).exit_code == 0
    assert "alternates" not in json.loads(run(tmp_path / "data", "show", rep, "--json").stdout)["item"]


def test_another_name_is_removed_through_a_server(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        made = remote(app, server.url, "deposit", "a.txt", "--title", "x", "--alternate", DOI, "--json")
        rep = parse(deposited(made))
        assert remote(app, server.url, "update", str(rep), "--remove-alternate", LISE).exit_code == 2
        assert remote(app, server.url, "update", str(rep), "--remove-alternate", DOI.lower()).exit_code == 0
        assert app.store.find(rep).alternates == ()


def test_an_update_that_is_stopped_leaves_a_draft_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        rep = deposited(remote(app, server.url, "deposit", "a.txt", "b.txt", "--title", "x", "--json"))
        upload = RecordsClient.upload

        def stopped(self: RecordsClient, draft: str, path: str, source: Path, on_bytes: object) -> None:
            raise KeyboardInterrupt

        (tmp_path / "a.txt").write_text("newer")
        monkeypatch.setattr(RecordsClient, "upload", stopped)
        flags = ("--title", "y", "--remove", "b.txt")
        told = remote(app, server.url, "update", rep, "a.txt", "c.txt", *flags)
        assert told.exit_code != 0
        found = re.search(rf"ibi update {re.escape(rep)} --draft (draft-\w+) PATH", told.stderr)
        assert found is not None, (told.output, told.exception)
        monkeypatch.setattr(RecordsClient, "upload", upload)
        other = deposited(remote(app, server.url, "deposit", "a.txt", "--title", "x", "--json"))
        for wrong in (("update", other), ("update", rep, "--title", "z")):
            refused = remote(app, server.url, *wrong, "--draft", found[1])
            assert refused.exit_code == 2, refused.output
        done = remote(
            app, server.url, "update", rep, "--draft", found[1], "a.txt", "c.txt", "--message", "Why", "--json"
        )
        assert deposited(done) == rep
        item = app.store.find(parse(rep))
        assert [file.path for file in item.files] == ["a.txt", "c.txt"]
        assert (item.metadata.titles(), item.version) == (("y",), 2)
        assert app.store.content.read(rep).head.change.message == "Why"


def test_an_update_that_is_stopped_before_it_is_described_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        rep = deposited(remote(app, server.url, "deposit", "a.txt", "--title", "x", "--json"))

        def stopped(self: RecordsClient, draft: str, description: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(RecordsClient, "describe", stopped)
        assert "--draft" not in remote(app, server.url, "update", rep, "--title", "y").output
        assert list((tmp_path / "data").glob("drafts/draft-*")) == []


@pytest.mark.parametrize("arguments", [("deposit",), ("update", "lab.br/arq/2020/01.01.00.00")])
def test_what_is_no_id_of_a_draft_is_told_so(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    runner = CliRunner(env={**UNSET, "IBI_SERVER": "http://127.0.0.1:9"})
    refused = runner.invoke(command, [*arguments, "--draft", "draft-zzzz", "a.txt"])
    assert refused.exit_code == 2
    assert "draft-zzzz is no id of a draft; one looks like draft-" in refused.output


def test_an_item_is_given_to_another_account_through_a_server(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        rep = parse(deposited(remote(app, server.url, "deposit", "a.txt", "--title", "x", "--json")))
        app.bearer(Scope.DEPOSIT, "bia")
        refused = remote(app, server.url, "update", str(rep), "--owner", "bia")
        assert "scope admin" in str(refused.exception)

        def give(*flags: str) -> Result:
            return remote(app, server.url, "update", str(rep), *flags, scope=Scope.ADMIN)

        assert give("--owner", "bia").exit_code == 0
        assert app.store.find(rep).owner == "service:bia"
        assert "there is no account" in str(give("--owner", "nemo").exception)
        assert give("--owner", "", "--title", "y").exit_code == 0
        assert (app.store.find(rep).owner, app.store.find(rep).metadata.titles()) == (None, ("y",))


def test_a_dump_goes_to_standard_output_by_its_usual_name(tmp_path: Path) -> None:
    assert run(tmp_path / "data", "deposit", "a.txt", "--title", "x").exit_code == 0
    plain, dashed = run(tmp_path / "data", "dump"), run(tmp_path / "data", "dump", "-")
    assert dashed.exit_code == 0
    assert dashed.stdout.splitlines()[1:] == plain.stdout.splitlines()[1:]
    assert not (tmp_path / "-").exists()
