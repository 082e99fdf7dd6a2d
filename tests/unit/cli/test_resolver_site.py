"""How a resolver is put together from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.composition.resolver_site import archive_budgets
from ibi.config import load_settings


@pytest.mark.parametrize(("budget", "total"), [(None, 5.0), ("2", 5.0), ("20", 20.0)])
def test_archives_have_as_long_as_a_resolution_may_take(tmp_path: Path, budget: str | None, total: float) -> None:
    environ = {} if budget is None else {"IBI_RESOLVE_BUDGET": budget}
    assert archive_budgets(load_settings({"data": tmp_path}, environ)).total == total


@pytest.mark.parametrize(("given", "connections"), [(None, 32), ("3", 3)])
def test_an_archive_has_as_many_connections_as_are_allowed(tmp_path: Path, given: str | None, connections: int) -> None:
    environ = {} if given is None else {"IBI_RESOLVE_CONNECTIONS_PER_ARCHIVE": given}
    assert archive_budgets(load_settings({"data": tmp_path}, environ)).connections == connections
