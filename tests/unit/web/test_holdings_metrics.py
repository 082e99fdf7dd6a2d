"""What `/metrics` and `/readyz` tell of what an Archive has, and of the room for more."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from ibi.deposits.rules.drafts import DraftQuota
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.membership.model.membership import Membership, Phase
from ibi.standard.messages.answers import InclusionStatus
from ibi.web.metrics import HoldingsMetrics
from tests.support.archive_app import archive_app, deleted, kept
from tests.support.asgi_client import ask
from tests.support.records_app import RecordsApp, records_app

Figures = dict[tuple[str, ...], float]
PROMTOOL = shutil.which("promtool")


def figures(text: str) -> Figures:
    """Every sample by its name and the values of its labels."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


async def collected(app: RecordsApp) -> Figures:
    return figures((await ask(app.app, "GET", "/metrics")).body.decode())


async def test_what_an_archive_has_is_told(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=DraftQuota(reserve=1)) as app:
        await app.deposit(None, a=b"1234567", b=b"89")
        draft = await app.begin()
        await app.send(draft, "c.txt", b"123")
        found = await collected(app)
    assert found["ibi_items", "original"] == 1
    assert found["ibi_item_files", "original"] == 2
    assert found["ibi_item_bytes", "original"] == 9
    assert found["ibi_items", "deleted"] == found["ibi_items", "copy"] == 0
    assert (found["ibi_drafts",], found["ibi_draft_bytes",]) == (1, 3)
    assert found["ibi_disk_free_bytes",] > found["ibi_disk_reserve_bytes",] == 1
    assert found["ibi_deposits_refused_for_space",] == 0
    assert (found["ibi_membership", "off"], found["ibi_membership", "included"]) == (1, 0)


async def test_where_the_feed_of_changes_stands_is_told(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert app.site.feed is not None
        await app.deposit()
        assert (await collected(app))["ibi_changes",] == app.site.feed.position().end == 1


def test_deleted_items_are_apart() -> None:
    site = archive_app(kept("lab.br/arq/2009/07.21.14.43"), deleted("lab.br/arq/2010/07.21.14.43")).site
    registry = CollectorRegistry()
    HoldingsMetrics(registry, site, None, None).read()
    assert registry.get_sample_value("ibi_items", {"state": "original"}) == 1
    assert registry.get_sample_value("ibi_items", {"state": "deleted"}) == 1
    assert registry.get_sample_value("ibi_item_bytes", {"state": "deleted"}) == 0


@pytest.mark.parametrize("confirmed", [True, False])
def test_the_membership_is_told(confirmed: bool) -> None:
    class Kept:
        def read(self) -> Membership:
            return Membership(Phase.INCLUDING).after(InclusionStatus(confirmed))

    registry = CollectorRegistry()
    HoldingsMetrics(registry, archive_app().site, Kept(), None).read()  # type: ignore[arg-type]
    phases = {phase: registry.get_sample_value("ibi_membership", {"phase": phase.value}) for phase in Phase}
    assert phases == {phase: phase is Phase.INCLUDED for phase in Phase}
    assert registry.get_sample_value("ibi_membership_confirmed") == confirmed


async def test_without_room_for_deposits_a_server_is_not_ready(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=DraftQuota(reserve=10**18)) as app:
        answer = await ask(app.app, "GET", "/readyz")
        found = await collected(app)
        refused = await app.ask("POST", "/api/items", {"metadata": {"title": "Uma tese"}})
    assert refused.status == 507
    assert answer.status == 503
    assert [each["code"] for each in answer.json()["reasons"]] == ["disk-nearly-full"]
    assert answer.json()["reasons"][0]["detail"] == refused.json()["detail"]
    assert found["ibi_deposits_refused_for_space",] == 1


async def test_with_room_for_deposits_it_is(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=DraftQuota(reserve=1)) as app:
        assert (await ask(app.app, "GET", "/readyz")).status == 200


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool here: `make promtool` installs it where that works")
async def test_prometheus_own_tool_finds_nothing_to_object_to(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    integrity = Integrity(SqliteIntegrity(tmp_path / "catalogue.sqlite"))
    async with records_app(tmp_path / "data", integrity=integrity) as app:
        await app.deposit()
        text = (await ask(app.app, "GET", "/metrics")).body
    integrity.ledger.close()
    call = partial(subprocess.run, [PROMTOOL, "check", "metrics"], input=text, capture_output=True, timeout=60)
    done = await asyncio.to_thread(call)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
