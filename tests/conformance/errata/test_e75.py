"""E75: the resolver's own service label, as an ordinary link, leads to the resolver's page."""

from __future__ import annotations

import pytest

from tests.support.resolver_app import resolver_app


@pytest.mark.parametrize("path", ["/J8LNKB5R7W/3FUQHC5", "/j8lnkb5r7w/3fuqhc5", "/J8LNKB5R7W/3FUQHC5:"])
async def test_the_label_of_the_resolver_leads_to_its_page(path: str) -> None:
    app = resolver_app({})
    answer = await app.get(path)
    assert answer.status == 302
    assert answer.headers["location"].endswith("/resolver")


async def test_another_label_of_the_same_prefix_is_resolved() -> None:
    answer = await resolver_app({}).get("/J8LNKB5R7W/3FUQHC52")
    assert answer.status in {404, 502}
