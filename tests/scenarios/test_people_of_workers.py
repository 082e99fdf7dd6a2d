"""People on a server of two workers: invited by mail, signed in at the one, refused at the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ibi.people.service.recovery import LETTERS_OF_ACCOUNT
from tests.support.ibi_command import IbiCommand
from tests.support.mail_server import MailServer, mail_server
from tests.support.worker_server import WorkerServer, ask, wait_until, workers_up

PASSWORD = "um cavalo correto"
COOKIE = re.compile(r"ibi-session=([a-z2-7]{52})")


class Person:
    """A browser that keeps its cookie, and asks over connections to the one worker or the other."""

    def __init__(self, server: WorkerServer) -> None:
        self._server, self.cookie = server, ""

    def get(self, connection: HTTPConnection, path: str) -> tuple[int, str]:
        status, headers, body = ask(connection, "GET", path, Cookie=self.cookie, Accept="text/html")
        self._keep(headers.get("set-cookie", ""))
        return status, body.decode()

    def post(self, connection: HTTPConnection, path: str, **fields: str) -> tuple[int, str]:
        if self.cookie:
            found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get(connection, "/account")[1])
            fields["csrf"] = "" if found is None else found[1]
        status, headers, body = ask(
            connection,
            "POST",
            path,
            urlencode(fields),
            Cookie=self.cookie,
            Accept="text/html",
            Content_Type="application/x-www-form-urlencoded",
            Origin=self._server.url.rstrip("/"),
        )
        self._keep(headers.get("set-cookie", ""))
        return status, body.decode()

    def _keep(self, said: str) -> None:
        found = COOKIE.search(said)
        self.cookie = self.cookie if found is None else f"ibi-session={found[1]}"


@pytest.fixture
def box() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


def letter(box: MailServer, number: int) -> str:
    """The link in a letter."""
    wait_until(lambda: len(box.messages) >= number, "a letter")
    text = message_from_bytes(box.messages[number - 1], policy=default).get_content()
    return re.search(r"https?://[^/\s]+(/sign-in/\S+)", text)[1]  # type: ignore[index]


def test_a_person_is_invited_by_mail_and_what_ends_at_one_worker_is_refused_by_the_other(
    tmp_path: Path, box: MailServer
) -> None:
    ibi = IbiCommand(tmp_path)
    mail = {"SERVER": "127.0.0.1", "PORT": str(box.port), "SECURITY": "none", "SENDER": "ibi@lab.example"}
    with workers_up(ibi, **{f"IBI_MAIL_{name}": value for name, value in mail.items()}) as server:
        one, other = (server.connect_to(worker) for worker in server.workers())
        server.ibi("person", "create", "root", "--role", "admin")
        root, joao = Person(server), Person(server)
        link = server.ibi("person", "link", "root").out.strip()
        assert root.post(one, "/sign-in/" + link.rpartition("/")[2])[0] == 303

        assert root.post(other, "/admin/people", act="invite", mail="joao@lab.example", role="librarian")[0] == 303
        accepted = joao.post(one, letter(box, 1), name="João Ávila", new=PASSWORD)
        assert accepted[0] == 303
        assert "João Ávila" in joao.get(other, "/account")[1]
        shown = joao.post(one, "/account", act="token", scope="edit", name="laptop")[1]
        token = {"Authorization": f"Bearer {re.search(r'ibi_[a-z2-7]{16}_[a-z2-7]{52}', shown)[0]}"}  # type: ignore[index]
        assert ask(other, "GET", "/api/items/claims", **token)[0] == 200
        assert joao.get(other, "/jobs")[0] == 200

        # A smaller role counts at the other worker at once, for the session and for the token.
        assert root.post(one, "/admin/people", act="role", name="joão ávila", role="depositor")[0] == 303
        assert joao.get(other, "/jobs")[0] == 403
        assert root.post(one, "/admin/people", act="disable", name="João Ávila")[0] == 303
        assert joao.get(other, "/account")[0] == 303
        assert ask(other, "GET", "/api/items/claims", **token)[0] == 401
        assert root.post(other, "/admin/people", act="enable", name="João Ávila")[0] == 303
        assert ask(one, "GET", "/api/items/claims", **token)[0] == 200

        # Letters are counted by all workers together.
        statuses = [
            Person(server).post(each, "/sign-in/forgotten", name="joao@LAB.example")[0]
            for each in islice(cycle((one, other)), LETTERS_OF_ACCOUNT + 1)
        ]
        assert statuses == [200] * LETTERS_OF_ACCOUNT + [429]
        anew = letter(box, 1 + LETTERS_OF_ACCOUNT)
        assert joao.post(other, anew, new="nove rios voadores")[0] == 303
        assert joao.get(one, "/account")[0] == 200

        lines = server.ibi("audit").out
        assert "bound to the one before it" in server.ibi("audit", "--verify").out
        for connection in (one, other):
            connection.close()
    said = [line.split("  ")[1].strip() for line in lines.splitlines()]
    assert {"invite person", "accept invitation", "create token", "change role", "disable person", "refuse"} <= set(
        said
    )
    assert any("person:João Ávila" in line and "/jobs: not-allowed" in line for line in lines.splitlines())


def test_an_owner_reads_withheld_files_at_both_workers_until_they_are_signed_out(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    (tmp_path / "plain.txt").write_text("withheld")
    with workers_up(ibi) as server:
        one, other = (server.connect_to(worker) for worker in server.workers())
        server.ibi("person", "create", "dep", "--role", "depositor")
        said = ("--title", "T", "--embargo", "2099-01-31", "--owner", "dep", "--json")
        rep = json.loads(server.ibi("deposit", str(tmp_path / "plain.txt"), *said).out)["rep"]
        path, dep = f"/col/{rep}/doc/plain.txt", Person(server)
        link = server.ibi("person", "link", "dep").out.strip()
        assert dep.post(one, "/sign-in/" + link.rpartition("/")[2])[0] == 303
        for connection in (one, other, one, other):
            assert dep.get(connection, path) == (200, "withheld")
            assert Person(server).get(connection, path)[0] == 302
        assert dep.post(one, "/sign-out")[0] == 303
        assert [dep.get(connection, path)[0] for connection in (one, other)] == [302, 302]
        for connection in (one, other):
            connection.close()
