"""One setting of `ibi.toml` is changed, and all else in it stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ibi.settings import FILE_NAME, change_setting, load_settings
from ibi.settings.errors import SettingsFileUnwritable

NEW = "https://new.example.org"


def changed(directory: Path, before: str | None) -> str:
    path = directory / FILE_NAME
    if before is not None:
        path.write_text(before)
    change_setting(path, "public_url", NEW)
    assert load_settings({"data": str(directory)}, {}).public_url == NEW
    return path.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f'public_url = "{NEW}"\n'),
        ("", f'public_url = "{NEW}"\n'),
        ('public_url = "http://old"  # here\nport = 80\n', f'public_url = "{NEW}"\nport = 80\n'),
        ("# Where.\n# public_url =\n\n# port = 1\n", f'# Where.\npublic_url = "{NEW}"\n\n# port = 1\n'),
        ("port = 80\n[mint]\n# public_url =\n", f'public_url = "{NEW}"\nport = 80\n[mint]\n# public_url =\n'),
    ],
)
def test_the_line_of_a_setting_is_changed_or_added(tmp_path: Path, before: str | None, after: str) -> None:
    assert changed(tmp_path, before) == after


@pytest.mark.parametrize(
    "before",
    [
        "public_url = '''\nhttp://old'''\n",
        '"public_url" = "http://old"\n',
        "port = [\n",
        'x = """\npublic_url = "http://a"\n"""\n',
    ],
)
def test_a_file_that_cannot_be_changed_by_one_line_stays_as_it_is(tmp_path: Path, before: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(before)
    with pytest.raises(SettingsFileUnwritable):
        change_setting(path, "public_url", NEW)
    assert path.read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


def test_who_may_read_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text("port = 80\n")
    path.chmod(0o600)
    change_setting(path, "public_url", NEW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
