"""`ibi archive move`: what is written, what is said, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.command import main
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.store.archive_state import ArchiveRecordFile, ServedAddress
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms

BEFORE = '# Mine.\npublic_url = "https://old.example.org"\n'
NEW = "https://new.example.org:8443"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "ibi.toml").write_text(BEFORE)
    service = LabelForms.of(parse("example.org/arq/2008/03.17.15.17"))
    ArchiveRecordFile(tmp_path).write(ArchiveRecord(service, b"s" * 32))
    return tmp_path


def move(data: Path, url: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(["archive", "move", "--to", url, "--data", str(data)])
    return ended.value.code


def test_the_new_address_is_written_and_the_lines_for_the_former_host_are_shown(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not move(data, f"{NEW}/")
    assert (data / "ibi.toml").read_text() == f'# Mine.\npublic_url = "{NEW}"\n'
    said = capsys.readouterr().out
    assert "listen 443 ssl;\n    server_name old.example.org;" in said
    assert f"return 308 {NEW}$request_uri;" in said
    assert f"https://old.example.org {{\n    redir {NEW}{{uri}} 308\n}}" in said
    assert "Start its server: ibi up --data" in said


def test_a_server_that_runs_has_to_be_started_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    served = ServedAddress(data)
    served.claim("https://old.example.org")
    assert not move(data, NEW)
    served.release()
    assert "Start its server again" in capsys.readouterr().out
    assert not served.is_claimed


@pytest.mark.parametrize("url", ["new.example.org", "ftp://new.example.org", "http://new.example.org/?x", "http://"])
def test_what_is_no_address_is_refused(data: Path, url: str) -> None:
    assert move(data, url) == 2
    assert (data / "ibi.toml").read_text() == BEFORE


def test_a_variable_that_overrides_the_file_is_named(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBI_PUBLIC_URL", "http://x.example.org")
    assert move(data, NEW) == 1
    assert "IBI_PUBLIC_URL" in capsys.readouterr().err
    assert (data / "ibi.toml").read_text() == BEFORE


def test_without_an_archive_there_is_nothing_to_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert move(tmp_path, NEW) == 1
    assert "no Archive yet" in capsys.readouterr().err
