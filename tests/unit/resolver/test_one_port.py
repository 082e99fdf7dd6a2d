"""Minter, Archive and resolver behind one port: who answers what."""

from __future__ import annotations

from typing import Any

import pytest

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from tests.support.archive_app import BASE, IBIP, OTHER, REP, SERVICE, archive_app, deleted, kept
from tests.support.one_port import OnePort
from tests.support.standards_archives import forms

J = "/J8LNKB5R7W/3FUQHC5"


@pytest.fixture
def port() -> OnePort:
    return OnePort()


@pytest.mark.parametrize(
    "target", [f"/{REP}", f"/{IBIP}", f"/ibi/{REP}", f"/{REP.replace('/', '%2F')}", f"/{REP}/a.txt"]
)
async def test_a_link_is_resolved_through_the_archives_own_service(port: OnePort, target: str) -> None:
    answer = await port.get(target)
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/col/{REP}/doc/a.txt")


async def test_a_reader_who_is_sent_on_is_counted_by_the_acknowledgment(port: OnePort) -> None:
    await port.get(f"/{REP}")
    await port.get(f"/{REP}")
    (usage,) = port.archive.usage.counts().values()
    assert usage.resolutions == 1


async def test_robots_are_counted_apart(port: OnePort) -> None:
    await port.get(f"/{REP}", {"user-agent": "Examplebot/1.0"})
    (usage,) = port.archive.usage.counts().values()
    assert (usage.resolutions, usage.robot_resolutions) == (0, 1)


async def test_services_answer_under_their_labels(port: OnePort) -> None:
    confirmed = await port.get(f"/{SERVICE.labels[0]}?servicesubject=inclusionConfirmationRequest")
    assert confirmed.body == b"confirmation yes"
    asked = await port.get(f"{J}?servicesubject=inclusionRequest")
    assert asked.status == 400
    assert asked.body.startswith(b"error ")


async def test_without_a_subject_the_label_of_the_resolver_is_a_link_to_its_page(port: OnePort) -> None:
    assert (await port.get(J)).headers["location"] == "http://arq.lab.br/resolver"


@pytest.mark.parametrize("path", ["/api/x", "/col", "/static/none", "/%61pi/x/y"])
async def test_what_is_reserved_is_no_link(port: OnePort, path: str) -> None:
    answer = await port.get(path)
    assert answer.status == 404
    assert "access-control-allow-origin" not in answer.headers


async def test_routes_come_before_links(port: OnePort) -> None:
    assert (await port.get("/healthz")).status == 200
    assert (await port.get("/api/archives")).json() == {"archives": []}
    assert (await port.get("/api/labels")).status == 405


async def test_a_link_between_repositories_leads_to_the_resolver(port: OnePort) -> None:
    """E34."""
    answer = await port.get(f"/col/{OTHER}/doc/b.txt")
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/{OTHER}/b.txt")


async def test_every_resolution_is_counted(port: OnePort) -> None:
    await port.get(f"/{REP}")
    await port.get(f"/{REP}")
    await port.get(f"/{OTHER}")
    lines = (await port.get("/metrics")).body.decode().splitlines()
    assert 'ibi_resolutions_total{kept="no",outcome="Redirect"} 1.0' in lines
    assert 'ibi_resolutions_total{kept="yes",outcome="Redirect"} 1.0' in lines
    assert 'ibi_resolutions_total{kept="no",outcome="NotFound"} 1.0' in lines
    assert 'ibi_archive_replies_total{archive="arq.lab.br",reply="found"} 1.0' in lines
    assert 'ibi_archive_replies_total{archive="arq.lab.br",reply="empty"} 1.0' in lines
    assert 'ibi_acknowledgments_total{result="received"} 2.0' in lines
    assert 'ibi_http_requests_total{method="GET",route="/{ibi}",status="302"} 2.0' in lines


async def test_a_change_in_the_archive_is_seen_at_once(port: OnePort) -> None:
    assert (await port.get(f"/{OTHER}")).status == 404
    item, _ = kept(OTHER)
    port.archive.catalog.put(item)
    assert (await port.get(f"/{OTHER}")).status == 302


# --- tombstones ---

GONE, GONE_IBIP = "lab.br/arq/2011/01.02.03.04", "8JMKD3MGP8W/38SQ2TS"
BROWSER = {"accept": "text/html,*/*;q=0.8"}


@pytest.mark.parametrize("target", [f"/{GONE}", f"/{GONE_IBIP}", f"/{GONE}/a.txt", f"/{GONE}:", f"/ibi/{GONE}"])
async def test_the_link_of_a_deleted_item_shows_its_tombstone(target: str) -> None:
    port = OnePort(items=[kept(REP, IBIP), deleted(GONE, GONE_IBIP, why="withdrawn by its author")])
    answer = await port.get(target, BROWSER)
    assert answer.status == 410
    assert "withdrawn by its author" in answer.body.decode()
    assert (await port.get(target, BROWSER, "HEAD")).body == b""


async def test_a_tombstone_is_never_acknowledged() -> None:
    port = OnePort(items=[kept(REP, IBIP), deleted(GONE, GONE_IBIP)])
    await port.get(f"/{GONE}", BROWSER)
    assert port.archive.usage.counts() == {}


async def test_programs_are_told_of_a_deletion_as_facts() -> None:
    port = OnePort(items=[kept(REP, IBIP), deleted(GONE, GONE_IBIP)])
    answer = await port.get(f"/{GONE}")
    assert (answer.status, answer.json()["type"]) == (410, "urn:ibi:problem:item-deleted")


async def test_a_link_that_leads_on_to_a_deleted_edition_offers_this_one() -> None:
    port = OnePort(items=[kept(REP, IBIP, next_edition=forms(GONE)), deleted(GONE, GONE_IBIP, edition_of=forms(REP))])
    answer = await port.get(f"/{REP}!", BROWSER)
    assert answer.status == 410
    assert f'href="/{REP}"' in answer.body.decode()


async def test_a_link_to_an_item_that_no_archive_has_names_the_worlds_resolver(port: OnePort) -> None:
    answer = await port.get(f"/{OTHER}", BROWSER)
    assert answer.status == 404
    assert f'href="http://urlib.net/{OTHER}"' in answer.body.decode()


async def test_a_label_of_a_sandbox_is_not_sent_into_the_world(port: OnePort) -> None:
    answer = await port.get("/localhost/ibi.8765/2026/01.01.00.00", BROWSER)
    assert answer.status == 404
    assert "urlib.net" not in answer.body.decode()


# --- landing page first ---


@pytest.mark.parametrize("through_resolver", [True, False])
async def test_with_the_landing_page_first_browsers_get_the_page_and_programs_the_file(through_resolver: bool) -> None:
    options: dict[str, Any] = {
        "profile": ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE), landing_page=True)
    }
    port = OnePort(archive=options) if through_resolver else archive_app(kept(REP, IBIP), **options)
    led = (await port.get(f"/{IBIP}", BROWSER)).headers["location"]
    assert led == (await port.get(f"/{IBIP}")).headers["location"], "caches of resolvers know one address"
    place = led.removeprefix(BASE)
    assert (await port.get(place, BROWSER)).headers["location"] == f"{BASE}/col/{REP}/metadata"
    for program in (
        {},
        {"accept": "*/*"},
        {"accept": "image/avif,image/webp,*/*;q=0.8"},
        {"accept": "application/json"},
    ):
        assert (await port.get(place, program)).headers["location"] == f"{BASE}/col/{REP}/doc/a.txt"
    assert (await port.get(f"/{IBIP}/a.txt", BROWSER)).headers["location"] == f"{BASE}/col/{REP}/doc/a.txt"


async def test_without_the_landing_page_all_get_the_file(port: OnePort) -> None:
    for headers in (BROWSER, {}):
        assert (await port.get(f"/{IBIP}", headers)).headers["location"] == f"{BASE}/col/{REP}/doc/a.txt"
