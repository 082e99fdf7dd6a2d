"""How a resolver is put together from the settings, and what a server says that starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.app.cli.server import _welcome
from ibi.resolver.opening.resolver import archive_budgets
from ibi.settings import load_settings
from ibi.standard.identity import Identity


@pytest.mark.parametrize(("budget", "total"), [(None, 5.0), ("2", 5.0), ("20", 20.0)])
def test_archives_have_as_long_as_a_resolution_may_take(tmp_path: Path, budget: str | None, total: float) -> None:
    environ = {} if budget is None else {"IBI_RESOLVE_BUDGET": budget}
    assert archive_budgets(load_settings({"data": tmp_path}, environ)).total == total


@pytest.mark.parametrize(("given", "connections"), [(None, 32), ("3", 3)])
def test_an_archive_has_as_many_connections_as_are_allowed(tmp_path: Path, given: str | None, connections: int) -> None:
    environ = {} if given is None else {"IBI_RESOLVE_CONNECTIONS_PER_ARCHIVE": given}
    assert archive_budgets(load_settings({"data": tmp_path}, environ)).connections == connections


def test_a_server_that_starts_shows_the_public_address_beside_its_own() -> None:
    settings = load_settings({"public_url": "https://archive.example.org/", "data": "data"}, {})
    identity = Identity("ibi.inpe.br", "150.163.34.243")
    first, second, *_ = _welcome("http://127.0.0.1:8765", settings, identity, None, None)
    assert first.endswith("is up: http://127.0.0.1:8765")
    assert second == "  public    https://archive.example.org/, by which others know it (public_url)"
