"""`make sbom`: a bill of materials that others can read, made of the lock."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "run.txt"
SCRIPT = ROOT / "tools" / "sbom.py"


def written(target: Path, lock: Path = LOCK) -> str:
    subprocess.run([sys.executable, str(SCRIPT), str(lock), str(target)], check=True, timeout=60)
    return target.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("sbom") / "deep" / "ibi.cdx.json", LOCK)


def test_the_bill_of_materials_is_valid_by_the_schema_of_cyclonedx(text: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_the_bill_of_materials_lists_what_the_lock_does_and_every_hash(text: str) -> None:
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE))
    components = json.loads(text)["components"]
    assert {each["name"]: each["version"] for each in components} == locked
    hashes = re.findall(r"sha256:([0-9a-f]{64})", LOCK.read_text(encoding="utf-8"))
    assert [each["content"] for one in components for each in one["hashes"]] == hashes


def test_the_bill_of_materials_names_the_files_of_others_in_the_package_and_their_licence(text: str) -> None:
    (styles,) = json.loads(text)["metadata"]["component"]["components"]
    assert styles["licenses"] == [{"license": {"id": "CC-BY-SA-3.0"}}]
    assert (ROOT / "src" / styles["bom-ref"] / "LICENSE.md").is_file()


def test_what_runs_is_told_from_what_only_installs(text: str) -> None:
    scopes = {each["name"]: each["scope"] for each in json.loads(text)["components"]}
    assert {scopes[name] for name in ("starlette", "anyio", "jinja2", "uvloop")} == {"required"}
    assert {scopes[name] for name in ("uv", "hatchling", "editables")} == {"excluded"}


def test_the_bill_of_materials_names_no_machine_and_no_registry(text: str) -> None:
    urls = set(re.findall(r"https?://[^\"/]+", text))
    assert urls == {"http://cyclonedx.org"}
    assert "file:" not in text
    assert str(ROOT) not in text


def test_the_same_lock_gives_the_same_bill(text: str, tmp_path: Path) -> None:
    assert written(tmp_path / "again.json") == text


def test_a_line_that_is_no_pin_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("starlette>=1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(lock), str(tmp_path / "x")], check=False, capture_output=True, timeout=60
    )
    assert done.returncode
    assert not (tmp_path / "x").exists()
