"""What was typed into the deposit form and could not be read stays with the draft until it is corrected."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

import ibi
from ibi.deposits.model import REFUSABLE
from ibi.deposits.pages import state as deposit_state
from ibi.deposits.pages.form import fill_fields
from ibi.deposits.pages.state import MOST_TYPED
from ibi.deposits.service.ledger import Depositor
from ibi.items.model.description_values import MAX_TEXT
from ibi.items.model.item import Description
from ibi.people.model.account import Role, Scope, person_account
from ibi.standard.label import parse
from ibi.standard.networks import network
from ibi.standard.storage_errors import DraftDamaged
from tests.support.asgi_client import Answer, ask
from tests.support.depositing_person import DepositingPerson
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page, words
from tests.support.records_app import RecordsApp, records_app

JSON: Final = {"accept": "application/json"}
LONG: Final = "x" * (MAX_TEXT + 1)
WRONG: Final = {
    "title": LONG,
    "creators": "Silva, Ana 0000-0002-1825-0097\nSouza, Bia 0000-0002-1825-0098",
    "contributors": "Costa, João | INPE https://ror.org/04xbn6x08",
    "publisher": LONG,
    "funding": "FAPESP | 1 | javascript:alert(1)",
    "related": "Likes doi:10.1000/182",
    "places": "Brasil | 999, 0",
    "date": "31/02/2026",
    "type": "spaceship",
    "licence": "cc by",
    "language": "Klingonês",
    "subjects": LONG,
    "summary": LONG,
    "target": "../x",
    "embargo": "31/02/2026",
    "embargo_reason": "a patent",
    "networks": "10.0.0.1/8",
}
"""A text for every field of the form that it cannot read."""
RIGHT: Final = {
    "title": "On naming things",
    "creators": "Silva, Ana 0000-0002-1825-0097",
    "contributors": "Costa, João | INPE https://ror.org/04xbn6x09",
    "publisher": "INPE",
    "funding": "FAPESP | 1 | https://example.org",
    "related": "Cites doi:10.1000/182",
    "places": "Brasil | 9, 0",
    "date": "2026-02",
    "type": "c_db06",
    "licence": "CC-BY-4.0",
    "language": "pt",
    "subjects": "names",
    "summary": "On naming",
    "target": "a.txt",
    "embargo": "2031-02-01",
    "embargo_reason": "a patent",
    "networks": "10.0.0.0/8",
}


@pytest.fixture
def people() -> MemoryPeople:
    return MemoryPeople()


@pytest.fixture
async def app(tmp_path: Path, people: MemoryPeople) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, people=people) as made:
        yield made


@pytest.fixture
def lia(app: RecordsApp, people: MemoryPeople) -> DepositingPerson:
    return DepositingPerson(app, people)


async def api(app: RecordsApp, method: str, place: str, body: object = None) -> Answer:
    """What an administrator's token gets of the draft of this form."""
    headers = {**app.bearer(Scope.ADMIN, "root"), "content-type": "application/json"}
    sent = b"" if body is None else json.dumps(body).encode()
    path = f"/api/items/{place.removeprefix('/deposit/')}".removesuffix("/")
    return await ask(app.app, method, path, headers, sent)


async def refused(app: RecordsApp, place: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await api(app, "GET", place)).body).get("refused", {})
    return found


def shown(body: bytes) -> dict[str, str]:
    """What stands in the fields of a page."""
    page, found = read_page(body), dict[str, str]()
    for name in WRONG:
        for tag in ("input", "textarea"):
            for each in page.all(tag, id=name):
                found[name] = each.attrib.get("value", (each.text or "").strip())
        for select in page.all("select", id=name):
            chosen = [each.attrib["value"] for each in select.iter("option") if "selected" in each.attrib]
            found[name] = chosen[0] if chosen else ""
    return found


def marked(body: bytes) -> set[str]:
    """The fields with an error beside them."""
    page = read_page(body)
    return {name for name in REFUSABLE if page.all("p", id=f"{name}-error")}


def test_fields_that_can_be_refused_are_those_of_the_form() -> None:
    assert frozenset(fill_fields(Description())) | {"record"} == REFUSABLE
    assert WRONG.keys() | {"unlisted", "record"} == REFUSABLE


@pytest.mark.parametrize("kind", ["save", "file", "scripts"])
async def test_a_value_that_cannot_be_read_stays_with_the_draft_and_its_error(
    app: RecordsApp, lia: DepositingPerson, kind: str
) -> None:
    place = await lia.begin([("first.txt", b"1"), ("second.txt", b"2")], title="Before")
    files = [("a.txt", b"one")] if kind == "file" else []
    await lia.send(place, {**WRONG, "act": "save"}, files, JSON if kind == "scripts" else None)
    for _ in range(2):  # a save of something else between them changes nothing
        body = (await lia.get(place)).body
        assert shown(body) == WRONG
        # A reason is right as soon as its embargo is.
        assert marked(body) == WRONG.keys() - {"embargo_reason"}
        assert "The draft is saved. 16 fields need attention" in read_page(body).text
        kept = await refused(app, place)
        assert {name: each["text"] for name, each in kept.items()} == WRONG
        assert all(
            each["code"]
            in {
                "invalid-metadata",
                "act-refused",
                "invalid-network",
                "invalid-language-tag",
                "invalid-file-name",
                "invalid-visibility",
            }
            for each in kept.values()
        ), kept
        await lia.send(place, {"unlisted": "1", "act": "save"}, [("b.txt", b"two")])


async def test_a_value_that_can_be_read_takes_the_place_of_the_refused_one(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Before")
    await lia.send(place, {**WRONG, "act": "save"})
    for name in WRONG.keys() - {"embargo", "embargo_reason"}:
        await lia.send(place, {name: RIGHT[name], "act": "save"}, headers=JSON)
        assert name not in await refused(app, place)
    assert set(await refused(app, place)) == {"embargo", "embargo_reason"}
    found = (await lia.send(place, {"embargo": RIGHT["embargo"], "act": "save"}, headers=JSON)).json()
    assert found["errors"] == {}
    document = json.loads((await api(app, "GET", place)).body)
    assert "refused" not in document
    assert document["visibility"]["embargo_reason"] == "a patent"
    assert (await lia.send(place, {"act": "publish"})).headers["location"].startswith("/col/")


async def test_a_field_that_is_emptied_is_not_refused_any_more(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Before", date="2025")
    await lia.send(place, {"date": "31/02/2026", "licence": "cc by", "act": "save"})
    await lia.send(place, {"date": "2025", "act": "save"}, headers=JSON)
    assert set(await refused(app, place)) == {"licence"}
    await lia.send(place, {"licence": "", "act": "save"}, headers=JSON)
    assert await refused(app, place) == {}


async def test_a_reason_beside_an_embargo_that_cannot_be_read_keeps_no_other_field_out(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    fields = {"title": "Uma", "embargo": "2001-02-03", "embargo_reason": "Patent", "act": "save"}
    place = (await lia.send("/deposit", fields, headers=JSON)).json()["place"]
    document = json.loads((await api(app, "GET", place)).body)
    assert document["metadata"]["title"] == [{"value": "Uma"}]
    assert set(document["refused"]) == {"embargo", "embargo_reason"}


async def test_a_draft_with_a_refused_value_is_not_published_by_any_way(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"date": "31/02/2026", "licence": "cc by", "act": "save"})
    answer = await api(app, "POST", f"{place}/publish", {})
    problem = json.loads(answer.body)
    assert (answer.status, problem["type"].rpartition(":")[2], problem["field"]) == (409, "fields-refused", "refused")
    assert "date, licence" in problem["detail"]
    page = await lia.send(place, {"act": "publish"})
    assert page.status == 400
    assert marked(page.body) == {"date", "licence"}
    bia = DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    assert marked((await bia.get(place)).body) == {"date", "licence"}
    assert (await bia.send(place, {"act": "publish"})).status == 400
    await lia.send(place, {"date": "2026", "licence": "", "act": "save"})
    answer = await api(app, "POST", f"{place}/publish", {})
    assert answer.status == 201
    assert b"31/02/2026" not in answer.body
    label = json.loads(answer.body)["rep"]
    for path in (f"/api/items/{label}", f"/col/{label}/metadata"):
        assert b"31/02/2026" not in (await ask(app.app, "GET", path, app.bearer())).body


async def test_a_draft_with_a_refused_value_is_not_submitted_for_review(tmp_path: Path, people: MemoryPeople) -> None:
    async with records_app(tmp_path, people=people, is_reviewed=True) as app:
        lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
        place = await lia.begin([("a.txt", b"one")], title="Uma", date="2026")
        draft = place.removeprefix("/deposit/")
        await lia.send(place, {"date": "31/02/2026", "act": "save"})
        who = Depositor(person_account("lia"), "lia")
        assert (await lia.send(place, {"act": "publish"})).status == 400
        answer = await ask(app.app, "GET", f"/account/drafts/{draft}/review", lia.cookie)
        assert answer.status == 409
        await lia.send(place, {"date": "2026", "act": "publish"})
        # A librarian who corrects it leaves something wrong: it is not published as it stands.
        await bia.send(place, {"date": "30/02/2026", "act": "save"})
        assert app.drafts.find(who, draft).record.refused["date"].text == "30/02/2026"
        answer = await api(app, "POST", f"{place}/publish", {})
        assert (answer.status, json.loads(answer.body)["type"].rpartition(":")[2]) == (409, "fields-refused")
        await bia.send(place, {"date": "2026-02", "act": "save"})
        assert (await api(app, "POST", f"{place}/publish", {})).status == 201


async def test_a_put_over_the_api_refuses_and_writes_no_refused_value(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"date": "31/02/2026", "licence": "cc by", "act": "save"})
    before = await refused(app, place)
    wrongs: tuple[dict[str, object], ...] = (
        {"metadata": {"date": "30/02/2026"}},
        {"refused": {**before, "date": {"text": "30/02/2026", "code": "invalid-metadata"}}},
        {"refused": {"title": before["date"]}},
        {"refused": {"date": "31/02/2026"}},
        {"refused": []},
    )
    for wrong in wrongs:
        answer = await api(app, "PUT", place, wrong)
        assert answer.status == 400
        assert json.loads(answer.body)["field"].partition(".")[0] in {"metadata", "refused", "date"}
        assert await refused(app, place) == before
    assert (await api(app, "PUT", place, {"refused": before})).status == 200
    assert await refused(app, place) == before
    assert (await api(app, "PUT", place, {"metadata": {"title": "Duas"}})).status == 200
    assert await refused(app, place) == before
    answer = await api(app, "PUT", place, {"metadata": {"title": "Duas", "date": "2026"}})
    assert set(json.loads(answer.body)["refused"]) == {"licence"}


async def test_a_put_of_the_old_value_drops_no_text_that_was_typed(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma", date="2020", licence="CC-BY-4.0", unlisted="1")
    await lia.send(place, {"date": "31/02/2026", "licence": "cc by", "unlisted": "1", "act": "save"})
    before, read = await refused(app, place), json.loads((await api(app, "GET", place)).body)
    said = {name: read[name] for name in ("metadata", "target", "visibility") if name in read}
    said["metadata"]["title"] = ["Duas", "Two"]
    for _ in range(2):
        assert (await api(app, "PUT", place, said)).status == 200
        assert await refused(app, place) == before
        assert (await api(app, "POST", f"{place}/publish", {})).status == 409
    assert shown((await lia.get(place)).body)["date"] == "31/02/2026"
    said["metadata"]["date"] = ["2021"]
    assert set(json.loads((await api(app, "PUT", place, said)).body)["refused"]) == {"licence"}


async def test_refused_values_are_withdrawn_over_the_api(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma", date="2020")
    await lia.send(place, {"date": "31/02/2026", "licence": "cc by", "record": "@article{", "act": "import"})
    read = json.loads((await api(app, "GET", place)).body)
    said = {"metadata": read["metadata"]}
    left = {name: each for name, each in read["refused"].items() if name != "record"}
    assert set(left) == {"date", "licence"}
    assert json.loads((await api(app, "PUT", place, {**said, "refused": left})).body)["refused"] == left
    said["metadata"]["date"] = ["2021"]  # a new value corrects a field, though its entry is repeated
    answer = await api(app, "PUT", place, {**said, "refused": left})
    assert set(json.loads(answer.body)["refused"]) == {"licence"}
    answer = await api(app, "PUT", place, {**said, "refused": {}})
    assert "refused" not in json.loads(answer.body)
    assert (await api(app, "POST", f"{place}/publish", {})).status == 201


async def test_the_draft_of_an_item_takes_the_same_member(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    label = json.loads((await api(app, "POST", f"{place}/publish", {})).body)["rep"]
    wrong = {"refused": {"date": {"text": "31/02/2026", "code": "invalid-metadata"}}}
    for method, path in (("PUT", f"{label}/draft"), ("POST", f"{label}/draft"), ("POST", "")):
        sent = {"metadata": {"title": "Uma"}, **wrong}
        assert (await api(app, method, path, sent)).status == 400
    begun = await api(app, "PUT", f"{label}/draft", {"metadata": {"title": "Uma"}, "refused": {}})
    assert begun.status == 201
    bia = DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    await bia.send(f"/deposit/{json.loads(begun.body)['id']}", {"date": "31/02/2026", "act": "save"})
    again = await api(app, "PUT", f"{label}/draft", {"metadata": {"title": "Uma"}})
    assert set(json.loads(again.body)["refused"]) == {"date"}
    again = await api(app, "PUT", f"{label}/draft", {"metadata": {"title": "Uma"}, "refused": {}})
    assert "refused" not in json.loads(again.body)


async def test_a_further_title_corrects_no_title_that_was_refused(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"title": LONG, "act": "save"})
    assert (await api(app, "PUT", place, {"metadata": {"title": ["Uma", "One"]}})).status == 200
    assert set(await refused(app, place)) == {"title"}
    assert (await api(app, "PUT", place, {"metadata": {"title": ["Duas", "One"]}})).status == 200
    assert await refused(app, place) == {}


async def test_a_window_that_shows_a_refused_text_loses_nothing_to_a_put(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma", date="2020")
    await lia.send(place, {"date": "31/02/2026", "act": "save"})
    page = read_page((await lia.get(place)).body)
    marks = page.all("input", name="marks")[0].attrib["value"]
    await api(app, "PUT", place, {"metadata": {"title": "Duas", "date": "2020"}})
    await lia.send(place, {"title": "Uma", "date": "31/02/2026", "marks": marks, "act": "save"}, headers=JSON)
    assert (await refused(app, place))["date"]["text"] == "31/02/2026"
    await api(app, "PUT", place, {"metadata": {"title": "Duas", "date": "2021"}})
    await lia.send(place, {"date": "31/02/2026", "marks": marks, "act": "save"}, headers=JSON)
    assert await refused(app, place) == {}  # the window did not touch the date, which is corrected since


async def test_the_tag_of_a_draft_changes_with_its_refused_values(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    tags = [(await api(app, "GET", place)).headers["etag"]]
    for date in ("31/02/2026", "30/02/2026", ""):
        await lia.send(place, {"date": date, "act": "save"})
        tags.append((await api(app, "GET", place)).headers["etag"])
    assert len(set(tags)) == 3
    assert tags[0] == tags[-1]


async def test_a_page_with_a_refused_value_that_is_not_saved_does_not_say_that_all_is(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin(title="Before")
    first = (await lia.send(place, {"act": "save"}, headers=JSON)).json()["marks"]
    await lia.send(place, {"date": "1999-99", "licence": "cc by", "marks": first, "act": "save"}, headers=JSON)
    mine = {"date": "1888-88", "licence": "cc by", "marks": first, "act": "save"}
    found = (await lia.send(place, mine, headers=JSON)).json()
    assert (found["clash"], found["attention"]) == (True, "")
    page = read_page((await lia.send(place, mine)).body)
    assert "The draft is saved" not in page.text
    assert "Not everything was saved" in page.text
    assert (await refused(app, place))["date"]["text"] == "1999-99"


async def test_a_refused_value_is_what_another_window_finds_and_clashes_with(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin(title="Uma", date="2026")
    first = (await lia.send(place, {"act": "save"}, headers=JSON)).json()["marks"]
    await lia.send(place, {"date": "31/02/2026", "marks": first, "act": "save"}, headers=JSON)
    # The other window has not touched the date: it is told what stands there now.
    other = (
        await lia.send(place, {"date": "2026", "title": "Uma", "marks": first, "act": "save"}, headers=JSON)
    ).json()
    assert other["newer"] == {"date": "31/02/2026"}
    assert set(other["errors"]) == {"date"}
    clash = (await lia.send(place, {"date": "2027", "marks": first, "act": "save"}, headers=JSON)).json()
    assert clash["clash"] is True
    assert (await refused(app, place))["date"]["text"] == "31/02/2026"
    await lia.send(place, {"date": "2027", "marks": first, "overwrite": "1", "act": "save"})
    assert await refused(app, place) == {}


@pytest.mark.parametrize(
    ("language", "text"), [("pt-BR", "O rascunho está salvo. 1 campo"), ("es", "El borrador está guardado. 1 campo")]
)
async def test_an_error_is_shown_in_the_language_of_who_reads_it(
    lia: DepositingPerson, language: str, text: str
) -> None:
    place = await lia.begin(title="Uma")
    await lia.send(place, {"creators": "Silva, Ana 0000-0002-1825-0098", "act": "save"})
    page = read_page((await lia.get(place, **{"accept-language": language})).body)
    assert text in page.text
    assert "ORCID" in words(page.one("p", id="creators-error"))
    assert "does not fit" not in words(page.one("p", id="creators-error"))


async def test_a_pasted_record_that_cannot_be_read_stays_until_it_is_taken_away(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"record": "@article{", "act": "import"}, headers=JSON)
    for fields in ({}, {"record": "@article{"}, {"title": "Duas"}):
        await lia.send(place, {**fields, "act": "save"}, [("b.txt", b"two")], JSON)
        body = (await lia.get(place)).body
        assert (read_page(body).one("textarea", id="record").text or "").strip() == "@article{"
        assert marked(body) == {"record"}
    assert (await api(app, "POST", f"{place}/publish", {})).status == 409
    await lia.send(place, {"record": "", "act": "save"}, headers=JSON)
    assert await refused(app, place) == {}


async def test_a_record_that_is_pasted_and_not_imported_is_shown_again_after_a_save(lia: DepositingPerson) -> None:
    place = await lia.begin(title="Uma")
    answer = await lia.send(place, {"record": "@article{x, title={A}}", "act": "save"}, [("a.txt", b"1")])
    assert answer.status == 200
    assert "@article" in (read_page(answer.body).one("textarea", id="record").text or "")


async def marks_of(lia: DepositingPerson, place: str) -> str:
    marks: str = read_page((await lia.get(place)).body).one("input", name="marks").attrib["value"]
    return marks


@pytest.mark.parametrize(
    ("field", "text", "seen"),
    [
        ("title", "a\0b", "a\ufffdb"),
        ("title", "a\x0eb", "a\ufffdb"),
        ("title", "\x85a\rb\x01", "\ufffdab\ufffd"),
        ("title", f"\u202e{LONG}", f"\u202e{LONG}\u202c"),
        ("creators", "Silva\x0c, Ana\x02\rSouza", "Silva\x0c, Ana\ufffd\nSouza"),
        ("summary", "a\ufdd0 \u2066b\x01", "a\ufffd \u2066b\ufffd\u2069"),
    ],
)
async def test_a_text_that_the_page_shows_otherwise_is_not_changed_by_another_field(
    app: RecordsApp, lia: DepositingPerson, field: str, text: str, seen: str
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {field: text, "act": "save"})
    before = await refused(app, place)
    assert before[field]["text"] == text
    body = (await lia.get(place)).body
    assert shown(body)[field].replace("\r", "\n").replace("\n", "" if field == "title" else "\n") == seen
    sent = {field: seen.replace("\n", "\r\n"), "subjects": "other", "marks": await marks_of(lia, place), "act": "save"}
    await lia.send(place, sent)
    assert await refused(app, place) == before
    sent = {field: RIGHT[field], "marks": await marks_of(lia, place), "act": "save"}
    await lia.send(place, sent)
    assert await refused(app, place) == {}


def test_fields_of_one_line_are_those_of_the_page() -> None:
    template = Path(ibi.__file__).parent / "web" / "templates" / "deposit.html"
    inputs = set(re.findall(r'<input id="(\w+)" name="\1" value', template.read_text(encoding="utf-8")))
    assert inputs & deposit_state.FIELDS == deposit_state._ONE_LINE


@pytest.mark.parametrize("act", ["save", "import"])
async def test_a_pasted_record_with_a_control_character_stays_as_it_was_pasted(
    app: RecordsApp, lia: DepositingPerson, act: str
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"record": "@article{\0", "act": "import"}, headers=JSON)
    before = await refused(app, place)
    marks = await marks_of(lia, place)
    await lia.send(place, {"record": "@article{\ufffd", "subjects": "other", "marks": marks, "act": act}, headers=JSON)
    assert await refused(app, place) == before
    assert before["record"]["text"] == "@article{\0"


async def test_access_that_a_librarian_may_not_open_is_refused_alone(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma", networks="10.0.0.0/8")
    label = (await lia.send(place, {"act": "publish"})).headers["location"].split("/col/")[1].removesuffix("/metadata")
    begun = app.drafts.begin_update(Depositor(person_account("lia"), "lia"), parse(label))
    bia = DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    change = f"/deposit/{begun.record.id}"
    answer = await bia.send(change, {"title": "Duas", "networks": "", "act": "save"})
    assert answer.status == 403
    assert marked(answer.body) == {"networks"}
    kept = app.drafts.find(Depositor(person_account("lia"), "lia"), begun.record.id).record
    assert (kept.description.metadata.title[0].value, kept.description.visibility.networks) == (
        "Duas",
        (network("10.0.0.0/8"),),
    )
    assert (kept.refused["networks"].text, kept.refused["networks"].code) == ("", "not-your-item")


async def test_refused_values_are_bounded_over_many_forms(lia: DepositingPerson) -> None:
    place = await lia.begin(title="Uma")
    large = "x" * (MOST_TYPED // 2 + 1)
    found = (await lia.send(place, {"summary": large, "act": "save"}, headers=JSON)).json()
    assert found["problem"] is None
    found = (await lia.send(place, {"subjects": large, "act": "save"}, headers=JSON)).json()
    assert found["problem"] is not None


async def test_a_depositor_sees_what_is_refused_and_others_see_no_draft(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin(title="Uma")
    await lia.send(place, {"date": "31/02/2026", "act": "save"})
    rui = DepositingPerson(app, people, "rui")
    answer = await rui.get(place)
    assert answer.status == 404
    assert b"31/02" not in answer.body
    answer = await ask(app.app, "GET", place.replace("/deposit", "/api/items"), app.bearer(Scope.DEPOSIT, "rui"))
    assert answer.status == 404


async def test_a_publication_that_broke_off_ends_where_it_was_whatever_was_typed_since(
    app: RecordsApp, lia: DepositingPerson, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    who = Depositor(person_account("lia"), "lia")

    def break_off(*_: object) -> None:
        raise DraftDamaged(path="x", reason="broken off")

    with monkeypatch.context() as broken:
        broken.setattr(app.drafts._files, "conclude", break_off)
        made = await lia.send(place, {"act": "publish"})
    assert made.status == 303
    await lia.send(place, {"date": "31/02/2026", "act": "save"})
    assert app.drafts.find(who, place.removeprefix("/deposit/")).record.refused
    again = await api(app, "POST", f"{place}/publish", {})
    assert again.status == 201
    assert again.json()["rep"] in made.headers["location"]
    document = (await api(app, "GET", place)).json()
    assert (document["state"], "refused" in document) == ("published", False)
