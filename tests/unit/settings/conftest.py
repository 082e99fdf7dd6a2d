"""Settings are looked for in `./ibi-data` by default, so each of these tests has a working directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_working_directory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("empty")
    monkeypatch.chdir(place)
    return place
