"""An Archive is merged into another, each in a process of its own: by token, by a librarian, and past a SIGKILL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

from tests.support.ibi_command import IbiCommand

LIMIT = 60.0
"""Seconds for what takes a fraction of one."""


def run(command: IbiCommand, *arguments: str) -> str:
    done = command(*arguments)
    assert done.code == 0, done
    return done.out


def document(url: str) -> dict[str, object]:
    with urlopen(url, timeout=LIMIT) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def test_an_archive_is_merged_into_another_and_its_links_go_on(tmp_path: Path) -> None:
    sender, receiver = (IbiCommand(tmp_path / name, log=tmp_path / f"{name}.log") for name in ("sender", "receiver"))
    for command in (sender, receiver):
        command.home.mkdir()
    (tmp_path / "text.txt").write_text("text")

    def deposit(title: str) -> str:
        made = json.loads(run(sender, "deposit", str(tmp_path / "text.txt"), "--title", title, "--json"))
        return str(made["rep"])

    with ExitStack() as opened:
        _, here = opened.enter_context(sender.up())
        first, kept, third = map(deposit, ("first", "kept", "third"))
        run(sender, "transfers", "forbid", kept)
        with receiver.up() as (server, there):
            planned = run(sender, "transfer", "--search", "first", "--to", there, "--dry-run")
            assert first in planned
            assert run(sender, "transfers", "list") == ""
            token = run(receiver, "token", "create", "--scope", "edit").split()[0]
            plain = sender("transfer", first, "--to", "http://archive.example", "--token", token)
            assert (plain.code, "use https" in plain.err) == (1, True)
            assert run(sender, "transfers", "list") == ""
            assert "valid token" in run(sender, "transfer", third, "--to", there, "--token", f"{token}x", "--wait", "0")
            run(sender, "transfers", "withdraw", third)
            assert "given" in run(sender, "transfer", first, "--to", there, "--token", token)
            assert "a librarian there" in run(sender, "transfer", third, "--to", there)
            assert third in run(receiver, "transfers", "list", "--in", "--stage", "waiting")
            run(receiver, "transfers", "accept", "--all")
            server.kill()
            server.wait(LIMIT)
        port = there.rpartition(":")[2].strip("/")
        with receiver.up("--port", port) as (_, there):
            until(lambda: third in run(receiver, "transfers", "list", "--stage", "taken"))
            refused = sender("transfer", "--all", "--to", there, "--token", token)
            assert (refused.code, kept in refused.err) == (1, True)
            for label in (first, third):
                assert document(f"{there}/api/items/{label}")["state"] == "Original"
                until(lambda label=label: document(f"{here}/api/items/{label}")["state"] == "Copy")  # type: ignore[misc]
                with urlopen(f"{here}/{label}", timeout=LIMIT) as text:
                    assert text.read() == b"text"
            assert document(f"{here}/api/items/{kept}")["state"] == "Original"
            for command in (sender, receiver):
                assert "2 chains checked, all sound." in run(command, "verify", "--provenance")
