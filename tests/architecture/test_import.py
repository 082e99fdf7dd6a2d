"""What `import ibi` costs a program that only parses labels, and `ibi explain` a person who reads one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ibi

IMPORT = "import ibi"
EXPLAIN = """
import contextlib, io
from ibi.command import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["explain", "8JMKD3MGP8W/34PGRBS"])
"""
ASK = """
import json, sys
before = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules_loaded_by(code: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", ASK.format(code=code)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


def test_import_ibi_loads_no_third_party_module() -> None:
    roots = {name.partition(".")[0] for name in modules_loaded_by(IMPORT)}
    assert roots - sys.stdlib_module_names == {"ibi"}


def test_import_ibi_loads_no_heavy_module() -> None:
    heavy = {"asyncio", "email", "http", "ipaddress", "sqlite3", "ssl", "urllib.request"}
    assert not heavy & modules_loaded_by(IMPORT)


@pytest.mark.parametrize("code", [IMPORT, EXPLAIN])
def test_neither_import_nor_explain_loads_a_table_of_the_package(code: str) -> None:
    assert "ibi.standard.package_data" not in modules_loaded_by(code)


def test_a_table_is_read_when_it_is_first_asked_for() -> None:
    modules = "ibi.items.rules.licences, ibi.usage.rules.referrers, ibi.items.model.item_types"
    read_by = "pkgutil"
    assert read_by not in modules_loaded_by(f"import {modules}")
    assert read_by in modules_loaded_by(f"import {modules}\nibi.items.model.item_types.coar_types()")


def test_import_ibi_loads_neither_links_nor_messages_before_they_are_used() -> None:
    loaded = modules_loaded_by(IMPORT)
    assert (
        not {
            "ibi.standard.messages",
            "ibi.standard.pairs",
            "ibi.standard.persistent_url",
            "ibi.standard.relation",
            "dataclasses",
        }
        & loaded
    )
    assert "ibi.standard.persistent_url" in modules_loaded_by("import ibi\nibi.PersistentUrl")


def test_a_command_on_a_store_loads_no_event_loop_and_no_logging_of_servers() -> None:
    """In a loop of deposits, starting the command is nearly all that each of them costs."""
    loaded = modules_loaded_by(
        "import ibi.deposits.cli.deposit, ibi.deposits.cli.local_deposit, ibi.command.local_items"
    )
    assert not {"asyncio", "logging", "rich", "ssl", "starlette", "structlog"} & loaded


def test_every_export_is_there_and_is_listed() -> None:
    assert set(ibi.__all__) <= set(dir(ibi))
    for name in ibi.__all__:
        assert getattr(ibi, name) is not None


def test_a_name_that_is_not_exported_is_missed_like_any_other() -> None:
    with pytest.raises(AttributeError, match="module 'ibi' has no attribute 'ArchiveSite'"):
        ibi.ArchiveSite  # type: ignore[attr-defined]  # noqa: B018


def test_explain_loads_nothing_that_would_make_it_slow() -> None:
    roots = {name.partition(".")[0] for name in modules_loaded_by(EXPLAIN)}
    assert "click" in roots
    assert not {"aiohttp", "asyncio", "msgspec", "rich", "sqlite3", "starlette", "structlog"} & roots
