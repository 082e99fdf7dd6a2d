"""How often something was read, as the command tells it."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

from tests.support.ibi_command import IbiCommand

PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ROBOT = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"


def fetch(url: str, agent: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": agent})) as answer:
        content: bytes = answer.read()
        return content


def test_people_and_robots_are_counted_apart(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    (tmp_path / "a.txt").write_text("text")
    with command.up() as (server, url):
        assert "Nothing was counted" in command("stats").out
        item = json.loads(command("deposit", "a.txt", "--title", "A", "--json").out)
        for agent in (PERSON, ROBOT):
            assert fetch(f"{url}/col/{item['rep']}/doc/a.txt", agent) == b"text"
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    counts = {"resolutions": 0, "downloads": 1, "robot_resolutions": 0, "robot_downloads": 1}
    assert json.loads(command("stats", "--json").out) == {"rep": item["rep"], **counts}
    (day,) = command("stats", item["ibip"], "--json").out.splitlines()
    found = json.loads(day)
    assert len(found.pop("date")) == len("2026-01-01")
    assert found == {"rep": item["rep"], **counts}
    table = command("stats").out.splitlines()
    assert table[0].split() == ["resolutions", "downloads", "robot", "resolutions", "robot", "downloads"]
    assert table[1].split() == [item["rep"], "0", "1", "0", "1"]
    assert command("stats", "ibi.localhost/nobody/2020/01.01.00.00").code == 1
