"""The newest dump over HTTP. Short: what is in it is tested where it is made."""

from __future__ import annotations

import gzip
from pathlib import Path

from ibi.harvesting.store import DumpDirectory
from tests.support.asgi_client import ask
from tests.support.records_app import records_app


async def test_the_newest_dump_is_sent_whole_or_in_parts(tmp_path: Path) -> None:
    files = DumpDirectory(tmp_path)
    async with records_app(tmp_path, dumps=files) as app:
        assert (await ask(app.app, "GET", "/dump.ndjson.gz")).status == 404
        files.write("ab-1", [b"one\n", b"two\n"])
        answer = await ask(app.app, "GET", "/dump.ndjson.gz")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/gzip")
        assert "content-encoding" not in answer.headers
        assert gzip.decompress(answer.body) == b"one\ntwo\n"
        part = await ask(app.app, "GET", "/dump.ndjson.gz", {"range": "bytes=2-5"})
        assert (part.status, part.body) == (206, answer.body[2:6])
        head = await ask(app.app, "HEAD", "/dump.ndjson.gz")
        assert (head.status, head.headers["content-length"]) == (200, str(len(answer.body)))


async def test_a_server_that_writes_none_has_none(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert (await ask(app.app, "GET", "/dump.ndjson.gz")).status == 404
