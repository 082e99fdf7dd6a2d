"""What a resolver counts: bounded, whatever Archives do."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from ibi.resolver.api.resolver_metrics import MOST_ARCHIVES, ResolverMetrics
from ibi.standard.reply import Answered, Failure
from tests.support.scripted_archives import archive


def test_archives_beyond_the_bound_share_a_name() -> None:
    registry = CollectorRegistry()
    metrics = ResolverMetrics(registry)
    for number in range(MOST_ARCHIVES + 10):
        metrics.on_replied(archive(f"a{number}"), Answered(None), 0.01)
    count = registry.get_sample_value("ibi_archive_replies_total", {"archive": "other", "reply": "empty"})
    first = registry.get_sample_value("ibi_archive_replies_total", {"archive": "a0.example.org", "reply": "empty"})
    assert (count, first) == (10.0, 1.0)


def test_failures_have_names() -> None:
    registry = CollectorRegistry()
    metrics = ResolverMetrics(registry)
    for failure in Failure:
        metrics.on_replied(archive("a"), failure, 0.01)
        labels = {"archive": "a.example.org", "reply": failure.name.lower()}
        assert registry.get_sample_value("ibi_archive_replies_total", labels) == 1.0
