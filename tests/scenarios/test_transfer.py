"""An Archive is merged into another, each in a process of its own: by token, by a librarian, and past a SIGKILL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

from ibi.items.model.content import Bytes, Change, Keep
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.rules import life_cycle
from ibi.items.rules.provenance import NO_CHAIN, countersign, encode_link, link_path, sign_release
from ibi.items.service.item_repository import PendingItem
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import SigningKey
from tests.support.ibi_command import IbiCommand
from tests.support.raw_server import raw_server, says

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


def test_a_server_that_knows_no_transfers_is_told_at_once_and_the_original_stays(tmp_path: Path) -> None:
    """It answers 501 to POST, as servers that only serve files do; the command would wait for ten minutes."""
    sender = IbiCommand(tmp_path)
    (tmp_path / "text.txt").write_text("text")
    stranger = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    thread = Thread(target=stranger.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        with sender.up():
            made = json.loads(run(sender, "deposit", str(tmp_path / "text.txt"), "--title", "A text", "--json"))
            done = sender("transfer", made["rep"], "--to", f"http://127.0.0.1:{stranger.server_port}")
            shown = run(sender, "show", made["rep"])
    finally:
        stranger.shutdown()
        stranger.server_close()
    assert done.code == 1
    assert "takes no transfers: HTTP status 501" in done.out
    assert "Original" in shown


PLAIN = "Content-Type: text/plain\r\nConnection: close\r\n"
STRANGERS = {
    **{
        status: f"HTTP/1.1 {status}\r\n{PLAIN}Content-Length: 5\r\n\r\nlogin"
        for status in ("401 Unauthorized", "403 Forbidden", "500 Oops", "503 Busy")
    },
    "an object": f"HTTP/1.1 200 OK\r\n{PLAIN}Content-Length: 2\r\n\r\n{{}}",
    "no HTTP": "SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": "",
}


def test_the_first_offer_and_the_first_question_end_with_a_reason_and_nothing_is_left_offered(tmp_path: Path) -> None:
    sender = IbiCommand(tmp_path)
    (tmp_path / "text.txt").write_text("text")
    with sender.up():
        made = json.loads(run(sender, "deposit", str(tmp_path / "text.txt"), "--title", "A text", "--json"))
        for kind, answer in STRANGERS.items():
            with raw_server(says(answer.encode())) as there:
                done = sender("transfer", made["rep"], "--to", there)
                assert (done.code, "withdrawn" in done.out) == (1, True), (kind, done)
                left = sender("transfer", made["rep"], "--to", there, "--wait", "0")
                assert ("offered" in left.out) == (kind != "an object"), (kind, left)
                if kind != "an object":
                    run(sender, "transfers", "withdraw", made["rep"])
                copied = sender("copy", "lab.br/arq/2001/01.01.01.01", "--from", there)
                assert copied.code == 1, (kind, copied)
                assert "What has come is kept" not in copied.err + copied.out, (kind, copied)
        assert "Original" in run(sender, "show", made["rep"])


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


def plant(data: Path, label: str, files: dict[str, bytes]) -> None:
    """Have files of a stranger beside an item."""
    with open_store(data) as store:
        head = store.content.read(label).head
        kept = {path: Keep(path) for path in head.files if not path.startswith("provenance/")}
        store.content.update(label, {**kept, **{path: Bytes(body) for path, body in files.items()}}, head.change)


def forged(item: Item) -> dict[str, bytes]:
    evil, key = RepositoryName.parse("evil.example/ibi/2020/01.01.00.00"), SigningKey(b"e" * 32)
    giver = RepositoryName.parse("lab.example/ibi/2020/01.01.00.00")
    chain = sign_release(NO_CHAIN, item.labels, giver, evil, key.public, "0" * 128, Instant(1_800_000_000), key)
    return {link_path(link.said.number): encode_link(link) for link in countersign(chain, key).links}


def test_garbage_in_the_place_of_provenance_is_told_over_http_and_on_the_command_line(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    (tmp_path / "text.txt").write_text("text")
    with command.up() as (_, url):
        label = str(json.loads(run(command, "deposit", "text.txt", "--title", "Text", "--json"))["rep"])
        told = document(f"{url}/api/items/{label}/provenance")
        assert (told["chain"], "problem" in told) == ([], False)
        assert run(command, "verify", "--provenance", label) == f"{label}  never moved\n1 chains checked, all sound.\n"
        for garbage in (
            b"",
            b"\xff\x00",
            b"{}",
            b'{"schema": 99}',
            b"[" * 9999,
            b'{"schema": 1, "statement": "a.b.c"}',
        ):
            plant(command.data, label, {"provenance/1.json": garbage})
            told = document(f"{url}/api/items/{label}/provenance")
            assert (told["chain"], told["state"], "provenance" in str(told["problem"])) == ([], "Original", True)
            done = command("verify", "--provenance")
            assert (done.code, "1 chains checked, 1 wrong." in done.out, done.err) == (1, True, "")
        with open_store(command.data) as store:
            item = store.find(RepositoryName.parse(label))
            name = RepositoryName.parse(f"{label.rpartition('/')[0]}/01.01.00.00")
            copy = replace(life_cycle.copy(item, "evil.example"), labels=LabelForms(name))
            change = Change("Ana", "copied", Instant(1))
            store.add(PendingItem(str(name), lambda _: copy, {"text.txt": Bytes(b"text")}, change))
        plant(command.data, label, {})
        plant(command.data, str(name), forged(copy))
        words = run(command, "verify", "--provenance")
        assert "lab.example/ibi/2020/01.01.00.00 -> evil.example/ibi/2020/01.01.00.00" in words
        assert "NOT PROVEN: whose keys signed links 1, 2 is not known here; the resolver knows" in words
        assert words.endswith("1 chains checked, 1 not proven.\n")
        assert json.loads(run(command, "verify", "--provenance", "--json"))["unproven"] == [1, 2]
