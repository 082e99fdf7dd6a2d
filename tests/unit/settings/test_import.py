"""What reading the settings costs a command that starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ASK = """
import json, sys
from pathlib import Path
from ibi.settings import load_settings
load_settings({"data": Path(sys.argv[1])}, {})
print(json.dumps(sorted(sys.modules)))
"""


def test_settings_load_nothing_heavy(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", ASK, str(tmp_path)]
    answer = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout))
    heavy = {"asyncio", "difflib", "hashlib", "ibi.people", "ibi.minting", "ibi.storage", "ibi.web"}
    heavy |= {"msgspec", "pysqlite3", "sqlite3", "ssl", "starlette", "structlog", "tempfile", "tomllib", "typer"}
    assert not heavy & loaded
