"""Deposits through a real server: by the command, by hand, and while it is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from copy import copy
from hashlib import sha512
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.deposits.rules.drafts import MOST_FILES
from tests.support.cutting_proxy import cutting_proxy
from tests.support.ibi_command import IbiCommand, Outcome
from tests.support.worker_server import wait_until


class Remote:
    """The command against a server, as a person has it who has a token and nothing else."""

    def __init__(self, command: IbiCommand, url: str, *, scope: str = "deposit") -> None:
        self.command, self.url = command, url
        created = command("token", "create", "--scope", scope, "--name", "ana", "--data", str(command.data))
        assert created.code == 0, created
        self.token = created.out.strip()

    def __call__(self, *arguments: str) -> Outcome:
        return self.command(*arguments, IBI_SERVER=self.url, IBI_TOKEN=self.token)

    def json(self, *arguments: str) -> dict[str, Any]:
        outcome = self(*arguments, "--json")
        assert outcome.code == 0, outcome
        found = json.loads(outcome.out)
        assert isinstance(found, dict)
        return found

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        with closing(self.connection()) as connection:
            sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, body or None, {**sent, **headers})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None

    def connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname
        return HTTPConnection(parts.hostname, parts.port, timeout=60)


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


@pytest.fixture
def remote(command: IbiCommand) -> Iterator[Remote]:
    with command.up() as (_, url):
        yield Remote(command, url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_text("one")
    (place / "sub" / "ção b.txt").write_text("dois")
    return place


def test_the_text_of_files_is_searched_through_a_server_and_on_its_data_directory(remote: Remote, folder: Path) -> None:
    (folder / "a.txt").write_text("About the quetzal, a bird.")
    made = remote.json("deposit", str(folder), "--title", "Birds")
    asked = ("search", "quetzal")
    wait_until(lambda: made["ibip"] in remote(*asked).out)  # the server reads texts beside all else
    assert remote(*asked).out == f"{made['ibip']}  Birds\n    in the text: About the quetzal, a bird.\n"
    for arguments in (asked, (*asked, "--json"), ("search", "birds"), ("search", "bird", "-n", "1")):
        there, here = remote(*arguments), remote.command(*arguments, "--data", str(remote.command.data))
        assert (there.code, there.out) == (0, here.out), arguments


def test_the_command_does_the_same_through_a_server_as_on_a_data_directory(remote: Remote, folder: Path) -> None:
    said = ("--title", "Uma tese", "--creator", "Ana <0000-0002-1825-0097>", "--language", "pt", "--target", "a.txt")
    made = remote.json("deposit", str(folder), *said)
    assert set(made) == {"rep", "ibip", "persistent_url", "url"}
    assert made["url"] == f"{remote.url}/col/{made['rep']}/doc/a.txt"
    data = ("--data", str(remote.command.data))
    # Where the server listens, the data directory's settings say too: port 0 was written down when the sandbox began.
    looks = (("show", made["ibip"]), ("show", made["rep"], "--json"), ("stats",), ("stats", made["persistent_url"]))
    for arguments in (*looks, ("list", "--json"), ("list", "--sort", "title"), ("search", "tese", "--language", "pt")):
        there, here = remote(*arguments), remote.command(*arguments, *data)
        assert (there.code, there.out) == (0, here.out), arguments
    out = folder.parent / "out"
    (out / "sub").mkdir(parents=True)
    (out / "sub" / "ção b.txt.ibi-part").write_text("do")  # what a fetch that broke off has left
    assert remote("get", made["persistent_url"], str(out)).code == 0
    assert [(out / name).read_text() for name in ("a.txt", "sub/ção b.txt")] == ["one", "dois"]
    updated = remote.json("update", made["rep"], "--title", "Outra", "--remove", "sub/ção b.txt", "--message", "why")
    assert (updated["version"], updated["removed"]) == (2, ["sub/ção b.txt"])
    assert remote("get", made["rep"], str(folder.parent / "first"), "--version", "1").code == 0
    assert (folder.parent / "first/sub/ção b.txt").read_text() == "dois"
    new = remote.json("deposit", str(folder), "--title", "Segunda", "--edition-of", made["rep"])
    assert remote.json("show", made["rep"])["item"]["next_edition"]["rep"] == new["rep"]
    undone = remote.json("relate", made["rep"], "--next-edition", new["rep"], "--undo")
    assert "next_edition" not in undone["item"]
    english = remote.json("deposit", str(folder), "--title", "A thesis", "--language", "en")
    related = remote.json("relate", made["rep"], "--translation", "en", english["rep"])
    assert related["item"]["translations"]["en"]["rep"] == english["rep"]
    about = remote.json("deposit", str(folder), "--title", "About it", "--language", "en", "--metadata-of", made["rep"])
    assert remote.json("show", made["rep"])["item"]["metadata_item"]["rep"] == about["rep"]
    translated = ("--title", "Sobre ela", "--language", "pt", "--translation-of", about["rep"])
    translation = remote.json("deposit", str(folder), *translated, "--metadata-of", made["rep"])
    assert remote.json("show", translation["rep"])["item"]["describes"]["rep"] == made["rep"]
    undone = remote.json("relate", made["rep"], "--metadata", about["rep"], "--undo")
    assert "metadata_item" not in undone["item"]
    again = remote.json("relate", made["rep"], "--metadata", about["rep"])
    assert again["item"]["metadata_item"]["rep"] == about["rep"]
    second = remote("relate", made["rep"], "--metadata", new["rep"])
    assert (second.code, "has an IBI already" in second.err) == (1, True)
    gone = remote("delete", made["rep"], "--reason", "não serve", "--replaced-by", new["rep"])
    assert gone.out == f"{made['rep']} is deleted.\n"
    assert remote.json("show", made["rep"])["local"]["tombstone"]["replaced_by"]["rep"] == new["rep"]
    refused = remote("delete", made["rep"], "--reason", "x", "--purge")
    assert (refused.code, "scope admin" in refused.err) == (1, True)
    assert remote.command("verify", *data).code == 0


def test_a_web_service_and_a_key(remote: Remote, folder: Path) -> None:
    service = remote.json("deposit", "--url", "https://example.org/x", "--title", "Serviço")
    assert service["url"] == "https://example.org/x"
    twice = [remote.json("deposit", str(folder), "--title", "t", "--key", "k") for _ in range(2)]
    assert twice[0] == twice[1]


def test_an_update_keeps_the_other_files_unless_they_are_to_go(remote: Remote, folder: Path) -> None:
    rep = remote.json("deposit", str(folder), "--title", "t")["rep"]
    other = folder.parent / "other.txt"
    other.write_text("third")

    def paths() -> list[str]:
        return [file["path"] for file in remote.json("show", rep)["item"]["files"]]

    remote.json("update", rep, str(other))
    assert paths() == ["a.txt", "other.txt", "sub/ção b.txt"]
    assert remote.json("update", rep, str(other), "--replace")["removed"] == ["a.txt", "sub/ção b.txt"]
    assert paths() == ["other.txt"]
    wrong = remote("update", rep, "--remove", "nothing.txt")
    assert (wrong.code, wrong.err) == (2, "ibi: there is no file nothing.txt to remove\n")
    assert remote.ask("GET", "/api/items?state=draft")[1]["drafts"] == []


def test_too_many_files_are_refused_before_any_is_sent(remote: Remote, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MOST_FILES + 1):
        (many / str(number)).touch()
    outcome = remote("deposit", str(many), "--title", "t")
    assert (outcome.code, outcome.out, "at most 10000" in outcome.err) == (1, "", True)
    assert remote.ask("GET", "/api/items?state=draft")[1]["drafts"] == []


@pytest.mark.parametrize("arguments", [("verify",), ("rebuild",), ("archive", "init"), ("archive", "switch-off")])
def test_what_is_done_on_the_machine_itself_says_so_in_one_line(remote: Remote, arguments: tuple[str, ...]) -> None:
    outcome = remote(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "ibi: this is done on the data directory (--data), on the machine that has it\n"


def test_the_standing_of_an_archive_is_told(remote: Remote) -> None:
    told = remote.json("archive", "status")
    assert (told["begun"], told["public_url"], told["membership"]) == (True, remote.url, "off")
    assert "data" not in told


def test_a_refusal_leaves_no_draft_behind(remote: Remote, folder: Path) -> None:
    refused = remote("deposit", str(folder))
    assert refused.code == 1
    assert refused.err.startswith(f"ibi: {remote.url} refuses: ")
    assert remote.ask("GET", "/api/items?state=draft")[1]["drafts"] == []


def test_a_wrong_token_and_no_server_are_one_line(remote: Remote, folder: Path) -> None:
    for token in ("ibi_x_y", remote.token[:-1] + ("a" if remote.token[-1] != "a" else "b")):
        outcome = remote.command("deposit", str(folder), "--title", "t", IBI_SERVER=remote.url, IBI_TOKEN=token)
        assert outcome.code == 1
        assert outcome.err.count("\n") == 1
    away = remote.command(
        "show", "lab.br/arq/2020/01.02.03.04", IBI_SERVER="http://127.0.0.1:1", IBI_TOKEN=remote.token
    )
    assert (away.code, away.err.count("\n")) == (1, 1)


# --- a server that is killed ---


def begun(remote: Remote) -> str:
    status, draft = remote.ask("POST", "/api/items", b'{"metadata": {"title": "t"}}')
    assert status == 201
    return f"/api/items/{draft['id']}"


def half_sent(remote: Remote, place: str) -> HTTPConnection:
    """A file of which a part has arrived, on a connection that stays open."""
    connection = remote.connection()
    connection.putrequest("PUT", place)
    connection.putheader("Authorization", f"Bearer {remote.token}")
    connection.putheader("Content-Length", "10000000")
    connection.endheaders(b"x" * 3_000_000)
    return connection


def test_what_was_sent_survives_a_kill_and_what_was_half_sent_does_not(command: IbiCommand) -> None:
    with command.up() as (server, url):
        remote = Remote(command, url)
        draft = begun(remote)
        assert remote.ask("PUT", f"{draft}/files/a.txt", b"whole")[0] == 201
        half = half_sent(remote, f"{draft}/files/b.txt")
        server.send_signal(signal.SIGKILL)
        server.wait()
        half.close()
    with command.up("--port", str(urlsplit(url).port)) as (_, again):
        remote.url = again
        assert [file["path"] for file in remote.ask("GET", draft)[1]["files"]] == ["a.txt"]
        first, second = (remote.ask("POST", f"{draft}/publish") for _ in range(2))
        assert first == second
        assert first[0] == 201
    assert command("verify", "--data", str(command.data)).out == "2 items read, all whole.\n"


def test_whose_answer_was_lost_asks_again_and_there_is_one_item(command: IbiCommand) -> None:
    with command.up() as (server, url):
        remote = Remote(command, url)
        draft = begun(remote)
        assert remote.ask("PUT", f"{draft}/files/big", os.urandom(8_000_000))[0] == 201
        connection = remote.connection()
        connection.request("POST", f"{draft}/publish", headers={"Authorization": f"Bearer {remote.token}"})
        server.send_signal(signal.SIGKILL)
        server.wait()
        connection.close()
    with command.up("--port", str(urlsplit(url).port)) as (_, again):
        remote.url = again
        answers = [remote.ask("POST", f"{draft}/publish") for _ in range(2)]
        assert answers[0] == answers[1]
    assert command("verify", "--data", str(command.data)).out == "2 items read, all whole.\n"


# --- large files ---


def resident(server: subprocess.Popen[str]) -> int:
    """The most memory that the process has had, in kilobytes."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell how much memory is used")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_file_of_any_size_passes_through_a_little_memory(command: IbiCommand, chunked: bool) -> None:
    size, piece = 120_000_000, b"x" * 1_000_000
    with command.up() as (server, url):
        remote = Remote(command, url)
        draft = begun(remote)
        assert remote.ask("PUT", f"{draft}/files/small", b"x")[0] == 201
        before = resident(server)
        with closing(remote.connection()) as connection:
            headers = {"Authorization": f"Bearer {remote.token}"}
            headers |= {} if chunked else {"Content-Length": str(size)}
            pieces = (piece for _ in range(size // len(piece)))
            connection.request("PUT", f"{draft}/files/big", pieces, headers, encode_chunked=chunked)
            answer: HTTPResponse = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["size"]) == (201, size)
        assert remote.ask("POST", f"{draft}/publish")[0] == 201
        assert resident(server) - before < 40_000


def test_a_client_that_waits_for_100_continue_is_spared_what_is_refused(remote: Remote) -> None:
    draft = begun(remote)
    with closing(remote.connection()) as connection:
        connection.putrequest("PUT", f"{draft}/files/con.txt")
        connection.putheader("Authorization", f"Bearer {remote.token}")
        connection.putheader("Content-Length", "1000000000000")
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        assert connection.getresponse().status == 400


# --- a network that breaks ---


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(os.urandom(3_000_000))
    return path


def files_of(remote: Remote, rep: str) -> dict[str, str]:
    status, found = remote.ask("GET", f"/api/items/{rep}/files")
    assert status == 200
    return {file["path"]: file["sha512"] for file in found["files"]}


def test_an_upload_cut_ten_times_ends_with_the_right_digest(remote: Remote, large: Path) -> None:
    with cutting_proxy(remote.url, 1_500_000, cuts=10) as proxy:
        made = replaced(remote, proxy.url).json("deposit", str(large), "--title", "Uma tese")
        assert proxy.cuts_left < 0
    assert files_of(remote, made["rep"]) == {"large.bin": sha512(large.read_bytes()).hexdigest()}
    assert remote.ask("GET", "/api/items?state=draft")[1]["drafts"] == []


def test_a_deposit_that_is_stopped_leaves_a_draft_that_can_go_on(remote: Remote, large: Path) -> None:
    small = large.with_name("small.bin")
    small.write_bytes(b"small")
    with cutting_proxy(remote.url, 1_500_000, stalls=True) as proxy:
        variables = {"IBI_SERVER": proxy.url, "IBI_TOKEN": remote.token}
        running = remote.command.start("deposit", str(small), str(large), "--title", "Uma tese", **variables)
        assert proxy.stalled.wait(60)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)  # where nothing is sent any more, a minute and a half would pass
    assert running.returncode == 130
    found = re.search(r"ibi deposit --draft (draft-\w+) PATH", told)
    assert found is not None, told
    (draft,) = remote.ask("GET", "/api/items?state=draft")[1]["drafts"]
    assert draft["id"] == found[1]
    made = remote.json("deposit", "--draft", found[1], str(small), str(large))
    digests = {path.name: sha512(path.read_bytes()).hexdigest() for path in (small, large)}
    assert files_of(remote, made["rep"]) == digests
    again = remote.json("deposit", "--draft", found[1], str(small), str(large))
    assert again == made


def test_small_files_go_in_one_request_whatever_they_are_called(remote: Remote, tmp_path: Path) -> None:
    place = tmp_path / "odd"
    place.mkdir()
    names = ("100%25 %22.txt", "ção; a=b.txt", "it's.txt")
    for name in names:
        (place / name).write_text(name)
    with cutting_proxy(remote.url, 20_000, cuts=0) as proxy:
        made = replaced(remote, proxy.url).json("deposit", str(place), "--title", "Uma tese", "--target", names[0])
        assert proxy.connections == 1
    assert files_of(remote, made["rep"]) == {name: sha512(name.encode()).hexdigest() for name in names}


def test_going_on_with_a_draft_describes_nothing_anew(remote: Remote, folder: Path) -> None:
    refused = remote("deposit", "--draft", "draft-aaaaaaaaaaaaaaaa", str(folder), "--title", "Outra")
    assert refused.code == 2
    assert "--draft goes on with what the draft says" in refused.err
    refused = remote("deposit", "--draft", "draft-aaaaaaaaaaaaaaaa", str(folder))
    assert refused.code == 1
    assert "There is no draft" in refused.err


def replaced(remote: Remote, url: str) -> Remote:
    """The same depositor, by another way."""
    other = copy(remote)
    other.url = url
    return other
