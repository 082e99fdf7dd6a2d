"""`GET /api/identity`, `/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ibi.minting.rules.minter import Rules
from ibi.people.model.account import Scope
from ibi.standard.clock import SECOND
from ibi.standard.identity import Identity
from ibi.storage.errors import DiskRefused
from tests.support.asgi_client import ask
from tests.support.memory.ticks import MemoryTicks
from tests.support.minting_app import MintingApp, minting_app


class Broken(MemoryTicks):
    """Fails with whatever it is given, from the next call on."""

    failure: Exception | None = None
    calls = 0

    def advance(self, decide):  # type: ignore[no-untyped-def]
        self.calls += 1
        if self.failure is not None:
            raise self.failure
        return super().advance(decide)


# --- identity ---------------------------------------------------------------------------------------------------------


async def test_every_visitor_may_ask_who_mints_here() -> None:
    async with minting_app() as minting:
        answer = await minting.get("/api/identity")
    assert answer.status == 200
    assert answer.json() == {
        "instance": minting.ticks.epoch(),
        "host": "sid.inpe.br",
        "ip": "150.163.34.243",
        "host_port": 80,
        "ip_port": 800,
        "prefixes": {"rep": "inpe.br/sid", "ibip": "8JMKD3MGP8W"},
        "is_global": True,
        "sandbox": False,
        "granularity": "auto",
        "wait_bound": 0.01,
        "longest_wait": 5.0,
        "max_count": 1_000_000,
        "clock": {"accepted": True, "code": None, "reason": None},
    }


async def test_a_sandbox_says_what_it_is() -> None:
    async with minting_app(Rules(SECOND), Identity.of_sandbox(8765)) as minting:
        identity = (await minting.get("/api/identity")).json()
    assert (identity["sandbox"], identity["is_global"], identity["granularity"]) == (True, False, "1")
    assert identity["prefixes"] == {"rep": "localhost/ibi.8765", "ibip": "LK47B6WE38"} | {
        "ibip": identity["prefixes"]["ibip"]
    }


async def test_the_identity_says_why_the_clock_is_not_believed() -> None:
    async with minting_app() as minting:
        await minting.mint()
        minting.clocks.jump(3600)
        clock = (await minting.get("/api/identity")).json()["clock"]
    assert (clock["accepted"], clock["code"]) == (False, "clock-jumped")
    assert "3600" in clock["reason"]


# --- health -----------------------------------------------------------------------------------------------------------


async def test_a_process_that_answers_lives() -> None:
    async with minting_app() as minting:
        minting.clocks.jump(-(10**9))
        answer = await minting.get("/healthz")
    assert (answer.status, answer.json()) == (200, {"status": "alive"})


async def test_a_minter_that_would_mint_is_ready_and_mints_nothing_to_find_out() -> None:
    async with minting_app() as minting:
        answer = await minting.get("/readyz")
        assert minting.nothing_minted()
    assert (answer.status, answer.json()) == (200, {"ready": True, "reasons": []})


async def test_a_clock_before_the_software_was_made_is_a_reason() -> None:
    async with minting_app() as minting:
        minting.clocks.jump(-(10**9))
        answer = await minting.get("/readyz")
    assert answer.status == 503
    assert [each["code"] for each in answer.json()["reasons"]] == ["clock-before-build"]
    assert int(answer.headers["retry-after"]) >= 1


async def test_a_store_that_cannot_be_opened_for_writing_is_a_reason() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = DiskRefused(path="/srv/ibi", reason="read-only")
        answer = await minting.get("/readyz")
    assert answer.status == 503
    assert [each["code"] for each in answer.json()["reasons"]] == ["store-unwritable"]
    assert "/srv" not in answer.body.decode()


async def test_a_write_that_failed_is_a_reason_until_one_succeeds() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = DiskRefused(path="/srv/ibi", reason="no space left")
        await minting.mint()
        ticks.failure = None
        assert (await minting.get("/readyz")).status == 503
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = DiskRefused(path="/srv/ibi", reason="no space left")
        await minting.mint()
        ticks.failure = None
        await minting.mint()
        assert (await minting.get("/readyz")).status == 200


async def test_a_crowd_that_asks_takes_the_minters_lock_once() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        await asyncio.gather(*(minting.get("/readyz") for _ in range(100)))
        await asyncio.gather(*(minting.get("/api/identity") for _ in range(100)))
    assert ticks.calls == 1


# --- metrics ----------------------------------------------------------------------------------------------------------


async def samples(minting: MintingApp) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = await minting.get("/metrics")
    assert answer.status == 200
    families = text_string_to_metric_families(answer.body.decode())
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }


async def test_labels_requests_and_commits_are_counted() -> None:
    async with minting_app() as minting:
        await minting.mint(3)
        await minting.mint(2, {"idempotency-key": "k"})
        await minting.mint(2, {"idempotency-key": "k"})
        await minting.mint(0)
        await minting.mint(1, minting.bearer(Scope.READ))
        found = await samples(minting)
    assert found["ibi_labels_minted_total", ()] == 5
    assert found["ibi_mint_requests_total", (("outcome", "minted"),)] == 3
    assert found["ibi_mint_requests_total", (("outcome", "invalid-count"),)] == 1
    assert found["ibi_mint_requests_total", (("outcome", "not-allowed"),)] == 1
    assert found["ibi_mint_group_requests_count", ()] == 3
    assert found["ibi_mint_seconds_count", ()] == 3
    assert found["ibi_clock_refused", ()] == 0
    assert found["ibi_mint_commit_failures_total", ()] == 0


async def test_a_refused_clock_is_a_gauge() -> None:
    async with minting_app() as minting:
        minting.clocks.jump(-(10**9))
        assert (await samples(minting))["ibi_clock_refused", ()] == 1


async def test_a_failed_commit_is_counted() -> None:
    ticks = Broken()
    async with minting_app(ticks=ticks) as minting:
        ticks.failure = DiskRefused(path="/", reason="no space left")
        await minting.mint()
        assert (await samples(minting))["ibi_mint_commit_failures_total", ()] == 1


async def test_the_process_is_measured() -> None:
    async with minting_app() as minting:
        assert ("process_resident_memory_bytes", ()) in await samples(minting)


async def test_nothing_a_request_says_becomes_a_label() -> None:
    async with minting_app() as minting:
        before = len(await samples(minting))
        await samples(minting)
        for number in range(50):
            await ask(minting.app, f"M{number}", f"/{number}", {"host": f"h{number}"})
            await ask(minting.app, "GET", f"/api/labels/{number}")
            await minting.mint(1, {"idempotency-key": "é" * number, "authorization": f"Bearer {number}"})
        after = await samples(minting)
    assert len(after) <= before + 12
    assert not any("M49" in str(key) or "/49" in str(key) for key in after)


async def test_two_servers_in_one_process_count_apart() -> None:
    async with minting_app() as one, minting_app() as other:
        await one.mint(7)
        assert (await samples(other))["ibi_labels_minted_total", ()] == 0


@pytest.mark.parametrize("path", ["/api/identity", "/healthz", "/readyz", "/metrics"])
async def test_a_state_is_never_cached(path: str) -> None:
    async with minting_app() as minting:
        assert (await minting.get(path)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/api/identity", "/api/openapi.json", "/healthz", "/readyz", "/metrics"])
async def test_a_page_is_only_read(path: str) -> None:
    async with minting_app() as minting:
        answer = await ask(minting.app, "POST", path)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json()["type"] == "urn:ibi:problem:method-not-allowed"
