"""What is kept of refused inclusions, and how little of it one client can fill."""

from __future__ import annotations

from dataclasses import replace

from ibi.membership.service.refused_requests import MOST, MOST_OF_ONE, RefusedRequests
from ibi.standard.label import Label, parse
from ibi.standard.messages.values import ip_address
from tests.unit.membership.test_resolver_gateway import INCLUSION


def of_minute(number: int) -> Label:
    return parse(f"example.org/archive/2008/03.17.{number // 60:02}.{number % 60:02}")


def test_one_network_and_all_together_are_bounded() -> None:
    kept = RefusedRequests()
    for number in range(MOST_OF_ONE + 5):
        request = replace(INCLUSION, archive_service_ibi=of_minute(number), other_label=None)
        kept.keep(request, ip_address("203.0.113.7"), None, 0.0)
    assert len(kept) == MOST_OF_ONE
    for number in range(MOST + 5):
        request = replace(INCLUSION, archive_service_ibi=of_minute(number), other_label=None)
        kept.keep(request, ip_address(f"198.{18 + number // 256}.{number % 256}.7"), None, 0.0)
    assert len(kept) == MOST


def test_asking_again_replaces_what_was_kept_of_the_same_client() -> None:
    kept = RefusedRequests()
    for _ in range(3):
        kept.keep(INCLUSION, ip_address("203.0.113.7"), None, 0.0)
    assert len(kept) == 1
