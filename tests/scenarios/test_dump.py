"""Dumps by the command and by a server, of one Archive."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.support.ibi_command import IbiCommand


def fetch(url: str) -> bytes:
    """The dump of a server that has just started: it is there as soon as it is whole."""
    until = time.monotonic() + 60
    while True:
        try:
            with urlopen(url) as answer:
                content = answer.read()
                assert isinstance(content, bytes)
                return content
        except HTTPError as error:
            assert error.code == 404
            assert time.monotonic() < until
            error.close()
        time.sleep(0.05)


def read(text: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    head, *records = map(json.loads, text.splitlines())
    return head, {each["labels"]["rep"]: each for each in records}


def test_a_dump_of_the_server_and_the_feed_after_it_make_the_dump_of_the_command(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    with ibi.up(IBI_ARCHIVE_DUMP="03:30") as (_, url):
        head, records = read(gzip.decompress(fetch(f"{url}/dump.ndjson.gz")))
        deposited = json.loads(ibi("deposit", "--url", "http://example.com/", "--title", "T", "--json").out)
        with urlopen(f"{url}/api/changes?epoch={head['epoch']}&after={head['after']}") as answer:
            (change,) = json.load(answer)["changes"]
        assert (change["label"], change["number"]) == (deposited["rep"], head["after"] + 1)
        file = tmp_path / "all.ndjson.gz"
        written = ibi("dump", str(file))
        assert written.code == 0, written
        later_head, later = read(gzip.decompress(file.read_bytes()))
        assert (later_head["epoch"], later_head["after"]) == (head["epoch"], head["after"] + 1)
        assert later.keys() == records.keys() | {deposited["rep"]}
        assert later.items() >= records.items()
        assert f"{len(later)} records, epoch {head['epoch']}, up to change {later_head['after']}" in written.err
    printed = ibi("dump")
    assert read(printed.out.encode())[1] == later
    refused = ibi("dump", str(tmp_path / "nowhere" / "file"))
    assert (refused.code, "Traceback" in refused.err) == (1, False), refused
