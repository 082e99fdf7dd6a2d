"""Two servers of one data directory at different addresses: the Archive's own item leads to the first."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

from tests.support.ibi_command import IbiCommand


def own_item(ibi: IbiCommand, rep: str) -> tuple[str, int]:
    """The URL of the item, and its version."""
    shown = json.loads(ibi("show", rep, "--json").out)["item"]
    return str(shown["target_url"]), int(shown["version"])


def test_the_second_server_leaves_the_item_of_the_archive_and_says_so(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path, log=tmp_path / "log.txt")
    with ibi.up("--log-level", "warning") as (_, first):
        rep = json.loads(ibi("archive", "status", "--json").out)["rep"]
        before = own_item(ibi, rep)
        assert before == (f"{first}/", 1)
        with ibi.up("--log-level", "warning") as (server, second):
            assert second != first
            said = [server.stdout.readline() for _ in range(8)] if server.stdout else []
            assert any(first in line and "another server" in line for line in said), said
            assert own_item(ibi, rep) == before
            with urlopen(f"{second}/api/identity", timeout=30) as answer:  # serves all the same
                assert answer.status == 200
        assert "the item of this Archive stays there" in ibi.log_text
        assert first in ibi.log_text
    assert ibi.log_text.count("stays there") == 1
    with ibi.up() as (_, third):  # alone again: the item follows
        assert own_item(ibi, rep) == (f"{third}/", 2 if third != first else 1)
