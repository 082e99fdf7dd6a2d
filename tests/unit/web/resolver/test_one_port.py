"""Minter, Archive and resolver behind one port: who answers what."""

from __future__ import annotations

import pytest

from tests.support.archive_app import BASE, IBIP, OTHER, REP, SERVICE, kept
from tests.support.one_port import OnePort

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
