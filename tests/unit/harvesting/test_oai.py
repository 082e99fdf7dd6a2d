"""OAI-PMH over HTTP: every verb, every error of the protocol, and what is in the answers."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as Tree

import pytest
from lxml import etree

from ibi.harvesting.api import oai
from ibi.harvesting.service import harvesting
from ibi.people.model.account import Scope
from ibi.standard.instant import Instant
from tests.support.archive_app import BASE, OTHER, archive_app, kept
from tests.support.asgi_client import Answer, ask
from tests.support.oai_answer import DC, HAS_SCHEMAS, OAI, read_answer, validate
from tests.support.records_app import RECORDS, RecordsApp, records_app

LIST = "verb=ListRecords&metadataPrefix=oai_dc"
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def get(app: RecordsApp, query: str) -> Tree.Element:
    answer = await ask(app.app, "GET", f"/oai?{query}")
    return checked(answer)


def checked(answer: Answer) -> Tree.Element:
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/xml; charset=utf-8"
    return read_answer(answer.body)


def error(root: Tree.Element) -> str | None:
    found = root.find(f"{OAI}error")
    return None if found is None else found.get("code")


def texts(root: Tree.Element, name: str) -> list[str]:
    return [each.text or "" for each in root.iter(f"{OAI}{name}")]


async def test_an_archive_identifies_itself(tmp_path: Path) -> None:
    async with records_app(tmp_path, admin_email="ana@lab.br") as app:
        await app.deposit()
        root = await get(app, "verb=Identify")
        assert texts(root, "baseURL") == [f"{BASE}/oai"]
        assert texts(root, "adminEmail") == ["ana@lab.br"]
        assert texts(root, "deletedRecord") == ["persistent"]
        assert texts(root, "earliestDatestamp") <= texts(root, "responseDate")
        request = root.find(f"{OAI}request")
        assert request is not None
        assert request.attrib == {"verb": "Identify"}


async def test_an_archive_without_an_address_for_mail_names_that_of_its_host(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert texts(await get(app, "verb=Identify"), "adminEmail") == ["postmaster@arq.lab.br"]


async def test_records_have_the_description_that_everyone_may_see(tmp_path: Path) -> None:
    said = {
        "metadata": {
            "title": [{"value": "<b>\"Ação\" & 'x' ]]> \U0001f600", "language": "pt-BR"}],
            "creator": [{"name": "Silva, Ana"}],
            "resource_type": "Dataset",
        },
        "visibility": {"networks": ["10.0.0.0/8"]},
        "url": "http://secret.example/",
    }
    async with records_app(tmp_path) as app:
        draft = await app.begin(said)
        rep = (await app.publish(draft))["rep"]
        root = await get(app, LIST)
        (title,) = root.iter(f"{DC}title")
        assert title.text == said["metadata"]["title"][0]["value"]  # type: ignore[index]
        assert texts(root, "identifier") == [f"oai:arq.lab.br:{rep}"]
        assert set(texts(root, "setSpec")) == {"prefix:inpe.br~2fsid", "type:Dataset"}
        assert "secret.example" not in Tree.tostring(root, "unicode")
        one = await get(app, f"verb=GetRecord&metadataPrefix=oai_dc&identifier={quote(f'oai:arq.lab.br:{rep}')}")
        (found,), (listed,) = one.iter(f"{OAI}record"), root.iter(f"{OAI}record")
        assert Tree.tostring(found) == Tree.tostring(listed)


async def test_a_deleted_item_is_a_deleted_record_without_metadata(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}?reason=why")).status == 200
        identifier = quote(f"oai:arq.lab.br:{rep}")
        for query in (LIST, f"verb=GetRecord&metadataPrefix=oai_dc&identifier={identifier}"):
            (header,) = (await get(app, query)).iter(f"{OAI}header")
            assert header.get("status") == "deleted"
        formats = await get(app, f"verb=ListMetadataFormats&identifier={identifier}")
        assert error(formats) == "noMetadataFormats"


async def test_lists_go_on_with_tokens_until_one_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvesting, "PAGE", 2)
    async with records_app(tmp_path) as app:
        labels = {(await app.deposit())["rep"] for _ in range(5)}
        for verb in ("ListRecords", "ListIdentifiers"):
            root, given, cursors = await get(app, f"verb={verb}&metadataPrefix=oai_dc&from=2020-01-01"), [], []
            while True:
                given += [each.rpartition(":")[2] for each in texts(root, "identifier")]
                (token,) = root.iter(f"{OAI}resumptionToken")
                cursors.append(token.get("cursor"))
                if not token.text:
                    break
                root = await get(app, f"verb={verb}&resumptionToken={quote(token.text)}")
            assert (len(given), set(given), cursors) == (5, labels, ["0", "2", "4"])


async def test_every_set_that_is_listed_can_be_harvested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with records_app(tmp_path) as app:
        await app.deposit({"metadata": {"title": "T", "resource_type": "Text"}})
        listed = texts(await get(app, "verb=ListSets"), "setSpec")
        assert {"prefix", "type", "type:Text", "prefix:inpe.br~2fsid"} <= set(listed)
        found = {spec: error(await get(app, f"{LIST}&set={spec}")) for spec in listed}
        full = {spec for spec, code in found.items() if code is None}
        assert full == {"prefix", "type", "type:Text", "prefix:inpe.br~2fsid"}
        assert set(found.values()) == {None, "noRecordsMatch"}
        monkeypatch.setattr(oai, "MOST_SETS", 2)
        prefixes = ["a.br/w", "b.br/w", "c.br/w"]
        monkeypatch.setattr(
            app.store.changes, "prefixes", lambda after, most: tuple(p for p in prefixes if p > after)[:most]
        )
        root = await get(app, "verb=ListSets")
        (token,) = root.iter(f"{OAI}resumptionToken")
        rest = await get(app, f"verb=ListSets&resumptionToken={quote(token.text or '')}")
        assert [*texts(root, "setSpec")[-2:], *texts(rest, "setSpec")] == [f"prefix:{p[:4]}~2fw" for p in prefixes]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "badVerb"),
        ("verb=Nothing", "badVerb"),
        ("verb=Identify&verb=Identify", "badVerb"),
        ("verb=Identify&until=2020-01-01", "badArgument"),
        (f"{LIST}&set=a&set=b", "badArgument"),
        (f"{LIST}&from=%FF", "badArgument"),
        (f"{LIST}&set=\xff", "badArgument"),
        ("&".join(f"a{number}=1" for number in range(100)), "badArgument"),
        ("verb=ListRecords&metadataPrefix=marc21", "cannotDisseminateFormat"),
        ("verb=GetRecord&metadataPrefix=marc21&identifier=oai:arq.lab.br:x", "cannotDisseminateFormat"),
        ("verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:arq.lab.br:x", "idDoesNotExist"),
        (f"verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:arq.lab.br:{OTHER}", "idDoesNotExist"),
        (f"verb=ListMetadataFormats&identifier=oai:arq.lab.br:{OTHER}", "idDoesNotExist"),
        (LIST, "noRecordsMatch"),
        (f"{LIST}&set=nothing", "noRecordsMatch"),
        ("verb=ListRecords&resumptionToken=x", "badResumptionToken"),
        ("verb=ListIdentifiers&resumptionToken=%00%EF%BF%BE%22%3C", "badResumptionToken"),
        ("verb=ListSets&resumptionToken=x", "badResumptionToken"),
    ],
)
async def test_errors_of_the_protocol_are_answers(tmp_path: Path, query: str, code: str) -> None:
    async with records_app(tmp_path) as app:
        root = await get(app, query)
        request = root.find(f"{OAI}request")
        assert request is not None
        assert error(root) == code
        assert bool(request.attrib) == (code not in ("badVerb", "badArgument"))


async def test_a_post_is_answered_like_a_get(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        await app.deposit()
        root = checked(await ask(app.app, "POST", "/oai", FORM, LIST.encode()))
        assert Tree.tostring(root.findall(f"{OAI}ListRecords")[0]) == Tree.tostring(
            (await get(app, LIST)).findall(f"{OAI}ListRecords")[0]
        )
        assert error(checked(await ask(app.app, "POST", "/oai", FORM, b"verb=%FF"))) == "badArgument"


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [({"content-type": "application/json"}, b"{}", 415), ({}, b"", 415), (FORM, b"a=" + b"x" * 9_000, 413)],
)
async def test_a_post_of_anything_but_a_short_form_is_refused(
    tmp_path: Path, headers: dict[str, str], body: bytes, status: int
) -> None:
    async with records_app(tmp_path) as app:
        assert (await ask(app.app, "POST", "/oai", headers, body)).status == status
        assert (await ask(app.app, "PUT", "/oai", FORM)).status == 405


async def test_a_set_that_is_still_counted_asks_for_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvesting, "_PATIENCE", -1.0)
    async with records_app(tmp_path) as app:
        await app.deposit()
        answer = await ask(app.app, "GET", f"/oai?{LIST}&set=type:Text")
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")


async def test_an_archive_without_a_feed_is_not_harvested() -> None:
    app = archive_app(kept(OTHER))
    assert (await app.get("/oai?verb=Identify")).status == 404


async def test_dates_are_of_the_feed_and_not_of_the_record(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        assert (await app.ask("GET", f"{RECORDS}/{rep}", headers=app.bearer(Scope.READ))).status == 200
        entry = app.store.changes.since(0, 10).changes[-1]
        assert texts(await get(app, LIST), "datestamp") == [str(Instant(entry.listed))]


@pytest.mark.skipif(not HAS_SCHEMAS, reason="`make schemas` could not fetch OAI-PMH.xsd")
def test_the_schemas_refuse_what_the_protocol_does_not_have() -> None:
    with pytest.raises(etree.DocumentInvalid, match="Identifi"):
        validate(
            b'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2026-11-16T00:00:00Z</responseDate>'
            b"<request>http://archive.example/oai</request><Identifi/></OAI-PMH>"
        )
