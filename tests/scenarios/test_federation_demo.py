"""`ibi up --demo=federation` as a person starts it: three links, a dispute, and no process left at the end."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ibi_command import IbiCommand

LIMIT = 300.0
"""Seconds for what takes some: it is a dozen commands and four servers, also on a machine with other work."""


def ask(url: str) -> tuple[int, str | None, bytes]:
    where = urlsplit(url)
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=LIMIT)) as connection:
        connection.request("GET", where.path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("location"), answer.read()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def processes_in(directory: Path) -> list[str]:
    """The numbers of processes whose working directory this is."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if (each / "cwd").readlink() == directory:
                found.append(each.name)
    return found


def test_the_links_of_a_demonstrated_federation_work_and_it_stops_as_a_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = IbiCommand(tmp_path, log=tmp_path / "federation.log")
    demo = command.start("up", "--demo=federation", "--port", "0", "--data", str(data))
    assert demo.stdout is not None
    try:
        said = "".join(iter(demo.stdout.readline, "Ctrl-C stops all of them.\n"))
        sites = dict(re.findall(r"^  (resolver|amazonia|cerrado|pampa) +(http://\S+)/ ", said, re.MULTILINE))
        links = dict(re.findall(r"^  (copied|moved|disputed) .*\n +(http://\S+)$", said, re.MULTILINE))
        assert (len(sites), len(links)) == (4, 3), (said, command.log_text)

        holders = {"copied": "amazonia", "moved": "pampa", "disputed": "amazonia"}
        for step, name in holders.items():
            status, location, _ = ask(links[step])
            assert (status, (location or "").startswith(f"{sites[name]}/col/")) == (302, True), (step, location)
            assert ask(str(location))[0] == 200

        label = urlsplit(links["disputed"]).path.strip("/")
        until(lambda: any(each["label"] == label for each in disputes(sites["resolver"])))
        assert label.encode() in ask(f"{sites['resolver']}/disputes")[2]
        assert len(processes_in(tmp_path)) == len(sites) + 1
        for name in sites:  # with advice alone
            examined = command("doctor", "--data", str(data / "federation" / name))
            assert (examined.code, "Nothing is wrong with" in examined.out) == (0, True), examined
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=LIMIT)
    assert demo.returncode == 0
    assert processes_in(tmp_path) == []


def disputes(resolver: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(ask(f"{resolver}/api/disputes")[2])["disputes"]
    return found
