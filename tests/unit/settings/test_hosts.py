"""Host names in the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.settings import load_settings
from ibi.settings.errors import InvalidSetting


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("old.example.org", ("old.example.org",)),
        (" Old.Example.org.  backend:8765 ", ("old.example.org.", "backend:8765")),
        ("my_service:80 [2001:db8::1]:81 192.0.2.1", ("my_service:80", "[2001:db8::1]:81", "192.0.2.1")),
    ],
)
def test_names_with_blanks_between(text: str, hosts: tuple[str, ...], tmp_path: Path) -> None:
    assert load_settings({"data": tmp_path}, {"IBI_HOSTS": text}).hosts == hosts


@pytest.mark.parametrize(
    "text", ["https://a.org", "a.org/", "*.a.org", "a.org:0", "a.org:65536", "a:b", "-a", "a, b", "ç.br"]
)
def test_what_is_no_name_is_refused_by_its_own_words(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="host names like"):
        load_settings({"data": tmp_path}, {"IBI_HOSTS": text})
