"""What is said over HTTP of an Archive that may have been put back from a backup, and did not hear from others yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from ibi.standard.label import RepositoryName
from ibi.transfers.model import OpenItem, OpenProblem
from ibi.transfers.service.worker import ItemInDoubt
from ibi.web.errors import problem
from ibi.web.metrics import HoldingsMetrics
from tests.support.archive_app import REP, RESOLVER, SERVICE, ArchiveApp, archive_app, deleted, kept
from tests.support.records_app import RECORDS, records_app

OTHER = "http://b.example"


class Tracking:
    """As the site asks it."""

    def __init__(self, *unheard: str, is_silent: bool = False, open_item: OpenItem | None = None) -> None:
        self.unheard, self.is_silent, self._open_item = unheard, is_silent, open_item
        self.open_items = self

    def find(self, rep: RepositoryName) -> OpenItem | None:
        return self._open_item

    def count(self) -> dict[OpenProblem, int]:
        found = None if self._open_item is None else self._open_item.problem
        return {each: int(each is found) for each in OpenProblem}

    @property
    def in_doubt(self) -> bool:
        return bool(self.unheard)

    def require_changeable(self, name: str) -> None:
        if self.is_silent:
            raise ItemInDoubt(label=name, witnesses=", ".join(self.unheard))


def app_with(tracking: Tracking, *items: Any) -> ArchiveApp:
    items = items or (kept(REP), kept(str(SERVICE.rep)), deleted("lab.br/arq/2010/07.21.14.43"))
    return archive_app(*items, tracking=tracking)


GRAVE = Tracking(OTHER, RESOLVER, is_silent=True)


async def test_records_and_lists_say_that_the_state_is_not_confirmed() -> None:
    app = app_with(GRAVE)
    record = (await app.get(f"/api/items/{REP}")).json()
    assert (record["state"], record["unconfirmed"]) == ("Original", True)
    assert (await app.get(f"/col/{REP}/metadata?format=json")).json()["unconfirmed"] is True
    assert (await app.get(f"/api/items/{REP}/manifest")).json()["unconfirmed"] is True
    listed = {each["labels"]["rep"]: each for each in (await app.get("/api/items")).json()["items"]}
    assert listed[REP]["unconfirmed"] is True


@pytest.mark.parametrize("tracking", [Tracking(), Tracking(OTHER)])
async def test_nothing_is_said_of_items_without_grave_doubt(tracking: Tracking) -> None:
    app = app_with(tracking)
    assert "unconfirmed" not in (await app.get(f"/api/items/{REP}")).json()
    assert b"being confirmed" not in (await app.get(f"/col/{REP}/metadata")).body


async def test_the_archives_own_item_and_tombstones_are_confirmed() -> None:
    app = app_with(GRAVE)
    for label in (str(SERVICE.rep), "lab.br/arq/2010/07.21.14.43"):
        assert "unconfirmed" not in (await app.get(f"/api/items/{label}")).json()


@pytest.mark.parametrize(
    ("language", "words", "original"),
    [
        ("en", "State being confirmed.", "This Archive keeps the Original."),
        ("pt-BR", "Estado em confirmação.", "Este Arquivo mantém o Original."),
        ("es", "Estado por confirmar.", "Este Archivo conserva el Original."),
    ],
)
async def test_the_page_of_an_item_says_it_in_the_language_of_the_reader(
    language: str, words: str, original: str
) -> None:
    headers = {"accept-language": language, "accept": "text/html"}
    in_doubt = (await app_with(GRAVE).get(f"/col/{REP}/metadata", headers)).body.decode()
    sure = (await app_with(Tracking()).get(f"/col/{REP}/metadata", headers)).body.decode()
    assert (words in in_doubt, original in in_doubt) == (True, False)
    assert (words in sure, original in sure) == (False, True)


async def test_a_server_in_doubt_is_ready_and_names_what_waits_for_whom() -> None:
    grave = await app_with(GRAVE).get("/readyz")
    assert (grave.status, grave.json()["in_doubt"], grave.json()["unheard"]) == (200, "items", [OTHER, RESOLVER])
    slight = (await app_with(Tracking(OTHER)).get("/readyz")).json()
    assert (slight["ready"], slight["in_doubt"], slight["unheard"]) == (True, "transfers", [OTHER])
    assert (await app_with(Tracking()).get("/readyz")).json() == {"ready": True, "reasons": []}


async def test_a_verbose_readiness_lists_what_was_looked_at_and_what_is_worth_knowing() -> None:
    sure = (await app_with(Tracking()).get("/readyz?verbose")).json()
    assert (sure["ready"], sure["reasons"], sure["notices"]) == (True, [], [])
    assert all(each["ok"] and each["codes"] == [] for each in sure["checks"])
    slight = (await app_with(Tracking(OTHER)).get("/readyz?verbose=1")).json()
    assert [each["code"] for each in slight["notices"]] == ["in-doubt"]
    assert slight["in_doubt"] == "transfers"


@pytest.mark.parametrize(("tracking", "in_doubt", "unheard"), [(GRAVE, 1, 2), (Tracking(OTHER), 0, 1)])
def test_the_doubt_is_measured(tracking: Tracking, in_doubt: int, unheard: int) -> None:
    registry = CollectorRegistry()
    HoldingsMetrics(registry, app_with(tracking).site, None, None).read()
    assert registry.get_sample_value("ibi_archive_in_doubt") == in_doubt
    assert registry.get_sample_value("ibi_archive_unheard") == unheard


def test_open_items_are_measured_by_stage() -> None:
    registry = CollectorRegistry()
    found = OpenItem(RepositoryName.parse(REP), OpenProblem.NOT_FETCHED)
    HoldingsMetrics(registry, app_with(Tracking(open_item=found)).site, None, None).read()
    counts = {each.value: registry.get_sample_value("ibi_open_items", {"stage": each.value}) for each in OpenProblem}
    assert counts == {"unchecked": 0, "not-taken": 0, "not-fetched": 1, "in-doubt": 0, "contradicted": 0}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "The Original belongs here, and no Archive that was asked has its files."),
        ("pt-BR", "O Original pertence a este Arquivo, e nenhum Arquivo consultado tem os seus arquivos."),
        ("es", "El Original pertenece a este Archivo, y ningún Archivo consultado tiene sus ficheros."),
    ],
)
async def test_the_page_of_an_item_says_what_is_open_about_a_transfer(language: str, words: str) -> None:
    asked = (f"{OTHER}: <it has no item>",)
    rep = RepositoryName.parse(REP)
    found = OpenItem(rep, OpenProblem.NOT_FETCHED, "b.example/ibi/2020/01.01.00.00", "no Archive has it", asked)
    headers = {"accept-language": language, "accept": "text/html"}
    page = (await app_with(Tracking(open_item=found)).get(f"/col/{REP}/metadata", headers)).body.decode()
    assert words in page
    assert "b.example/ibi/2020/01.01.00.00" in page
    assert f"{OTHER}: &lt;it has no item&gt;" in page
    soon = replace(found, problem=OpenProblem.UNCHECKED)
    assert OTHER not in (await app_with(Tracking(open_item=soon)).get(f"/col/{REP}/metadata", headers)).body.decode()


def test_a_refused_change_says_when_to_try_again() -> None:
    answer = problem(ItemInDoubt(label=REP, witnesses=RESOLVER))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


async def test_changes_over_http_are_refused_and_new_items_taken(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        first = await app.deposit(None, a=b"first")
        place = f"{RECORDS}/{first['rep']}"
        update = f"{RECORDS}/{(await app.ask('POST', f'{place}/draft')).json()['id']}"
        assert (await app.send(update, "b.txt")).status == 201
        app.store.guard_changes(GRAVE.require_changeable)
        for method, path, said in (
            ("DELETE", f"{place}?reason=wrong", None),
            ("POST", f"{update}/publish", None),
            ("POST", f"{place}/relations", {"next_edition": "lab.br/arq/2024/01.01.00.00"}),
        ):
            refused = await app.ask(method, path, said)
            assert (refused.status, refused.json()["type"]) == (503, "urn:ibi:problem:item-in-doubt"), path
            assert (refused.headers["retry-after"], RESOLVER in refused.json()["detail"]) == ("5", True)
        edition = await app.begin({"metadata": {"title": "Second"}, "edition_of": {"rep": first["rep"]}})
        await app.send(edition, "c.txt")
        assert (await app.ask("POST", f"{edition}/publish")).json()["type"] == "urn:ibi:problem:item-in-doubt"
        await app.deposit(None, b=b"new")
        app.store.guard_changes(Tracking().require_changeable)
        assert (await app.publish(update))["version"] == 2  # the draft was kept
