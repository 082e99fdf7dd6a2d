"""What a server with many capabilities makes of what each of them registers."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.routing import Match, Route

from ibi.web.appearance import Appearance
from ibi.web.site_files import PageDirectory
from tests.support.memory.people import MemoryPeople
from tests.support.records_app import RecordsApp, records_app


def routes_of(app: RecordsApp) -> list[Route]:
    return [route for route in app.app.routes if isinstance(route, Route)]


def own_path(route: Route) -> str:
    """A path of the route: each of its parameters is a plain word."""
    return re.sub(r"{[^}]*}", "1", route.path)


async def test_every_route_takes_its_own_path(tmp_path: Path) -> None:
    appearance = Appearance(PageDirectory(tmp_path), colour="#7a1f5c")
    options = {"appearance": appearance}
    async with records_app(
        tmp_path, has_inbox=True, is_reviewed=True, people=MemoryPeople(), changes=lambda: 0, app_options=options
    ) as app:
        routes = routes_of(app)
        assert len(routes) > 80
        for route in routes:
            for method in route.methods or ("GET",):
                asked = {"type": "http", "method": method, "path": own_path(route)}
                taken = next(each for each in routes if each.matches(asked)[0] is Match.FULL)
                assert taken is route, (asked, taken.path)


async def test_the_menu_has_only_links_to_pages_of_the_server(tmp_path: Path) -> None:
    async with records_app(tmp_path, people=MemoryPeople()) as app:
        paths = {route.path for route in routes_of(app)}
        known = next(each for each in app.app.user_middleware if "facts" in each.kwargs)
        menu = [link.path for link in known.kwargs["facts"].menu]  # type: ignore[attr-defined]
        assert "/deposit" in menu
        assert "/review" not in menu
        assert set(menu) <= paths


async def test_the_jobs_of_all_capabilities_run(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        text = (await app.ask("GET", "/metrics")).body.decode()
        for job in ("minting", "drafts", "copies", "usage"):
            assert f'ibi_job_failures_total{{job="{job}"}} 0.0' in text
