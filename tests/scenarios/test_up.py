"""A newcomer's first minutes: start, mint, stop, start again; and what goes wrong on the way."""

from __future__ import annotations

import json
import signal
import urllib.request
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import ibi
from tests.support.ibi_command import IbiCommand


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


def post(url: str, token: str, body: object) -> tuple[int, dict[str, object]]:
    parts = urlsplit(url)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
        connection.request("POST", "/api/labels", json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_an_empty_directory_becomes_a_sandbox_that_mints(command: IbiCommand) -> None:
    with command.up() as (server, url):
        with urllib.request.urlopen(f"{url}/readyz") as answer:
            assert answer.status == 200
        token = command("token", "create", "--scope", "deposit").out.strip()
        status, body = post(url, token, {"count": 3})
        assert status == 201
        labels = body["labels"]
        assert isinstance(labels, list)
        assert len({label["rep"] for label in labels}) == 3
        for label in labels:
            assert label["sandbox"] is True
            rep, ibip = ibi.parse(label["rep"]), ibi.parse(label["ibip"])
            assert rep.instant == ibip.instant
            assert not rep.is_global
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    settings = (command.data / "ibi.toml").read_text()
    assert "sandbox = true" in settings
    assert f"\nport = {urlsplit(url).port}\n" in settings  # so that the command prints links that lead there


def test_starting_again_continues_under_the_same_identity(command: IbiCommand) -> None:
    with command.up() as (_, url):
        first = json.loads(command("mint", "--json", "--data", "ibi-data").out)
    with command.up() as (_, other):
        assert other != url  # another port to listen on, the same name to mint as
        second = json.loads(command("mint", "--json", "--data", "ibi-data").out)
    one, two = ibi.parse(first["rep"]), ibi.parse(second["rep"])
    assert one.prefix == two.prefix
    assert one < two


def test_the_command_mints_beside_a_running_server_and_through_it(command: IbiCommand) -> None:
    with command.up() as (_, url):
        token = command("token", "create", "--scope", "deposit").out.strip()
        local = command("mint", "-n", "5", "--json")
        remote = command("mint", "-n", "5", "--json", IBI_SERVER=url, IBI_TOKEN=token)
        again = command("mint", "--json")
        assert [outcome.code for outcome in (local, remote, again)] == [0, 0, 0], (local, remote, again)
        lines = [json.loads(line) for outcome in (local, remote, again) for line in outcome.out.splitlines()]
        reps = [ibi.parse(line["rep"]) for line in lines]
        assert reps == sorted(set(reps))
        assert len(reps) == 11
        identities = command("mint", "--identity", "--json"), command("mint", "--identity", "--json", IBI_SERVER=url)
        here, there = (json.loads(outcome.out) for outcome in identities)
        assert here == {name: there[name] for name in here}
    # And one for the Archive's own service.
    assert command("mint", "--verify-log").out.endswith("12 labels.\n")


@pytest.mark.parametrize("named", [False, True], ids=["ibi.toml", "--config"])
def test_settings_that_name_no_minter_do_not_keep_a_sandbox_from_beginning(command: IbiCommand, named: bool) -> None:
    command.data.mkdir()
    file = command.home / "other.toml" if named else command.data / "ibi.toml"
    file.write_text('port = 1\n[mint]\ngranularity = 1\n[site]\nname = "Kept"\n')
    written = file.read_text()
    with command.up(*(["--config", str(file)] if named else [])) as (_, url):
        port = urlsplit(url).port
        with urllib.request.urlopen(f"{url}/api/identity", timeout=60) as answer:
            identity = json.load(answer)
    assert (identity["sandbox"], identity["host_port"], identity["granularity"]) == (True, port, "1")
    assert file.read_text() == written
    # What was begun is kept: the directory goes on without the settings that began it.
    assert json.loads(command("mint", "--json").out)["rep"].startswith(f"localhost/ibi.{port}/")


def test_labels_of_a_sandbox_are_flagged_to_people_too(command: IbiCommand) -> None:
    with command.up():
        outcome = command("mint")
    assert outcome.code == 0
    assert "sandbox" in outcome.err


def test_without_an_identity_it_says_what_to_do_in_one_line(command: IbiCommand) -> None:
    command.data.mkdir()
    outcome = command("mint")
    assert outcome.code == 1
    assert outcome.err.startswith("ibi: ")
    assert len(outcome.err.splitlines()) == 1
    assert "ibi.toml" in outcome.err


@pytest.mark.parametrize(
    ("host", "ip", "named"),
    [("ibi.localhost", "150.163.34.243", "ibi.localhost"), ("www.urlib.net", "192.168.1.5", "192.168.1.5")],
)
def test_an_identity_that_is_not_global_is_refused(command: IbiCommand, host: str, ip: str, named: str) -> None:
    outcome = command("mint", IBI_MINT_HOST=host, IBI_MINT_IP=ip)
    assert outcome.code == 1
    assert named in outcome.err
    assert "sandbox" in outcome.err


def test_another_identity_needs_to_be_accepted_and_has_its_own_clock(command: IbiCommand) -> None:
    first = command("mint", "--json", IBI_MINT_HOST="one.urlib.net")
    refused = command("mint", IBI_MINT_HOST="two.urlib.net")
    accepted = command("mint", "--json", "--accept-identity", IBI_MINT_HOST="two.urlib.net")
    assert (first.code, refused.code, accepted.code) == (0, 1, 0), (first, refused, accepted)
    assert "--accept-identity" in refused.err
    assert json.loads(first.out)["ibip"] is None
    assert json.loads(accepted.out)["rep"].startswith("urlib.net/two/")


def test_a_second_directory_with_the_same_identity_is_refused(command: IbiCommand) -> None:
    identity = {"IBI_MINT_HOST": "one.urlib.net"}
    assert command("mint", **identity).code == 0
    outcome = command("mint", "--data", "other", **identity)
    assert outcome.code == 1
    assert str(command.data) in outcome.err


def test_the_same_key_gets_the_same_labels(command: IbiCommand) -> None:
    with command.up():
        one, two = command("mint", "-n", "3", "--key", "k"), command("mint", "-n", "3", "--key", "k")
        other = command("mint", "-n", "4", "--key", "k")
    assert one.out == two.out
    assert other.code == 1


def test_a_port_that_is_taken_is_said_in_one_line(command: IbiCommand) -> None:
    with command.up() as (_, url):
        outcome = command("up", "--data", "other", "--port", str(urlsplit(url).port))
    assert outcome.code == 1
    assert len(outcome.err.splitlines()) == 1
    assert not (command.home / "other").exists()


def test_ctrl_c_stops_it_cleanly(command: IbiCommand) -> None:
    with command.up() as (server, _):
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert server.stderr is not None
        assert "Traceback" not in server.stderr.read()


def test_a_reader_that_has_seen_enough_ends_it_quietly(command: IbiCommand) -> None:
    with command.up():
        minting = command.start("mint", "-n", "50000")
        assert minting.stdout is not None
        assert minting.stderr is not None
        minting.stdout.readline()
        minting.stdout.close()
        minting.wait(60)
        assert "Traceback" not in minting.stderr.read()
        minting.stderr.close()


def test_tokens_are_shown_once_listed_and_revoked(command: IbiCommand) -> None:
    with command.up() as (_, url):
        created = json.loads(command("token", "create", "--scope", "deposit", "--name", "harvester", "--json").out)
        assert post(url, created["token"], {"count": 1})[0] == 201
        listed = command("token", "list").out
        assert created["id"] in listed
        assert "harvester" in listed
        assert created["token"] not in listed
        assert command("token", "revoke", created["id"]).code == 0
        assert post(url, created["token"], {"count": 1})[0] == 401
        assert command("token", "revoke", "nonsense").code == 1
    secret = created["token"].rsplit("_", 1)[1].encode()
    assert all(secret not in file.read_bytes() for file in command.data.rglob("*") if file.is_file())


def test_tokens_are_managed_through_a_server_by_an_administrator(command: IbiCommand) -> None:
    with command.up() as (_, url):
        admin = command("token", "create", "--scope", "admin").out.strip()
        remote = {"IBI_SERVER": url, "IBI_TOKEN": admin}
        created = json.loads(command("token", "create", "--scope", "read", "--json", **remote).out)
        assert created["id"] in command("token", "list", **remote).out
        assert command("token", "revoke", created["id"], **remote).code == 0
        lesser = command("token", "create", "--scope", "deposit").out.strip()
        assert command("token", "list", IBI_SERVER=url, IBI_TOKEN=lesser).code == 1


def test_a_second_sandbox_waits_only_while_the_first_runs(command: IbiCommand) -> None:
    """Every clone of the software begins with the same name: it belongs to whoever runs."""
    sandbox = {"IBI_MINT_HOST": "ibi.localhost", "IBI_MINT_HOST_PORT": "8765", "IBI_MINT_SANDBOX": "true"}
    with command.up(**sandbox):
        first = json.loads(command("mint", "--json", **sandbox).out)
        refused = command("mint", "--data", "other", **sandbox)
        assert refused.code == 1
        assert str(command.data) in refused.err
    second = json.loads(command("mint", "--json", "--data", "other", **sandbox).out)
    third = json.loads(command("mint", "--json", **sandbox).out)
    labels = [ibi.parse(each["rep"]) for each in (first, second, third)]
    assert labels == sorted(set(labels))
