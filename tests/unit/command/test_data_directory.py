"""A data directory that is not there: a command says so, and makes none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.command import main

LINK = "http://urlib.net/8JMKD3MGP8W/34PGRBS"
COMMANDS = [
    "token create --scope read",
    "token list",
    "token revoke x",
    "person create ana --role admin",
    "person list",
    "person link ana",
    "resolver list",
    "resolver forget sid.inpe.br/mtc-m18/2009/02.16.17.46",
    f"resolve {LINK}",
    f"trace {LINK}",
    "stats",
    "mint",
    "mint --identity",
    "mint --verify-log",
    "archive init",
    "archive status",
    "deposit /dev/null --title T",
    "show sid.inpe.br/mtc-m18/2009/02.16.17.46",
    "verify",
    "rebuild",
]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command refuses."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (1, "", 1), said
    return said.err


@pytest.fixture(autouse=True)
def _locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IBI_LOCK_DIR", str(tmp_path / "locks"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistyped_data_directory_is_refused_and_not_made(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typo = tmp_path / "ibi-dta"
    said = refused([*command.split(), "--data", str(typo)], capsys)

    assert f"there is no data directory {typo}" in said
    assert not typo.exists()


@pytest.mark.parametrize("command", ["token list", "person list", "resolver list", "mint --verify-log"])
def test_a_mistyped_data_directory_is_not_made_because_an_identity_is_given(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBI_MINT_HOST", "ids.urlib.net")
    refused([*command.split(), "--data", str(tmp_path / "ibi-dta")], capsys)

    assert not (tmp_path / "ibi-dta").exists()


def test_a_new_directory_is_made_by_what_mints_in_a_given_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IBI_MINT_HOST", "ids.urlib.net")
    with pytest.raises(SystemExit) as ended:
        main(["mint", "--data", str(tmp_path / "new")])

    assert ended.value.code == 0
    assert (tmp_path / "new" / "mint").is_dir()
