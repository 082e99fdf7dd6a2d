"""Refused and broken connections in the log: each kind at once, and then once a minute with their number."""

from __future__ import annotations

import structlog
from prometheus_client import generate_latest
from structlog.testing import capture_logs

from ibi.server.server import LoadLog
from ibi.web.request_middleware import Metrics


class Minute:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_of_refusals_is_a_line_a_minute() -> None:
    clock, metrics = Minute(), Metrics()
    with capture_logs() as lines:
        load = LoadLog(structlog.get_logger(), metrics, clock)
        for _ in range(1000):
            load.note_refused("192.0.2.7", False)
        clock.now = 61.0
        load.note_refused("2001:db8::/64", False)
    assert [line["number"] for line in lines] == [1, 1000]
    assert [line["client"] for line in lines] == ["192.0.2.0/24", "2001:db8::/48"]
    assert all("connections_per_client" in line["event"] for line in lines)
    assert b'ibi_connections_refused_total{reason="client"} 1001.0' in generate_latest(metrics.registry)


def test_every_kind_has_a_line_of_its_own() -> None:
    metrics = Metrics()
    with capture_logs() as lines:
        load = LoadLog(structlog.get_logger(), metrics, Minute())
        load.note_refused("192.0.2.7", False)
        load.note_refused("192.0.2.7", True)
        load.note_displaced("192.0.2.7")
        load.note_unread("192.0.2.7")
        load.note_exhausted()
    assert len({line["event"] for line in lines}) == 5
    assert {line["log_level"] for line in lines} == {"warning"}
    told = generate_latest(metrics.registry)
    for name in (
        b'connections_refused_total{reason="server"}',
        b'connections_broken_total{reason="displaced"}',
        b'connections_broken_total{reason="unread"}',
        b"descriptors_exhausted_total",
    ):
        assert b"\nibi_%b 1.0\n" % name in told
