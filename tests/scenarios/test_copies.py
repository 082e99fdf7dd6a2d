"""Copies between real processes: two Archives on one machine, and the commands of a person."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

from tests.support.ibi_command import IbiCommand


def test_items_are_copied_refreshed_and_dropped_between_two_archives(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("there", "here")]
    for home in homes:
        home.mkdir()
    there, here = map(IbiCommand, homes)
    (tmp_path / "small.txt").write_bytes(b"small")
    (tmp_path / "large.bin").write_bytes(bytes(range(256)) * 8192)
    with there.up() as (_, url), here.up() as (_, served):
        paths = [str(tmp_path / name) for name in ("small.txt", "large.bin")]
        one = json.loads(there("deposit", paths[0], "--title", "One", "--json").out)
        two = json.loads(there("deposit", *paths, "--title", "Two", "--allow", "10.0.0.0/8", "--json").out)

        refused = here("copy", one["ibip"], two["rep"], "--from", url)
        assert refused.code == 1
        assert refused.out == f"{one['rep']} is a Copy here\n"
        assert "needs a valid token" in refused.err

        token = json.loads(there("token", "create", "--scope", "copy", "--json").out)["token"]
        copied = here("copy", two["rep"], "--from", url, IBI_COPIES_TOKEN=token)
        assert (copied.code, copied.out) == (0, f"{two['rep']} is a Copy here\n"), copied.err

        shown = json.load(urlopen(f"{served}/api/items/{one['rep']}"))
        assert (shown["state"], shown["labels"]["ibip"]) == ("Copy", one["ibip"])
        assert urlopen(f"{served}/api/items/{one['rep']}/files/small.txt").read() == b"small"

        there("update", one["rep"], "--title", "One, corrected")
        there("delete", two["rep"], "--reason", "withdrawn")
        refreshed = here("refresh", IBI_COPIES_TOKEN=token)
        assert sorted(refreshed.out.splitlines()) == sorted(
            [f"{one['rep']} is refreshed", f"{two['rep']} is deleted at its Original"]
        )
        page = urlopen(f"{served}/col/{two['rep']}/metadata").read().decode()
        assert "withdrawn" in page

        assert here("drop", two["rep"]).code == 0
        assert here("show", two["rep"]).code == 1
        assert here("verify").code == 0
