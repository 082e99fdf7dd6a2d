"""Earlier versions on the command line, on a data directory and through a server."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from ibi.command.root import app


def run(data: Path, *arguments: str) -> Result:
    sandbox = {
        "IBI_MINT_HOST": "ibi.localhost",
        "IBI_MINT_IP": "127.0.0.1",
        "IBI_MINT_HOST_PORT": "8765",
        "IBI_MINT_IP_PORT": "8765",
        "IBI_MINT_SANDBOX": "true",
        "IBI_LOCK_DIR": str(data.parent / "locks"),  # each test has an identity that others have too
    }
    return CliRunner(env=sandbox).invoke(app, [*arguments, "--data", str(data)])


def test_an_item_is_updated_looked_at_as_it_was_and_restored(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "a.txt"
    file.write_text("first")
    rep = json.loads(run(data, "deposit", str(file), "--title", "First", "--json").output)["rep"]
    file.write_text("second")
    assert run(data, "update", rep, str(file), "--title", "Second", "--message", "a slip").exit_code == 0
    listed = [json.loads(line) for line in run(data, "versions", rep, "--json").output.splitlines()]
    assert [(each["number"], each["message"], each["files_changed"]) for each in listed] == [
        (2, "a slip", ["a.txt"]),
        (1, "Deposited", []),
    ]
    shown = run(data, "versions", rep).output
    assert "a slip  (current)" in shown
    assert "changed: metadata.title" in shown
    assert "First" in run(data, "show", rep, "--version", "1").output
    assert run(data, "show", rep, "--version", "7").exit_code == 1
    restored = json.loads(run(data, "restore", rep, "--version", "1", "--json").output)
    assert restored["version"] == 3
    assert "First" in run(data, "show", rep).output
    assert run(data, "verify").exit_code == 0
    refused = run(data, "restore", rep, "--version", "3")
    assert refused.exit_code != 0
