"""Other names of an item, from the request to the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.label import parse
from ibi.model.alternate import Alternate
from ibi.model.search import SearchQuery
from tests.support.records_app import RECORDS, SAID, records_app

SERVICE = {**SAID, "url": "https://example.org/service"}
NAMES = ["doi:10.1000/AbC", {"scheme": "ibi", "value": "83LX3pFwXQZ5Jpy/Bkjzd"}, "https://old.example.org/x"]


async def test_other_names_are_recorded_shown_found_and_kept_by_updates(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.publish(await app.begin({**SERVICE, "alternates": NAMES})))["rep"]
        record = (await app.ask("GET", f"{RECORDS}/{rep}")).json()
        assert record["alternates"] == [
            {"scheme": "doi", "value": "10.1000/AbC"},
            {"scheme": "ibi", "value": "83LX3pFwXQZ5Jpy/Bkjzd"},
            {"scheme": "url", "value": "https://old.example.org/x"},
        ]
        page = (await app.ask("GET", f"/col/{rep}/metadata")).body.decode()
        assert "doi:10.1000/AbC" in page
        assert "ibi:83LX3pFwXQZ5Jpy/Bkjzd" in page
        (found,) = app.store.catalog.find_alternate(Alternate("doi", "10.1000/abc"))
        assert str(found.rep) == rep
        assert [str(item.rep) for item in app.store.search.search(SearchQuery(text="83LX3pFwXQZ5Jpy/Bkjzd")).items] == [
            rep
        ]
        draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()
        assert draft["alternates"] == record["alternates"]
        await app.publish(f"{RECORDS}/{draft['id']}")
        assert len(app.store.find(parse(rep)).alternates) == 3


@pytest.mark.parametrize(
    ("alternates", "member"),
    [
        (["doi:x"], "alternates[0]"),
        (["doi:10.1000/182", "ibi:abc/def"], "alternates[1]"),
        ([1], "alternates[0]"),
        ([{"scheme": "doi"}], "alternates[0]"),
        ([{"scheme": "doi", "value": "10.1000/182", "more": 1}], "alternates[0]"),
        ("doi:10.1000/182", "alternates"),
        (["x:y"] * 101, "alternates"),
    ],
)
async def test_what_is_no_other_name_is_refused_with_its_place(tmp_path: Path, alternates: object, member: str) -> None:
    async with records_app(tmp_path) as app:
        refused = await app.ask("POST", RECORDS, {**SERVICE, "alternates": alternates})
        assert refused.status == 400
        assert refused.json()["field"] == member


async def test_the_reason_of_an_embargo_is_shown_to_readers(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        visibility = {"embargo": "2999-01-01T00:00:00Z", "embargo_reason": "A patent <is> pending."}
        rep = (await app.publish(await app.begin({**SERVICE, "visibility": visibility})))["rep"]
        assert (await app.ask("GET", f"{RECORDS}/{rep}")).json()["visibility"] == visibility
        assert "A patent &lt;is&gt; pending." in (await app.ask("GET", f"/col/{rep}/metadata")).body.decode()
