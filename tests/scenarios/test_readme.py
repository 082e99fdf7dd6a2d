"""The README's tour, typed into a shell beside a running server; and the sample of docs/settings.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.ibi_command import IbiCommand

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = README.partition("## A short tour")[2].partition("## More")[0]
PORT = "8765"
LABEL = re.compile(r"localhost/ibi\.\d+/\d{4}/[\d.]*\d|LK47B6W\w+/\w+")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def steps() -> Iterator[tuple[str, str]]:
    """Each command of the tour, and what is printed below it."""
    for block in re.findall(r"```console\n(.*?)```", TOUR, re.DOTALL):
        for step in block.split("$ ")[1:]:
            command, _, shown = step.partition("\n")
            yield command, shown


class Reader:
    """Types the commands of the README. What is new each time is put in the place of what the README shows."""

    def __init__(self, command: IbiCommand, url: str) -> None:
        self._port = str(urlsplit(url).port)
        self._labels: dict[str, str] = {}
        # Of a person who has just cloned the project: `ibi` is not on the path.
        path = [each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != Path(sys.executable).parent]
        self._shell = {"cwd": command.home, "env": command.environment(PATH=os.pathsep.join(path))}
        self._before: list[str] = []

    def type(self, command: str) -> str:
        """What a command prints; a variable that an earlier one has set is still set."""
        command = LABEL.sub(lambda label: self._labels.get(label[0], label[0]), command)
        command = command.replace(f":{PORT}", f":{self._port}")
        needed = [each for each in self._before if each.startswith(".") or "$TOKEN" in command]
        if re.match(r"[A-Z]+=|\. ", command):
            self._before.append(command)
        done = subprocess.run(  # type: ignore[call-overload]
            ["/bin/bash", "-e", "-o", "pipefail", "-c", "\n".join([*needed, command])],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **self._shell,
        )
        assert done.returncode == 0, (command, done)
        errors = "" if "curl" in command else done.stderr  # where curl shows its progress
        return str(done.stdout) + str(errors)

    def compare(self, shown: str, printed: str) -> None:
        """The README shows what was printed, but for labels, ports and instants; they are remembered."""
        self._labels |= dict(zip(LABEL.findall(shown), LABEL.findall(printed), strict=True))
        assert self._settled(printed) == self._settled(shown)

    def _settled(self, text: str) -> str:
        text = INSTANT.sub("INSTANT", LABEL.sub("LABEL", text)).replace(f":{self._port}", f":{PORT}")
        return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="the tour is typed into bash")
def test_the_tour_is_what_happens(tmp_path: Path) -> None:
    command, done = IbiCommand(tmp_path), []
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    with command.up() as (_, url):
        reader = Reader(command, url)
        for typed, shown in steps():
            printed = reader.type(typed)
            reader.compare(shown, printed)
            done.append(typed.split()[0])
    assert done.count("ibi") >= 4
    assert done.count("curl") == 2


def test_the_sample_of_the_settings_starts_a_server(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    sample = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert sample
    command = IbiCommand(tmp_path)
    command.data.mkdir()
    (command.data / "ibi.toml").write_text(sample[1], encoding="utf-8")
    with command.up():
        minted = command("mint", "--json")
    assert minted.code == 0, minted
    assert json.loads(minted.out)["rep"].startswith("example.org/ids/")
