"""The first `ibi.toml`: true, whole, and never in the place of another."""

from __future__ import annotations

import os
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.settings import SETTINGS, SettingsFileUnwritable, load_settings, write_initial_toml
from ibi.standard.errors import InvalidLabel
from ibi.standard.identity import Identity

SANDBOX = Identity.of_sandbox(8765)
IDENTITIES = [
    SANDBOX,
    Identity("ibi.inpe.br", "150.163.34.243"),
    Identity("ibi.inpe.br"),
    Identity("a.br", "2001:db8::1"),
]


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda identity: identity.key)
def test_what_is_written_is_read_back(tmp_path: Path, identity: Identity) -> None:
    assert write_initial_toml(tmp_path / "data" / "ibi.toml", identity) is True
    settings = load_settings({"data": tmp_path / "data"}, {})
    assert settings.identity() == identity
    assert settings.rules() == load_settings({}, {}).rules()
    assert settings.port == 8765


def test_a_sandbox_says_what_it_is(tmp_path: Path) -> None:
    write_initial_toml(tmp_path / "s.toml", SANDBOX)
    write_initial_toml(tmp_path / "g.toml", IDENTITIES[1])
    assert "others may have the same" in (tmp_path / "s.toml").read_text()
    assert "others may have the same" not in (tmp_path / "g.toml").read_text()


def test_every_setting_of_the_file_stands_there_with_its_help_and_default(tmp_path: Path) -> None:
    write_initial_toml(tmp_path / "ibi.toml", SANDBOX)
    text = (tmp_path / "ibi.toml").read_text()
    for one in SETTINGS:
        assert (one.help in text) is (one.in_file and one.name != "data")


def test_the_defaults_in_the_comments_are_the_defaults(tmp_path: Path) -> None:
    write_initial_toml(tmp_path / "ibi.toml", SANDBOX)
    lines = (tmp_path / "ibi.toml").read_text().splitlines()
    uncommented = [line.removeprefix("# ") for line in lines if not line.startswith("# ") or " = " in line]
    values = [line for line in uncommented if "sandbox = false" not in line]
    (tmp_path / "all.toml").write_text("\n".join(values))
    tomllib.loads("\n".join(values))
    everything = load_settings({"config": tmp_path / "all.toml"}, {})
    few = load_settings({"data": tmp_path}, {})
    assert (everything.host, everything.port, everything.log_level) == (few.host, few.port, few.log_level)
    assert (everything.log_format, everything.mint) == (few.log_format, few.mint)
    assert len(everything.sources) - len(few.sources) == 0
    assert sum(map(bool, everything.sources.values())) > sum(map(bool, few.sources.values()))


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "ibi.toml").write_text("port = 1")
    assert write_initial_toml(tmp_path / "ibi.toml", SANDBOX) is False
    assert (tmp_path / "ibi.toml").read_text() == "port = 1"
    assert [path.name for path in tmp_path.iterdir()] == ["ibi.toml"]


def test_even_a_link_that_leads_nowhere_stays(tmp_path: Path) -> None:
    (tmp_path / "ibi.toml").symlink_to(tmp_path / "nowhere")
    assert write_initial_toml(tmp_path / "ibi.toml", SANDBOX) is False
    assert not (tmp_path / "nowhere").exists()


def test_of_many_at_once_one_writes_and_none_sees_half(tmp_path: Path) -> None:
    path = tmp_path / "data" / "ibi.toml"

    def write(port: int) -> tuple[bool, Identity | None]:
        return write_initial_toml(path, Identity.of_sandbox(port)), load_settings({"data": path.parent}, {}).identity()

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(write, range(1000, 1040)))
    assert sum(written for written, _ in outcomes) == 1
    assert len({identity for _, identity in outcomes}) == 1
    assert [one.name for one in path.parent.iterdir()] == ["ibi.toml"]


def test_a_directory_that_is_made_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write_initial_toml(tmp_path / "data" / "ibi.toml", SANDBOX)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_disk_that_refuses_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(SettingsFileUnwritable, match=r"ibi\.toml cannot be written: No space left on device"):
        write_initial_toml(tmp_path / "ibi.toml", SANDBOX)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(SettingsFileUnwritable):
        write_initial_toml(tmp_path / "data" / "ibi.toml", SANDBOX)


def test_a_malformed_identity_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidLabel):
        write_initial_toml(tmp_path / "ibi.toml", Identity('a"\nx = 1'))
    assert list(tmp_path.iterdir()) == []
