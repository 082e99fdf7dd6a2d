"""The feed of changes between real processes: deposited by commands, read through a server and by a command."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

from tests.support.ibi_command import IbiCommand


def test_what_one_process_deposits_another_one_tells_its_readers(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    with ibi.up("--port", "0") as (_, url):
        before = json.load(urlopen(f"{url}/api/changes"))
        deposited = json.loads(ibi("deposit", "--url", "http://example.com/", "--title", "T", "--json").out)
        place = before["links"]["next"] + "&wait=30"
        page = json.load(urlopen(place))
        assert [(each["label"], each["kind"]) for each in page["changes"]] == [(deposited["rep"], "put")]
        told = [json.loads(line) for line in ibi("changes", "--json").out.splitlines()]
        assert [each["number"] for each in told] == list(range(1, len(told) + 1))
        assert told[-1] == {"epoch": page["epoch"], **page["changes"][0]}
        after = ibi("changes", "--after", str(page["end"]))
        assert (after.code, after.out) == (0, "")
