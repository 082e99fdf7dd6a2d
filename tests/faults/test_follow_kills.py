"""A follower that is killed again and again, while its source changes, loses nothing. `SOAK_FOLLOW=50` kills it
that often; otherwise one kill is tried, by the scenario of two Archives."""

from __future__ import annotations

import json
import os
import random
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread

import pytest

from ibi.standard.label import parse
from tests.scenarios.test_follow import Source, get, run, until
from tests.support.ibi_command import IbiCommand

KILLS = int(os.environ.get("SOAK_FOLLOW", "0"))


class Editor:
    """Deposits, updates and deletes items of the source until it is stopped."""

    def __init__(self, source: Source, folder: Path, seed: int) -> None:
        self._source, self._folder, self._chance = source, folder, random.Random(seed)
        self.contents: dict[str, str | None] = {}
        """What each item has now; None if it was deleted."""
        self.stopped = Event()
        self.thread = Thread(target=self._edit, daemon=True)
        self.thread.start()

    def _edit(self) -> None:
        turn = 0
        while not self.stopped.wait(0.05):
            turn += 1
            act, living = self._chance.random(), [label for label, text in self.contents.items() if text is not None]
            if act < 0.5 or not living:
                self.contents[self._source.deposit(f"turn {turn}")] = f"turn {turn}"
            elif act < 0.9:
                label = self._chance.choice(living)
                self._source.update(label, f"turn {turn}", self._folder)
                self.contents[label] = f"turn {turn}"
            else:
                label = self._chance.choice(living)
                self._source.client.delete(parse(label), "withdrawn", None, purge=False)
                self.contents[label] = None


@pytest.mark.skipif(KILLS == 0, reason="SOAK_FOLLOW says how often")
def test_no_kill_of_the_follower_loses_a_change(tmp_path: Path) -> None:
    source_command, follower = (IbiCommand(tmp_path / name, log=tmp_path / f"{name}.log") for name in ("a", "b"))
    for command in (source_command, follower):
        command.home.mkdir()
    chance = random.Random(KILLS)
    with ExitStack() as opened:
        source = Source(source_command, opened.enter_context(source_command.up())[1])
        with follower.up():
            run(follower, "follow", "--all", "--from", source.url)
        editor = Editor(source, tmp_path, KILLS)
        for _ in range(KILLS):
            with follower.up() as (server, _):
                Event().wait(chance.random() * 2)  # anywhere in its work
                server.kill()
                server.wait(30)
        editor.stopped.set()
        editor.thread.join(60)
        with follower.up() as (_, url):
            for label, text in editor.contents.items():
                if text is None:
                    until(lambda label=label: _is_settled(url, label))  # type: ignore[misc]
                else:
                    until(lambda label=label, text=text: _content(url, label) == text)  # type: ignore[misc]
        listed = json.loads(run(follower, "follow", "list", "--json"))
        assert listed["refused"] == 0
    assert len(editor.contents) > KILLS


def _content(url: str, label: str) -> str:
    return get(url, f"/api/items/{label}/files/file.txt")[1].decode()


def _is_settled(url: str, label: str) -> bool:
    """Whether a deleted item never came, or says that it was deleted."""
    status, body = get(url, f"/api/items/{label}")
    return status == 404 or b"withdrawn" in body
