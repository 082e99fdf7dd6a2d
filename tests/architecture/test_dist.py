"""`make dist`: what it builds is whole. Nothing here reaches the network; the target itself also builds all twice, and
starts a server from the wheel in an empty environment."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

import pytest

import ibi
from tools.dist import ROOT, ReleaseError, build, check_wheel, lock_to_run, package_version, release_notes


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = build(tmp_path_factory.mktemp("dist"))
    return {"wheel" if path.suffix == ".whl" else "sources": path for path in made}


def test_the_wheel_has_the_whole_package_and_the_version_of_the_sources(built: dict[str, Path]) -> None:
    check_wheel(built["wheel"])
    assert built["wheel"].name == f"ibi-{package_version()}-py3-none-any.whl"
    assert package_version() == ibi.__version__


def test_the_wheel_has_the_licence_of_every_file_of_others(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as packed:
        names = {name.partition("/")[2] for name in packed.namelist() if ".dist-info/licenses/" in name}
    assert names == {"licenses/LICENSE", "licenses/src/ibi/citation/csl/LICENSE.md"}


def test_a_wheel_that_lacks_a_file_is_refused(built: dict[str, Path], tmp_path: Path) -> None:
    poor = tmp_path / built["wheel"].name
    with zipfile.ZipFile(built["wheel"]) as whole, zipfile.ZipFile(poor, "w") as packed:
        for name in whole.namelist():
            if name != "ibi/py.typed":
                packed.writestr(name, whole.read(name))
    with pytest.raises(ReleaseError, match=r"lacks \['ibi/py.typed'\]"):
        check_wheel(poor)


def test_the_sources_have_what_an_operator_reads_and_installs_with(built: dict[str, Path]) -> None:
    with tarfile.open(built["sources"]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {"requirements/run.txt", "CHANGELOG.md", "SECURITY.md", "docs/operations.md", "deploy/systemd/ibi.service"}
    assert wanted <= names


def test_the_lock_of_a_release_has_what_runs_and_not_what_builds() -> None:
    names = set(re.findall(r"^([a-z0-9-]+)==", lock_to_run(ibi.__version__), re.MULTILINE))
    whole = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE))
    assert {"uvicorn", "starlette", "cryptography", "cffi"} <= names
    assert names.isdisjoint({"uv", "hatchling", "editables"})
    assert names <= whole


def test_every_entry_of_the_lock_keeps_its_hashes_and_its_marker() -> None:
    whole = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=\S)", lock_to_run(ibi.__version__).rstrip("\n")):
        assert entry in whole


def test_a_version_without_notes_in_the_changelog_is_refused() -> None:
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-01\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n"
    )
    assert release_notes(changelog, "0.2.0") == "## [0.2.0] - 2027-01-01\n\n- New.\n"
    assert release_notes(changelog, "0.1.0") == "## [0.1.0] - 2026-01-01\n\n- Old.\n"
    with pytest.raises(ReleaseError, match=r"says nothing of 0\.3\.0"):
        release_notes(changelog, "0.3.0")
