"""The form of a deposit: what it takes, what it says of what it cannot take, and to whom it answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.deposits.rules.drafts import DraftQuota
from ibi.deposits.service.ledger import Depositor
from ibi.people.model.account import Role, Scope, person_account
from tests.support.asgi_client import ask
from tests.support.depositing_person import DepositingPerson
from tests.support.form_bodies import FORM, file_part, form, part
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import Page, read_page, words
from tests.support.records_app import RecordsApp, records_app

JSON = {"accept": "application/json"}
DESCRIBED = {
    "title": "On naming things",
    "creators": "Silva, Ana 0000-0002-1825-0097\r\nSouza, Bia",
    "date": "2027-01",
    "type": "Text",
    "licence": "CC-BY-4.0",
    "language": "pt-br",
    "subjects": "names\r\n\r\n links ",
    "summary": "One.\r\n\r\nTwo.",
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


def value_of(page: Page, name: str) -> str:
    (found,) = [each for tag in ("input", "textarea") for each in page.all(tag, id=name)]
    return found.attrib.get("value", found.text or "")


async def test_an_item_is_deposited_with_its_files_by_the_form_alone(app: RecordsApp, lia: DepositingPerson) -> None:
    empty = read_page((await lia.get("/deposit")).body)
    assert empty.one("form", class_="deposit columns").attrib["enctype"] == "multipart/form-data"
    place = await lia.begin([("a.txt", b"one"), ("data/b.csv", b"1,2")], **DESCRIBED)
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "title") == "On naming things"
    assert "data/b.csv" in page.text
    answer = await lia.send(place, {**DESCRIBED, "target": "a.txt", "act": "publish"})
    assert answer.status == 303
    label = answer.headers["location"].removeprefix("/col/").removesuffix("/metadata")
    record = json.loads((await ask(app.app, "GET", f"/api/items/{label}", app.bearer())).body)
    assert record["metadata"]["creator"] == [
        {"name": "Silva, Ana", "orcid": "0000-0002-1825-0097"},
        {"name": "Souza, Bia"},
    ]
    assert record["metadata"]["subject"] == [{"value": "names"}, {"value": "links"}]
    assert record["metadata"]["description"] == [{"value": "One.\n\nTwo."}]
    assert (record["language"], record["owner"], record["target"]) == ("pt-BR", "person:lia", "a.txt")
    assert (record["metadata"]["resource_type"], record["metadata"]["licence"]) == ("Text", "CC-BY-4.0")
    assert (await lia.get(place)).headers["location"] == answer.headers["location"]


async def test_the_label_is_shown_before_publishing_and_is_that_of_the_item(lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma tese")
    shown = read_page((await lia.get(place)).body).one("p", class_="label").text or ""
    again = await lia.send(place, {"title": "Duas teses", "act": "save"}, headers=JSON)
    assert shown.endswith(again.json()["label"])
    published = await lia.send(place, {"act": "publish"}, headers=JSON)
    item = await lia.get(published.json()["place"])
    assert shown in item.body.decode()


async def test_what_is_wrong_is_said_beside_its_field_and_all_else_is_kept(lia: DepositingPerson) -> None:
    wrong = {**DESCRIBED, "date": "2027-13", "creators": "Silva, Ana 0000-0002-1825-0098", "networks": "10.0.0.1/8"}
    answer = await lia.send("/deposit", {**wrong, "act": "publish"}, [("a.txt", b"one")])
    assert answer.status == 303
    page = read_page((await lia.get(answer.headers["location"])).body)
    for name in ("date", "creators", "networks"):
        field = page.one("textarea" if name != "date" else "input", id=name)
        assert field.attrib["aria-invalid"] == "true"
        assert f"{name}-error" in field.attrib["aria-describedby"]
        assert page.all("p", id=f"{name}-error")
    assert value_of(page, "date") == "2027-13"
    assert value_of(page, "creators").strip() == "Silva, Ana 0000-0002-1825-0098"
    assert "a.txt" in page.text
    place = page.one("form", class_="deposit columns").attrib["action"]
    kept = read_page((await lia.get(place)).body)
    assert (value_of(kept, "title"), value_of(kept, "date")) == ("On naming things", "2027-13")
    assert "there is no month 13" in (kept.one("p", id="date-error").text or words(kept.one("p", id="date-error")))


@pytest.mark.parametrize("act", ["save", "publish"])
async def test_the_first_save_leads_to_the_draft_also_if_a_value_is_refused(lia: DepositingPerson, act: str) -> None:
    """Without scripts: a page that stays at the address of the form begins another draft when it is loaded again."""
    answer = await lia.send("/deposit", {"title": "T", "date": "31/02/2026", "act": act})
    place = answer.headers["location"]
    assert (answer.status, place[:9]) == (303, "/deposit/")
    page = read_page((await lia.get(place)).body)
    assert (value_of(page, "title"), value_of(page, "date")) == ("T", "31/02/2026")
    assert "1 field needs attention" in page.text
    assert (await lia.send(place, {"date": "2026-02-30", "act": act})).status == 400
    pasted = await lia.send("/deposit", {"title": "T", "date": "31/02/2026", "record": "@book{x}", "act": act})
    assert (pasted.status, "@book{x}" in pasted.body.decode()) == (400, True)  # the draft does not have that text


@pytest.mark.parametrize(("fields", "field"), [({"title": ""}, "title"), ({"title": "Uma"}, "files")])
async def test_what_publishing_lacks_is_said_beside_its_field(
    lia: DepositingPerson, fields: dict[str, str], field: str
) -> None:
    files = [] if field == "files" else [("a.txt", b"one")]
    answer = await lia.send("/deposit", {**fields, "act": "publish"}, files)
    assert answer.status == 400
    assert read_page(answer.body).all("p", id=f"{field}-error")


async def test_fields_that_the_form_does_not_show_stay_as_they_are(app: RecordsApp, lia: DepositingPerson) -> None:
    place = await lia.begin(title="Uma")
    draft = place.removeprefix("/deposit/")
    # As an import leaves it: elements without a field, further titles, languages of texts.
    said = {
        "metadata": {
            "title": [{"value": "Uma", "language": "pt"}, {"value": "One", "language": "en"}],
            "contributor": "Costa, Rui",
            "publisher": "INPE",
            "creator": [{"name": "Silva, Ana", "language": "pt"}],
        }
    }
    headers = {**app.bearer(Scope.ADMIN, "root"), "content-type": "application/json"}
    answer = await ask(app.app, "PUT", f"/api/items/{draft}", headers, json.dumps(said).encode())
    assert answer.status == 200, answer.body
    fields = {"title": "Duas", "creators": "Silva, Ana\nSouza, Bia", "act": "save"}
    assert (await lia.send(place, fields)).status == 303
    found = json.loads((await ask(app.app, "GET", f"/api/items/{draft}", headers)).body)["metadata"]
    assert found["title"] == [{"value": "Duas", "language": "pt"}, {"value": "One", "language": "en"}]
    assert found["creator"] == [{"name": "Silva, Ana", "language": "pt"}, {"name": "Souza, Bia"}]
    assert (found["contributor"], found["publisher"]) == ([{"name": "Costa, Rui"}], [{"value": "INPE"}])


async def test_a_file_is_removed_and_what_was_typed_meanwhile_is_kept(lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"one"), ("b.txt", b"two")], title="Uma")
    assert (await lia.send(place, {"title": "Duas", "remove": "a.txt"})).status == 303
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "title") == "Duas"
    assert [each.attrib["value"] for each in page.all("button", name="remove")] == ["b.txt"]


async def test_embargo_and_networks_are_kept_and_shown_again(app: RecordsApp, lia: DepositingPerson) -> None:
    said = {"embargo": "2031-02-01", "embargo_reason": "Patent", "networks": "10.0.0.0/8", "unlisted": "1"}
    place = await lia.begin([("a.txt", b"one")], title="Uma", **said)
    page = read_page((await lia.get(place)).body)
    assert [value_of(page, name).strip() for name in ("embargo", "embargo_reason", "networks")] == [
        "2031-02-01",
        "Patent",
        "10.0.0.0/8",
    ]
    assert "checked" in page.one("input", type="checkbox").attrib


async def test_an_embargo_in_the_past_and_a_reason_without_an_embargo_are_marked(lia: DepositingPerson) -> None:
    past = {"embargo": "2001-02-03", "embargo_reason": "Patent"}
    found = (await lia.send("/deposit", {**past, "title": "Uma", "act": "save"}, headers=JSON)).json()
    assert list(found["errors"]) == ["embargo"]
    place = await lia.begin([("a.txt", b"one")], title="Uma", embargo="2031-02-01", embargo_reason="Patent")
    for fields in ({"embargo": ""}, {"embargo": "", "embargo_reason": "Other"}):
        answer = await lia.send(place, {**fields, "act": "publish"})
        assert answer.status == 400
        assert read_page(answer.body).all("p", id="embargo_reason-error")
    assert (await lia.send(place, {"embargo": "", "embargo_reason": "", "act": "save"})).status == 303


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ana Silva; João Costa", ["Ana Silva", "João Costa"]),
        ("Silva, Ana; 0000-0002-1825-0097; Costa, João;", ["Silva, Ana 0000-0002-1825-0097", "Costa, João"]),
        (
            "Silva, Ana; Costa, João | INPE; São José\nLima, Eva",
            ["Silva, Ana", "Costa, João | INPE; São José", "Lima, Eva"],
        ),
    ],
)
async def test_people_in_one_line_are_parted_by_semicolons(lia: DepositingPerson, text: str, names: list[str]) -> None:
    place = await lia.begin(title="Uma", creators=text, contributors=text)
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "creators").split("\n") == names
    assert value_of(page, "contributors").split("\n") == names


async def test_fields_of_many_parts_are_read_and_shown_again(app: RecordsApp, lia: DepositingPerson) -> None:
    said = {
        "creators": "Silva, Ana 0000-0002-1825-0097 | INPE https://ror.org/04xbn6x09 | USP\nSouza, Bia",
        "contributors": "Costa, Rui",
        "publisher": "INPE",
        "funding": "FAPESP https://ror.org/02ddkpn78 | 2020/01234-5 | https://bv.fapesp.br/1\nCNPq",
        "related": "IsSupplementTo doi:10.1000/182\nCites https://example.org/a",
        "places": "São José dos Campos | -45.9, -23.2\nAmazônia | -74, -16, -44, 5\nBrasil",
        "type": "c_db06",
        "language": "português",
        "licence": "https://creativecommons.org/licenses/by/4.0/",
    }
    place = await lia.begin([("a.txt", b"one")], title="Uma", **said)
    page = read_page((await lia.get(place)).body)
    shown = {name: value_of(page, name).strip() for name in said if name != "type"}
    assert shown == {**{k: v for k, v in said.items() if k != "type"}, "language": "pt", "licence": "CC-BY-4.0"}
    assert page.one("option", value="c_db06").attrib.get("selected") is not None
    assert "The authors must be credited." in page.text
    headers = app.bearer(Scope.ADMIN, "root")
    found = json.loads((await ask(app.app, "GET", f"/api/items/{place.removeprefix('/deposit/')}", headers)).body)
    metadata = found["metadata"]
    assert metadata["creator"][0]["affiliations"] == [{"name": "INPE", "ror": "04xbn6x09"}, {"name": "USP"}]
    assert metadata["related_identifiers"][0] == {"relation": "IsSupplementTo", "scheme": "doi", "value": "10.1000/182"}
    assert (metadata["type"], metadata["resource_type"]) == ([{"value": "doctoral thesis"}], "Text")
    again = await lia.send(place, {**said, "act": "save"}, headers=JSON)
    assert again.json()["errors"] == {}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("creators", "Silva, Ana | INPE https://ror.org/04xbn6x08"),
        ("creators", "a;" * 20_001),
        ("funding", "FAPESP | 1 | javascript:alert(1)"),
        ("related", "doi:10.1000/182"),
        ("related", "Likes doi:10.1000/182"),
        ("related", "Cites doi:nonsense"),
        ("places", "Brasil | 1, 2, 3"),
        ("places", "| 999, 0"),
        ("type", "spaceship"),
        ("language", "Klingonês"),
        ("licence", "as you like it"),
        ("embargo", "2027"),
        ("target", "../x"),
    ],
)
async def test_what_cannot_be_read_is_named(lia: DepositingPerson, field: str, text: str) -> None:
    answer = await lia.send("/deposit", {"title": "Uma", field: text, "act": "save"}, headers=JSON)
    assert list(answer.json()["errors"]) == [field]


async def test_a_record_fills_what_is_empty_and_what_was_typed_stays(lia: DepositingPerson) -> None:
    record = "@article{a, title={From the record}, author={Silva, Ana and Souza, Bia}, year={2024}, doi={10.1000/182}}"
    place = await lia.begin(title="Typed", record=record, act="import")
    page = read_page((await lia.get(place)).body)
    assert [value_of(page, name).strip() for name in ("title", "creators", "date", "record")] == [
        "Typed",
        "Silva, Ana\nSouza, Bia",
        "2024",
        "",
    ]
    answer = await lia.send(place, {"record": "10.1000/182", "act": "import"})
    page = read_page(answer.body)
    assert answer.status == 400
    assert "it is a DOI alone" in (page.one("p", id="record-error").find("bdi").text or "")  # type: ignore[union-attr]
    assert value_of(page, "record").strip() == "10.1000/182"


CSL = (
    '{"type": "article", "title": "Uma", "foo": 1,'
    ' "author": [{"family": "Silva", "given": "Ana", "ORCID": "0000-0002-1825-0098"}]}'
)
TWO = "@article{a, title={Uma}}\n@article{b, title={Outra}}"


@pytest.mark.parametrize(
    ("language", "left_out", "others"),
    [
        ("en", "Left out of the imported record", "Only the first record was imported. 1 other record"),
        ("pt-BR", "Ficou de fora do registro importado", "Só o primeiro registro foi importado. 1 outro registro"),
        ("es", "No se incluyó del registro importado", "Solo se importó el primer registro. 1 registro más"),
    ],
)
async def test_what_is_left_out_of_a_record_is_named(
    lia: DepositingPerson, language: str, left_out: str, others: str
) -> None:
    said = {"accept-language": language}
    answer = await lia.send("/deposit", {"record": CSL, "act": "import"}, headers=said)
    page = read_page(answer.body)
    assert answer.status == 200
    assert left_out in page.text
    assert [words(each) for each in page.all("code")] == ["author ORCID", "foo"]
    assert value_of(page, "title") == "Uma"
    assert value_of(page, "record").strip() == CSL
    place = page.one("form", enctype="multipart/form-data").attrib["action"]
    assert place.startswith("/deposit/draft-")
    answer = await lia.send("/deposit", {"record": TWO, "act": "import"}, headers=said)
    page = read_page(answer.body)
    assert (answer.status, value_of(page, "title")) == (200, "Uma")
    assert others in page.text
    assert left_out not in page.text


async def test_a_record_of_which_all_is_taken_is_not_kept_in_the_form(lia: DepositingPerson) -> None:
    place = await lia.begin(record="@article{a, title={Uma}}", act="import")
    page = read_page((await lia.get(place)).body)
    assert (value_of(page, "title"), value_of(page, "record").strip()) == ("Uma", "")
    answer = await lia.send(place, {"record": CSL, "act": "import"}, headers=JSON)
    assert (answer.json()["left_out"], answer.json()["other_records"]) == (["author ORCID", "foo"], 0)


async def test_a_record_that_cannot_be_read_begins_no_draft(lia: DepositingPerson) -> None:
    answer = await lia.send("/deposit", {"title": "Typed", "record": "no record at all", "act": "import"})
    page = read_page(answer.body)
    assert answer.status == 400
    assert "Nothing was saved" in page.text
    assert (value_of(page, "record").strip(), value_of(page, "title")) == ("no record at all", "Typed")
    assert page.one("p", id="record-error") is not None
    assert page.one("form", enctype="multipart/form-data").attrib["action"] == "/deposit"
    assert lia.app.drafts.total().drafts == 0


# --- the main file ----------------------------------------------------------------------------------------------------


async def test_a_main_file_that_is_removed_is_not_the_main_file_any_more(lia: DepositingPerson) -> None:
    place = await lia.begin([("zero.txt", b"0"), ("v2.txt", b"2")], title="Uma", target="zero.txt")
    page = read_page((await lia.get(place)).body)
    sent = {**fields_of(page), "target": "zero.txt", "remove": "zero.txt"}
    assert (await lia.send(place, sent)).status == 303
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "target") == "v2.txt"  # the only one that is left
    answer = await lia.send(place, {**fields_of(page), "target": "v2.txt", "act": "publish"})
    assert (answer.status, answer.headers["location"][:5]) == (303, "/col/")


async def test_no_file_takes_the_place_of_a_main_file_if_there_are_several(lia: DepositingPerson) -> None:
    place = await lia.begin([("a.txt", b"0"), ("b.txt", b"2"), ("c.txt", b"3")], title="Uma", target="a.txt")
    page = read_page((await lia.get(place)).body)
    answer = await lia.send(place, {**fields_of(page), "target": "a.txt", "remove": "a.txt"}, headers=JSON)
    assert answer.json()["newer"] == {"target": ""}
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "target") == ""
    # One that is chosen with the same form stays chosen, and one that is removed and was not it changes nothing.
    assert (await lia.send(place, {**fields_of(page), "target": "b.txt", "remove": "c.txt"})).status == 303
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "target") == "b.txt"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "the main file is not among the files"),
        ("pt-BR", "o arquivo principal não está entre os arquivos"),
        ("es", "el archivo principal no está entre los archivos"),
    ],
)
async def test_a_main_file_that_is_not_there_is_told_in_the_words_of_the_form(
    lia: DepositingPerson, language: str, said: str
) -> None:
    place = await lia.begin([("a.txt", b"0")], title="Uma", target="b.txt")
    answer = await lia.send(place, {"act": "publish"}, headers={"accept-language": language})
    assert answer.status == 400
    assert said in words(read_page(answer.body).one("p", id="target-error"))


# --- two windows ------------------------------------------------------------------------------------------------------


def fields_of(page: Page) -> dict[str, str]:
    """What a browser sends of a form in which nothing was typed."""
    names = ("title", "creators", "summary", "language")
    return {"marks": page.one("input", name="marks").attrib["value"]} | {name: value_of(page, name) for name in names}


async def test_two_windows_that_change_different_fields_both_keep_what_they_saved(lia: DepositingPerson) -> None:
    place = await lia.begin(title="Old", creators="Silva, Ana", language="pt")
    one = two = fields_of(read_page((await lia.get(place)).body))
    assert (await lia.send(place, {**one, "title": "New", "creators": "Souza, Bia", "act": "save"})).status == 303
    assert (await lia.send(place, {**two, "summary": "Said", "language": "português", "act": "save"})).status == 303
    page = read_page((await lia.get(place)).body)
    shown = [value_of(page, name).strip() for name in ("title", "creators", "summary", "language")]
    assert shown == ["New", "Souza, Bia", "Said", "pt"]


@pytest.mark.parametrize("act", ["save", "publish"])
async def test_a_window_does_not_overwrite_a_field_that_another_has_changed(lia: DepositingPerson, act: str) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Old")
    one = two = fields_of(read_page((await lia.get(place)).body))
    await lia.send(place, {**one, "title": "Theirs", "creators": "Souza, Bia", "act": "save"})
    answer = await lia.send(place, {**two, "title": "Mine", "summary": "Said", "act": act})
    page = read_page(answer.body)
    assert answer.status == 409
    assert [value_of(page, name).strip() for name in ("title", "creators", "summary")] == ["Mine", "Souza, Bia", "Said"]
    assert page.all("p", id="title-error")
    assert "hidden" not in page.one("div", role="alert", data_clash="").attrib
    assert place in page.links
    kept = read_page((await lia.get(place)).body)
    assert [value_of(kept, name).strip() for name in ("title", "summary")] == ["Theirs", "Said"]
    again = fields_of(page)
    assert (await lia.send(place, {**again, "act": "save"})).status == 409
    assert (await lia.send(place, {**again, "overwrite": "1"})).status == 303
    assert value_of(read_page((await lia.get(place)).body), "title") == "Mine"


async def test_scripts_get_what_another_window_has_saved_and_marks_for_the_next_save(lia: DepositingPerson) -> None:
    place = await lia.begin(title="Old")
    one = two = fields_of(read_page((await lia.get(place)).body))
    await lia.send(place, {**one, "title": "Theirs", "act": "save"})
    found = (await lia.send(place, {**two, "summary": "Said", "act": "save"}, headers=JSON)).json()
    assert (found["errors"], found["newer"], found["clash"]) == ({}, {"title": "Theirs"}, False)
    known = {**two, "title": "Mine", "marks": found["marks"], "summary": "Said"}
    assert (await lia.send(place, {**known, "act": "save"}, headers=JSON)).json()["errors"] == {}
    found = (await lia.send(place, {**two, "title": "Third", "act": "save"}, headers=JSON)).json()
    assert (list(found["errors"]), found["clash"]) == (["title"], True)


# --- sessions that end ------------------------------------------------------------------------------------------------

SIGNED_OUT = {"cookie": ""}


async def test_a_form_that_comes_after_the_session_has_ended_is_shown_again_with_what_was_typed(
    lia: DepositingPerson,
) -> None:
    place = await lia.begin([("secret.txt", b"one")], title="Old")
    typed = {"title": "New", "summary": "Said", "record": "@article{a}", "act": "publish"}
    answer = await lia.send(place, typed, [("b.txt", b"two")], SIGNED_OUT)
    page = read_page(answer.body)
    assert answer.status == 403
    assert [value_of(page, name).strip() for name in ("title", "summary", "record")] == ["New", "Said", "@article{a}"]
    assert page.one("form", class_="deposit columns").attrib["action"] == place
    assert f"/sign-in?to={place}" in page.links
    assert "choose them again" in page.text
    assert "secret.txt" not in page.text
    assert page.one("input", name="csrf", autocomplete="off").attrib["value"] == ""
    kept = read_page((await lia.get(place)).body)
    assert value_of(kept, "title") == "Old"
    assert "b.txt" not in kept.text


async def test_what_was_typed_beside_files_of_many_megabytes_outlives_the_session(
    lia: DepositingPerson,
) -> None:
    lia.app.drafts.rules = replace(lia.app.drafts.rules, largest=10**9)
    piece, pieces = bytes(4 * 1024 * 1024), 65
    head, tail = form(
        part('form-data; name="csrf"', b"0"), file_part("a.bin", b"@@@"), part('form-data; name="title"', b"Kept")
    ).split(b"@@@")
    sent = {"accept": "text/html", "sec-fetch-site": "same-origin", **FORM}
    answer = await ask(lia.app.app, "POST", "/deposit", sent, [head, *[piece] * pieces, tail])
    page = read_page(answer.body)
    assert answer.status == 403
    assert 'value="Kept"' in answer.body.decode()
    assert "Files are not kept meanwhile: choose them again." in page.text


async def test_a_form_of_an_earlier_session_is_shown_again_with_what_was_typed_and_saved_with_the_next_click(
    lia: DepositingPerson,
) -> None:
    place = await lia.begin(title="Old")
    answer = await lia.send(place, {"title": "New", "act": "save"}, csrf="of-the-session-before")
    page = read_page(answer.body)
    assert (answer.status, value_of(page, "title")) == (403, "New")
    assert value_of(read_page((await lia.get(place)).body), "title") == "Old"
    token = page.one("input", name="csrf", autocomplete="off").attrib["value"]
    assert (await lia.send(place, {"title": "New", "act": "save"}, csrf=token)).status == 303
    assert value_of(read_page((await lia.get(place)).body), "title") == "New"


async def test_scripts_are_told_that_the_session_has_ended_and_get_the_token_of_the_next_one(
    lia: DepositingPerson,
) -> None:
    place = await lia.begin(title="Old")
    answer = await lia.send(place, {"title": "New", "act": "save"}, headers=JSON | SIGNED_OUT)
    assert (answer.status, answer.json()["code"]) == (403, "signed-out")
    assert "csrf" not in answer.json()
    answer = await lia.send(place, {"title": "New", "act": "save"}, headers=JSON, csrf="of-the-session-before")
    assert (answer.status, answer.json()["csrf"]) == (403, lia.csrf)
    assert (await lia.get(f"{place}/files", **JSON, **SIGNED_OUT)).json()["code"] == "signed-out"


@pytest.mark.parametrize("headers", [{}, SIGNED_OUT])
async def test_a_form_of_another_site_is_not_shown_again(lia: DepositingPerson, headers: dict[str, str]) -> None:
    foreign = {"sec-fetch-site": "cross-site", **headers}
    answer = await lia.send("/deposit", {"title": "Planted", "act": "save"}, headers=foreign, csrf="x")
    assert answer.status == 403
    assert b"Planted" not in answer.body


# --- strangers --------------------------------------------------------------------------------------------------------


async def test_who_is_not_signed_in_is_asked_to_and_a_reader_may_not(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin(title="Uma")
    for path in ("/deposit", place, f"{place}/files", "/account/items"):
        answer = await ask(app.app, "GET", path, {"accept": "text/html"})
        assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?to={path}")
        assert (await DepositingPerson(app, people, f"r{len(path)}", Role.READER).get(path)).status == 403


@pytest.mark.parametrize("act", ["save", "publish", "discard"])
async def test_a_draft_of_another_does_not_exist(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson, act: str
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    rui = DepositingPerson(app, people, "rui")
    assert (await rui.get(place)).status == 404
    assert (await rui.get(f"{place}/files")).status == 404
    answer = await rui.send(place, {"title": "Mine", "act": act}, [("b.txt", b"two")])
    assert answer.status == 404
    fields = f"csrf={rui.csrf}&discard={place.removeprefix('/deposit/')}".encode()
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **rui.cookie}
    assert (await ask(app.app, "POST", "/account/items", headers, fields)).status == 404
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "title") == "Uma"
    assert "b.txt" not in page.text


async def test_a_librarian_goes_on_with_the_draft_of_another(
    app: RecordsApp, people: MemoryPeople, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    bia = DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    assert (await bia.send(place, {"title": "Duas", "act": "save"})).status == 303
    assert "Duas" not in (await bia.get("/account/items")).body.decode()
    assert "Duas" in (await lia.get("/account/items")).body.decode()


@pytest.mark.parametrize(
    ("csrf", "headers"),
    [("wrong", {}), ("", {}), (None, {"sec-fetch-site": "cross-site"}), (None, {"sec-fetch-site": "same-site"})],
)
async def test_a_form_of_another_site_changes_nothing_and_none_of_its_files_is_kept(
    app: RecordsApp, lia: DepositingPerson, csrf: str | None, headers: dict[str, str]
) -> None:
    place = await lia.begin(title="Uma")
    for path in (place, "/deposit"):
        answer = await lia.send(path, {"title": "Taken", "act": "save"}, [("b.txt", b"two")], headers, csrf)
        assert answer.status == 403
    page = (await lia.get(place)).body.decode()
    assert "Taken" not in page
    assert "b.txt" not in page
    assert len(app.drafts.list_own(Depositor(person_account("lia"), "lia"))) == 1


async def test_a_file_before_the_proof_of_the_form_is_not_taken(app: RecordsApp, lia: DepositingPerson) -> None:
    body = form(file_part("b.txt", b"two"), part('form-data; name="csrf"', lia.csrf.encode()))
    headers = {"accept": "text/html", "sec-fetch-site": "same-origin", **FORM, **lia.cookie}
    assert (await ask(app.app, "POST", "/deposit", headers, body)).status == 403


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/../b", "CON", "a\\\\b", "x\u202etxt.exe", "a" * 300, "a/", "b?"]
)
async def test_a_name_that_cannot_be_kept_is_told_and_keeps_no_other_file_out(
    tmp_path: Path, lia: DepositingPerson, name: str
) -> None:
    files = [("a.txt", b"one"), (name, b"bad"), ("c.txt", b"three")]
    answer = await lia.send("/deposit", {"title": "Uma", "act": "publish"}, files)
    assert answer.status == 400
    page = read_page(answer.body)
    assert [each.attrib["value"] for each in page.all("button", name="remove")] == ["a.txt", "c.txt"]
    assert page.all("ul", class_="plain error-text refused")
    assert value_of(page, "title") == "Uma"
    assert not (tmp_path / "etc").exists()


async def test_refused_files_are_named_and_counted_beyond_the_first(lia: DepositingPerson) -> None:
    files = [("good.txt", b"one"), *((f"a:{number}.txt", b"bad") for number in range(23))]
    page = read_page((await lia.send("/deposit", {"title": "Uma", "act": "save"}, files)).body)
    (told,) = [each for each in page.all("ul", class_="plain error-text refused") if "data-refused" not in each.attrib]
    lines = ["".join(each.itertext()) for each in told]
    assert (len(lines), lines[-1]) == (21, "and 3 more")
    assert "a:19.txt" in lines[-2]
    assert [each.attrib["value"] for each in page.all("button", name="remove")] == ["good.txt"]


async def test_names_and_texts_are_shown_as_text(lia: DepositingPerson) -> None:
    place = await lia.begin([("a'&b.txt", b"one")], title="<script>alert(1)</script>'", summary="</textarea><b>")
    page = read_page((await lia.get(place)).body)
    assert value_of(page, "summary") == "</textarea><b>"
    assert "<script>alert" not in page.source
    read_page((await lia.get("/account/items")).body)


async def test_a_file_beyond_the_bounds_is_told_and_what_was_typed_is_kept(tmp_path: Path) -> None:
    people = MemoryPeople()
    async with records_app(tmp_path, people=people, largest=10) as app:
        lia = DepositingPerson(app, people)
        answer = await lia.send("/deposit", {"title": "Uma", "act": "save"}, [("a.txt", b"x" * 11), ("b.txt", b"x")])
        page = read_page(answer.body)
        assert (answer.status, value_of(page, "title")) == (413, "Uma")
        assert [each.attrib["value"] for each in page.all("button", name="remove")] == ["b.txt"]


async def test_one_draft_too_many_is_told_with_what_was_typed(tmp_path: Path) -> None:
    people = MemoryPeople()
    async with records_app(tmp_path, people=people, quota=DraftQuota(drafts=1)) as app:
        lia = DepositingPerson(app, people)
        await lia.begin(title="Uma")
        answer = await lia.send("/deposit", {"title": "Duas", "act": "save"}, [("a.txt", b"one")])
        assert (answer.status, value_of(read_page(answer.body), "title")) == (409, "Duas")


async def test_fields_have_bounds(lia: DepositingPerson) -> None:
    assert (await lia.send("/deposit", {"summary": "x" * 3_000_000})).status == 413
    assert (await lia.send("/deposit", {f"f{number}": "" for number in range(200)})).status == 400


async def test_a_file_that_has_not_come_whole_is_shown_and_not_published(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    draft, who = place.removeprefix("/deposit/"), Depositor(person_account("lia"), "lia")
    app.drafts.uploads.begin_partial(who, draft, "large.bin", 1000)
    answer = await lia.send(place, {"act": "publish"})
    page = read_page(answer.body)
    assert answer.status == 409
    assert page.all("p", id="files-error")
    (button,) = page.all("button", name="drop")
    assert (await lia.send(place, {"drop": button.attrib["value"]})).status == 303
    assert (await lia.send(place, {"act": "publish"})).headers["location"].startswith("/col/")


# --- scripts ----------------------------------------------------------------------------------------------------------


async def test_scripts_get_what_is_saved_what_is_wrong_and_how_it_will_be_cited(lia: DepositingPerson) -> None:
    answer = await lia.send("/deposit", {**DESCRIBED, "date": "x", "act": "save"}, headers=JSON)
    found = answer.json()
    assert list(found["errors"]) == ["date"]
    assert found["place"] == f"/deposit/{found['draft']}"
    assert [each["style"] for each in found["citations"]] == ["ABNT", "APA"]
    assert ["On naming things", True] in found["citations"][0]["runs"]
    again = (await lia.send(found["place"], {"act": "save", "date": "2027"}, [("a/b.txt", b"1")], JSON)).json()
    assert (again["errors"], again["label"]) == ({}, found["label"])
    files = json.loads((await lia.get(f"{found['place']}/files")).body)
    assert files == {"files": [["a/b.txt", 1]]}


# --- review -----------------------------------------------------------------------------------------------------------


async def test_what_waits_for_review_is_shown_and_does_not_change_until_it_is_sent_back(
    tmp_path: Path, people: MemoryPeople
) -> None:
    async with records_app(tmp_path, people=people, is_reviewed=True) as app:
        lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
        place = await lia.begin([("a.txt", b"one")], title="Uma")
        assert "Submit for review" in read_page((await lia.get(place)).body).text
        answer = await lia.send(place, {"act": "publish"})
        assert (answer.status, answer.headers["location"]) == (303, place)
        page = read_page((await lia.get(place)).body)
        assert "disabled" in page.one("fieldset", class_="all").attrib
        assert f"/account{place.replace('/deposit/', '/drafts/')}/review" in page.links
        answer = await lia.send(place, {"title": "Changed", "act": "save"}, [("b.txt", b"two")])
        assert answer.status == 409
        assert "waiting for review" in read_page((await lia.get("/account/items")).body).text
        assert (await bia.send(place, {"title": "Corrected", "act": "save"})).status == 303
        reviews, draft = app.drafts.reviews, place.removeprefix("/deposit/")
        assert reviews is not None
        reviews.send_back(Depositor(person_account("bia"), "bia", Scope.EDIT), draft, "No date")
        page = read_page((await lia.get(place)).body)
        assert "returned this draft" in page.text
        assert value_of(page, "title") == "Corrected"
        assert page.all("fieldset", class_="all") == []


# --- my items ---------------------------------------------------------------------------------------------------------


async def test_own_items_and_drafts_are_listed_and_a_draft_is_discarded(app: RecordsApp, lia: DepositingPerson) -> None:
    await app.deposit()  # another's
    place = await lia.begin([("a.txt", b"one")], title="Published")
    await lia.send(place, {"act": "publish"})
    draft = await lia.begin([("a.txt", b"one")], title="Begun")
    page = read_page((await lia.get("/account/items")).body)
    assert "Uma tese" not in page.text
    assert [text in page.text for text in ("Published", "Begun", "Original", "1 file")] == [True] * 4
    fields = f"csrf={lia.csrf}&discard={draft.removeprefix('/deposit/')}".encode()
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **lia.cookie}
    assert (await ask(app.app, "POST", "/account/items", headers, fields)).status == 303
    page = read_page((await lia.get("/account/items")).body)
    assert "Begun" not in page.text
    assert (await lia.get(draft)).status == 404


async def test_a_draft_is_discarded_from_its_form(lia: DepositingPerson) -> None:
    place = await lia.begin(title="Uma")
    answer = await lia.send(place, {"act": "discard", "title": "x"})
    assert (answer.status, answer.headers["location"]) == (303, "/account/items")
    assert (await lia.get(place)).status == 404
