"""E79: the keeper of an item withdraws what it says of another, here or elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.records_app import RECORDS, SAID, records_app

ELSEWHERE = "lab.br/arq/2020/01.02.03.04"
CLAIMS = ["edition_of", "translation_of", "describes"]
BACK = {"edition_of": "next_edition", "translation_of": "translations", "describes": "metadata_item"}


@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_claim_on_an_item_elsewhere_is_withdrawn(tmp_path: Path, claim: str) -> None:
    async with records_app(tmp_path) as app:
        item = (await app.deposit({**SAID, "language": "en", claim: ELSEWHERE}))["rep"]
        place = f"{RECORDS}/{item}/relations"
        assert (await app.ask("GET", place)).json()[claim]["rep"] == ELSEWHERE
        other = await app.ask("DELETE", f"{place}?{claim}=lab.br/arq/2021/01.02.03.04")
        assert (other.status, other.json()["type"]) == (409, "urn:ibi:problem:not-related")
        withdrawn = await app.ask("DELETE", f"{place}?{claim}={ELSEWHERE}")
        assert (withdrawn.status, claim in withdrawn.json()) == (200, False)
        assert (await app.ask("DELETE", f"{place}?{claim}={ELSEWHERE}")).status == 409


@pytest.mark.parametrize("claim", CLAIMS)
async def test_both_halves_go_where_both_are_here(tmp_path: Path, claim: str) -> None:
    async with records_app(tmp_path) as app:
        source = (await app.deposit({**SAID, "language": "pt"}))["rep"]
        item = (await app.deposit({**SAID, "language": "en", claim: source}))["rep"]
        assert item in (await app.ask("GET", f"{RECORDS}/{source}/relations")).body.decode()
        assert (await app.ask("DELETE", f"{RECORDS}/{item}/relations?{claim}={source}")).status == 200
        assert item not in str((await app.ask("GET", f"{RECORDS}/{source}/relations")).json().get(BACK[claim]))


async def test_one_claim_is_withdrawn_at_a_time(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = (await app.deposit({**SAID, "edition_of": ELSEWHERE}))["rep"]
        asked = f"{RECORDS}/{item}/relations?edition_of={ELSEWHERE}"
        assert (await app.ask("DELETE", f"{asked}&next_edition={ELSEWHERE}")).status == 400
        assert (await app.ask("DELETE", f"{RECORDS}/{item}/relations?edition_of=nonsense")).status == 400
