"""An Archive that is put back from a backup, each server a process of its own: what it gave away since is not changed
there, and not called its Original, before the resolver was heard (E90)."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.scenarios.test_lost_archive import NetworkArchive
from tests.scenarios.test_without_centre import ask, until
from tests.support.ibi_command import IbiCommand


def delete(url: str, label: str, token: str) -> tuple[int, str | None, dict[str, object]]:
    """Status, seconds to wait and the problem."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        headers = {"authorization": f"Bearer {token}"}
        connection.request("DELETE", f"/api/items/{label}?reason=withdrawn", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("retry-after"), json.loads(answer.read())
    finally:
        connection.close()


def test_no_item_of_a_restored_archive_is_changed_before_the_resolver_was_heard(tmp_path: Path) -> None:
    (tmp_path / "resolver").mkdir()
    resolver = IbiCommand(tmp_path / "resolver", log=tmp_path / "resolver.log")
    place = str(tmp_path / "backup")
    with ExitStack() as network:
        _, at = network.enter_context(resolver.up())
        port = at.rpartition(":")[2].strip("/")
        home, heir = (NetworkArchive(tmp_path / f"arq{number}", number, resolver) for number in range(2))
        network.enter_context(heir.up(at))
        with home.up(at):
            given, kept = map(home.deposit, ("first", "second"))
            token = home.run("token", "create", "--scope", "admin").split()[0]
            home.run("backup", place)
            agreed = heir.run("token", "create", "--scope", "edit").split()[0]
            assert "given" in home.run("transfer", given, "--to", heir.url, "--token", agreed)
            until(lambda: home.state(given) == "Copy")
    shutil.rmtree(home.command.data)
    home.run("restore", place)
    refused = home.run("update", kept, "--title", "Changed before the start", code=1)
    assert (refused.count("\n"), f"{kept} takes no change" in refused, at in refused) == (1, True, True)
    with home.command.up("--port", home.port, **home.variables) as (_, url):
        for label in (given, kept):
            status, wait, problem = delete(url, label, token)
            assert (status, wait, problem["type"]) == (503, "5", "urn:ibi:problem:item-in-doubt")
            assert json.loads(ask(url, f"/api/items/{label}")[3])["unconfirmed"] is True
            assert b"State being confirmed" in ask(url, f"/col/{label}/metadata", accept="text/html")[3]
        refused = home.run("delete", kept, "--reason", "withdrawn", code=1)
        assert (refused.count("\n"), at in refused, "`ibi transfers trust`" in refused) == (1, True, True)
        new = home.deposit("third")
        ready = json.loads(ask(url, "/readyz")[3])
        assert (ready["ready"], ready["in_doubt"], at.rstrip("/") in ready["unheard"]) == (True, "items", True)
        status = json.loads(home.run("archive", "status", "--json"))
        assert (status["in_doubt"], at.rstrip("/") in status["unheard"]) == ("items", True)
        through = ("--server", url, "--token", token)
        status = json.loads(home.run("archive", "status", "--json", *through))
        assert (status["in_doubt"], at.rstrip("/") in status["unheard"]) == ("items", True)
        for where in ((), through):
            assert "Original, being confirmed" in home.run("show", kept, *where)
            shown = json.loads(home.run("show", kept, "--json", *where))
            assert (shown["unconfirmed"], "unconfirmed" in shown["item"]) == (True, False)
            assert "being confirmed" not in home.run("show", home.service, *where)
        assert "in-doubt" in home.command("doctor", **home.variables).out
        assert b"ibi_archive_in_doubt 1.0" in ask(url, "/metrics")[3]
        with resolver.up("--port", port), heir.command.up("--port", heir.port, **heir.variables):
            until(lambda: "in_doubt" not in json.loads(ask(url, "/readyz")[3]))
            record = json.loads(ask(url, f"/api/items/{given}")[3])
            assert (record["state"], "unconfirmed" in record) == ("Copy", False)
            assert delete(url, kept, token)[0] == 200
            home.run("update", new, "--title", "Changed after it")
            assert json.loads(home.run("archive", "status", "--json"))["in_doubt"] is None
            assert "in-doubt" not in home.command("doctor", **home.variables).out
