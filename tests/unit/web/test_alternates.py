"""Other names of an item, from the request to the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.model.description_values import Alternate
from ibi.items.model.search import SearchQuery
from ibi.standard.label import parse
from tests.support.form_bodies import FORM, batch_form
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"relation": "Cites", "scheme": "url", "value": "javascript:alert(1)"},
        {"relation": "Cites", "scheme": "https", "value": "javascript:alert(1)"},
        {"relation": "Cites", "scheme": "doi", "value": "182"},
        {"relation": "Cites", "scheme": "doi"},
        "doi:10.1000/182",
    ],
)
async def test_what_is_no_related_work_is_refused_with_its_place(tmp_path: Path, wrong: object) -> None:
    right = {"relation": "Cites", "scheme": "DOI", "value": "https://doi.org/10.1000/182"}
    said = {**SERVICE, "metadata": {"title": "T", "related_identifiers": [right, wrong]}}
    async with records_app(tmp_path) as app:
        refused = await app.ask("POST", RECORDS, said)
        assert refused.status == 400
        assert refused.json()["field"].startswith("metadata.related_identifiers[1]")
        said["metadata"]["related_identifiers"] = [right]  # type: ignore[index]
        kept = await app.ask("GET", await app.begin(said))
        assert kept.json()["metadata"]["related_identifiers"] == [{**right, "scheme": "doi", "value": "10.1000/182"}]


async def test_the_reason_of_an_embargo_is_shown_to_readers(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        visibility = {"embargo": "2999-01-01T00:00:00Z", "embargo_reason": "A patent <is> pending."}
        rep = (await app.publish(await app.begin({**SERVICE, "visibility": visibility})))["rep"]
        assert (await app.ask("GET", f"{RECORDS}/{rep}")).json()["visibility"] == visibility
        assert "A patent &lt;is&gt; pending." in (await app.ask("GET", f"/col/{rep}/metadata")).body.decode()


# --- a label of before 2008 names its item (E72) ---

LISE, OTHER = "83LX3pFwXQZ5Jpy/Bkjzd", "6qtX3pFwXQZ3P8SECKy/Gk4Ky"


async def test_a_label_of_before_2008_stands_for_the_item_in_every_path(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "alternates": [f"ibi:{LISE}"]}, a=b"content"))["rep"]
        for rest in ("", "/files", "/files/a.txt", "/manifest", "/usage", "/relations", "/versions", "/versions/1"):
            by_name, by_label = [await app.ask("GET", f"{RECORDS}/{name}{rest}") for name in (rep, LISE)]
            assert (by_label.status, by_label.body) == (200, by_name.body), rest
        assert (await app.ask("GET", f"{RECORDS}/{LISE.replace('/', '%2F')}")).json()["labels"]["rep"] == rep
        file = await app.ask("GET", f"{RECORDS}/{LISE}/versions/1/files/a.txt")
        assert file.body == b"content"
        draft = (await app.ask("POST", f"{RECORDS}/{LISE}/draft")).json()
        assert draft["labels"]["rep"] == rep
        assert (await app.ask("GET", f"{RECORDS}/{LISE}/draft")).json()["id"] == draft["id"]
        assert (await app.publish(f"{RECORDS}/{draft['id']}"))["version"] == 2
        restored = await app.ask("POST", f"{RECORDS}/{LISE}/versions/1/restore")
        assert restored.status == 201
        assert (await app.ask("GET", f"{RECORDS}/{OTHER}")).json()["type"] == "urn:ibi:problem:unknown-item"
        assert (await app.ask("GET", f"{RECORDS}/{LISE.swapcase()}")).status == 404
        assert (await app.ask("GET", f"{RECORDS}/{LISE.upper()}")).json()["type"] == "urn:ibi:problem:invalid-label"
        assert (await app.ask("DELETE", f"{RECORDS}/{LISE}?reason=test")).json()["labels"]["rep"] == rep
        assert (await app.ask("GET", f"{RECORDS}/{LISE}")).status == 410


async def test_items_are_related_by_labels_of_before_2008_that_are_known_here(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        first = (await app.publish(await app.begin({**SERVICE, "alternates": [f"ibi:{LISE}"]})))["rep"]
        second = (await app.publish(await app.begin({**SERVICE, "edition_of": LISE})))["rep"]
        assert (await app.ask("GET", f"{RECORDS}/{second}/relations")).json()["edition_of"]["rep"] == first
        assert (await app.ask("GET", f"{RECORDS}/{LISE}/relations")).json()["next_edition"]["rep"] == second
        third = (await app.publish(await app.begin({**SERVICE, "alternates": [f"ibi:{OTHER}"]})))["rep"]
        said = await app.ask("POST", f"{RECORDS}/{LISE}/relations", {"metadata_item": OTHER})
        assert said.json()["metadata_item"]["rep"] == third
        assert (await app.ask("GET", f"{RECORDS}/{third}/relations")).json()["describes"]["rep"] == first
        undone = await app.ask("DELETE", f"{RECORDS}/{LISE}/relations?metadata_item={OTHER}")
        assert (undone.status, "metadata_item" in undone.json()) == (200, False)
        assert "describes" not in (await app.ask("GET", f"{RECORDS}/{OTHER}/relations")).json()
        deleted = await app.ask("DELETE", f"{RECORDS}/{OTHER}?reason=test&replaced_by={LISE}")
        assert deleted.json()["tombstone"]["replaced_by"]["rep"] == first


async def test_a_label_of_before_2008_that_no_item_here_has_cannot_be_recorded(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        refused = await app.ask("POST", RECORDS, {**SERVICE, "edition_of": LISE})
        assert (refused.status, refused.json()["field"]) == (400, "edition_of")
        assert "name the item by its repository name or IBIp" in refused.json()["detail"]
        rep = (await app.publish(await app.begin(SERVICE)))["rep"]
        related = await app.ask("POST", f"{RECORDS}/{rep}/relations", {"next_edition": LISE})
        assert (related.status, related.json()["type"]) == (400, "urn:ibi:problem:invalid-label")


async def test_pages_and_files_are_below_the_name_of_the_item(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "alternates": [f"ibi:{LISE}"]}, a__b=b"content"))["rep"]
        for rest in ("", "/metadata", "/metadata?format=oai_dc", "/doc/", "/doc/a/b.txt", "/doc/x%20y%C3%A9?a=%0D"):
            answer = await app.ask("GET", f"/col/{LISE}{rest}")
            assert (answer.status, answer.headers["location"]) == (302, f"http://arq.lab.br/col/{rep}{rest}")
        assert (await app.ask("GET", f"/col/{OTHER}/metadata")).status == 404


# --- one name, one item ---


@pytest.mark.parametrize(
    ("name", "again"),
    [
        (f"ibi:{LISE}", f"ibi:{LISE}"),
        ("doi:10.1000/AbC", "doi:10.1000/aBC"),
        ("ark:12148/btv1b8449691v", "ark:/12148/btv-1b8449691v"),
        ("hdl:20.1000/x", "hdl:20.1000/X"),
    ],
)
async def test_a_second_item_is_refused_the_name_that_another_has(tmp_path: Path, name: str, again: str) -> None:
    async with records_app(tmp_path) as app:
        first = (await app.publish(await app.begin({**SERVICE, "alternates": [name]})))["rep"]
        draft = await app.begin({**SERVICE, "alternates": [again]})
        refused = await app.ask("POST", f"{draft}/publish")
        assert (refused.status, refused.json()["field"]) == (409, "alternates")
        assert refused.json()["type"] == "urn:ibi:problem:alternate-taken"
        assert first in refused.json()["detail"]
        assert (await app.ask("PUT", draft, SERVICE)).status == 200
        second = (await app.publish(draft))["rep"]
        update = (await app.ask("POST", f"{RECORDS}/{second}/draft")).json()["id"]
        await app.ask("PUT", f"{RECORDS}/{update}", {**SERVICE, "alternates": [name]})
        assert (await app.ask("POST", f"{RECORDS}/{update}/publish")).status == 409
        assert (await app.ask("DELETE", f"{RECORDS}/{first}?reason=test")).status == 200
        assert (await app.publish(f"{RECORDS}/{update}"))["rep"] == second


async def test_addresses_and_words_of_other_schemes_may_stand_for_several_items(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        names = ["https://old.example.org/x", "isbn:9780262033848"]
        for _ in range(2):
            await app.publish(await app.begin({**SERVICE, "alternates": names}))


async def test_of_two_items_of_one_batch_the_second_is_refused_the_name(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        said = {**SERVICE, "alternates": [f"ibi:{LISE}"]}
        body = batch_form([(said, {}), (SERVICE, {}), (said, {})])
        told = (await app.ask("POST", f"{RECORDS}/batch", headers=FORM, body=body)).json()["results"]
        assert [each["status"] for each in told] == [201, 201, 409]
        assert told[0]["item"]["rep"] in told[2]["problem"]["detail"]


async def test_a_deposit_sent_again_is_not_refused_its_own_name(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        said = {**SERVICE, "alternates": [f"ibi:{LISE}"]}
        made = [await app.publish(await app.begin(said), idempotency_key="k") for _ in range(2)]
        assert made[0]["rep"] == made[1]["rep"]
