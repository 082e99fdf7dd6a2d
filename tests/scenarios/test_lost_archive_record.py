"""A data directory without `archive.json` begins no other Archive: it says so, and what can be done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.ibi_command import IbiCommand

NAMED = {"IBI_MINT_HOST": "lab.example", "IBI_MINT_IP": "192.0.2.10", "IBI_MINT_SANDBOX": "true"}


def test_a_lost_record_is_refused_by_server_and_commands_and_can_be_recovered(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    begun = json.loads(ibi("archive", "init", "--json", **NAMED).out)
    (tmp_path / "a.txt").write_text("content")
    assert ibi("deposit", "a.txt", "--title", "T", **NAMED).code == 0
    lost = ibi.data / "archive.json"
    lost.unlink()

    for command in (["up", "--port", "0"], ["archive", "init"], ["deposit", "a.txt", "--title", "T"]):
        refused = ibi(*command, **NAMED)
        assert refused.code == 1, refused
        (line,) = (each for each in refused.err.splitlines() if each.startswith("ibi: "))
        assert f"{lost.relative_to(tmp_path)} is gone" in line
        assert "ibi archive init --recover" in line
        assert not lost.exists()
    assert len(ibi("list", "--json", **NAMED).out.splitlines()) == 2

    recovered = ibi("archive", "init", "--recover", "--json", **NAMED)
    assert (recovered.code, json.loads(recovered.out)["rep"]) == (0, begun["rep"]), recovered
    assert lost.stat().st_mode & 0o777 == 0o600
    assert "nothing has to be recovered" in ibi("archive", "init", "--recover", **NAMED).err
    with ibi.up(**NAMED):
        assert json.loads(ibi("archive", "status", "--json", **NAMED).out)["rep"] == begun["rep"]


def test_a_server_names_the_archive_that_was_begun_where_nothing_else_tells(tmp_path: Path) -> None:
    """As in a directory of which store and mint log alone were put back, or of an earlier version."""
    rep = json.loads(IbiCommand(tmp_path)("archive", "init", "--json", **NAMED).out)["rep"]
    late = "import time; _now = time.time_ns; time.time_ns = lambda: _now() + 30 * 86400 * 10**9"
    ibi = IbiCommand(tmp_path, first=late)
    (ibi.data / "archive.json").unlink()
    (ibi.data / "directory.json").unlink()
    started = ibi("up", "--port", "0", **NAMED)
    assert started.code == 1
    assert f"ibi archive init --recover={rep}" in started.err
    assert ibi("archive", "init", f"--recover={rep}", **NAMED).code == 0


def test_lost_keys_are_refused_by_the_server_and_replaced_on_purpose(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    assert ibi("archive", "init", **NAMED).code == 0
    keys = ibi.data / "keys"
    with ibi.up(**NAMED) as (server, _):
        first = json.loads(ibi("key", "show", "--json", **NAMED).out)
        shutil.rmtree(keys)
        assert f"the key {first['archive']['key']} of the archive is gone" in ibi("key", "show", **NAMED).err
        assert not (keys / "archive.pem").exists()
        server.terminate()
        server.wait(30)
    refused = ibi("up", "--port", "0", **NAMED)
    (line,) = (each for each in refused.err.splitlines() if each.startswith("ibi: "))
    assert (refused.code, first["archive"]["key"] in line, "`ibi key replace --lost`" in line) == (1, True, True)
    assert not (keys / "archive.pem").exists()
    assert "`ibi key replace --lost`" in ibi("key", "replace", **NAMED).err
    made = ibi("key", "replace", "--lost", "--json", **NAMED)
    assert (made.code, json.loads(made.out)["former"]) == (0, first["archive"]["key"])
    assert "not lost" in ibi("key", "replace", "--lost", **NAMED).err
    assert "(lost) -> " in ibi("audit", **NAMED).out
    assert "`ibi key replace --resolver --lost`" in ibi("up", "--port", "0", **NAMED).err
    assert "is lost: who knows it has to be told" in ibi("key", "replace", "--resolver", "--lost", **NAMED).err
    with ibi.up(**NAMED):
        now = json.loads(ibi("key", "show", "--json", **NAMED).out)["archive"]
        assert (now["key"], now["former"]) == (json.loads(made.out)["key"], [first["archive"]["key"]])
