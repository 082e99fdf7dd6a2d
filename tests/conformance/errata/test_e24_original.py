"""E20, E24: the Original is required, and its holder is not heard. R 5.2 says that there always is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.memory import Memory
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from ibi.standard.reply import Failure
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.resolver_app import REP, item, resolver_app
from tests.support.scripted_archives import archive

A, B, C = archive("a"), archive("b"), archive("c")
HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org")
VOUCHED = replace(A, vouched=True)
REQUIRED = f"/{REP}?ibiurl.requireditemstatus=Original"


def held_by(holder: ArchiveRef, at: int) -> Memory:
    beliefs = MemoryBeliefs()
    beliefs.record_holder(parse(REP), holder.service.labels[0], at)
    return Memory(beliefs)


async def told(archives: dict[ArchiveRef, Any], **options: Any) -> tuple[int, dict[str, Any]]:
    answer = await resolver_app(archives, **options).get(REQUIRED, {"accept": "application/json"})
    return answer.status, answer.json()


async def test_a_known_holder_that_is_dead_is_named() -> None:
    options = {"memory": held_by(B, 1_800_000_000), "wall": lambda: 1_800_000_100.0}
    status, facts = await told({A: item(A, "Copy"), B: Failure.CONNECTION_REFUSED}, **options)
    assert (status, facts["type"]) == (502, "urn:ibi:problem:original-not-reached")
    assert facts["home"]["address"] == B.address
    assert [copy["address"] for copy in facts["copies"]] == [A.address]


async def test_a_known_holder_that_is_switched_off_is_named() -> None:
    options = {"memory": held_by(B, 1_800_000_000), "wall": lambda: 1_800_000_100.0}
    status, facts = await told({A: item(A, "Copy"), C: b""}, **options)
    assert (status, facts["type"]) == (502, "urn:ibi:problem:original-not-reached")
    assert str(B.service.labels[0]) in facts["detail"]


@pytest.mark.parametrize("copy_at", [A, VOUCHED])
async def test_a_home_that_is_dead_is_named(copy_at: ArchiveRef) -> None:
    status, facts = await told({HOME: Failure.CONNECTION_REFUSED, copy_at: item(copy_at, "Copy")})
    assert status == 502
    assert facts["home"]["address"] == HOME.address


@pytest.mark.parametrize("copy_at", [A, VOUCHED])
async def test_a_home_that_is_switched_off_is_named(copy_at: ArchiveRef) -> None:
    status, facts = await told({copy_at: item(copy_at, "Copy"), B: b""}, away=(HOME.service,))
    assert status == 502
    assert str(HOME.service.labels[0]) in facts["detail"]


async def test_one_silent_archive_may_have_what_is_not_elsewhere() -> None:
    status, facts = await told({A: item(A, "Copy"), B: Failure.UNREACHABLE})
    assert (status, facts["type"], facts["home"]) == (502, "urn:ibi:problem:original-not-reached", None)


async def test_there_is_none_only_if_every_archive_has_answered() -> None:
    status, facts = await told({A: item(A, "Copy"), B: b""})
    assert (status, facts["type"]) == (404, "urn:ibi:problem:original-not-found")
