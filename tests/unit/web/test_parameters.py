"""Lists of the API refuse a parameter that they do not know, one that is given twice, and one that cannot be read."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from ibi.people.model.account import Scope
from tests.support.archive_app import REP, archive_app, kept
from tests.support.records_app import RECORDS, records_app


@pytest.mark.parametrize(
    ("place", "known"),
    [
        (RECORDS, "state=draft"),
        (f"{RECORDS}/claims", "state=pending"),
        (f"{RECORDS}/LABEL/versions", "limit=1"),
        ("/api/changes", "after=0"),
        ("/api/usage", "after=lab.br/arq/2020/01.01.00.00"),
    ],
)
async def test_an_unknown_parameter_and_one_given_twice_are_named(tmp_path: Path, place: str, known: str) -> None:
    async with records_app(tmp_path, changes=lambda: 0) as app:
        place = place.replace("LABEL", (await app.deposit())["rep"])
        assert (await app.ask("GET", f"{place}?{known}")).status == 200
        name = known.partition("=")[0]
        for query, field in ((f"{known}&colour=red", "colour"), (f"{known}&{known}", name)):
            refused = await app.ask("GET", f"{place}?{query}")
            assert (refused.status, refused.json()["field"]) == (400, field), query
            assert refused.json()["type"] == "urn:ibi:problem:invalid-parameter"


@pytest.mark.parametrize("year", ["abc", "", "..", "20090", "２００９"])
async def test_a_year_that_is_none_is_refused(year: str) -> None:
    app = archive_app(kept(REP))
    refused = await app.get(f"{RECORDS}?year={quote(year)}")
    assert (refused.status, refused.json()["field"]) == (400, "year")
    assert "a year such as 2009" in refused.json()["detail"]


async def test_a_search_refuses_what_it_does_not_know_and_takes_filters_several_times() -> None:
    app = archive_app(kept(REP))
    assert (await app.get(f"{RECORDS}?q=x&year=2009&year=2010&creator=a&creator=b")).status == 200
    for query, field in (("q=x&colour=red", "colour"), ("q=x&q=y", "q"), ("facets=true&facets=true", "facets")):
        refused = await app.get(f"{RECORDS}?{query}")
        assert (refused.status, refused.json()["field"]) == (400, field)


async def test_a_change_asked_for_in_the_query_is_said_once(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        admin = app.bearer(Scope.ADMIN, "adm")
        for query in ("reason=a&reason=b", "reason=a&purge=false&purge=true"):
            refused = await app.ask("DELETE", f"{RECORDS}/{rep}?{query}", headers=admin)
            assert (refused.status, refused.json()["type"]) == (400, "urn:ibi:problem:invalid-parameter")
        other = "lab.br/arq/2019/01.02.03.04"
        twice = f"next_edition={other}&next_edition={other}"
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}/relations?{twice}")).status == 400
