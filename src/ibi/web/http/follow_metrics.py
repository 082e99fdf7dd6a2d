"""Figures of what an Archive follows and of its webhooks: how far each is behind.

Short: they are asked of a store, as all polled figures are.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

from ibi.services.subscriptions.subscriptions import Listing
from ibi.web.http.polled_figures import PolledFigures


class FollowMetrics(PolledFigures):
    def __init__(self, registry: CollectorRegistry, follows: Listing, webhooks: Listing) -> None:
        super().__init__(5.0, is_prompt=True)
        self._follows, self._webhooks = follows, webhooks
        named = ["follow", "source"]
        self._behind = Gauge(
            "ibi_follow_behind",
            "Changes of the source that are not taken in, and items that wait to be brought.",
            named,
            registry=registry,
        )
        self._refused = Gauge("ibi_follow_refused", "Items that could not be brought so far.", named, registry=registry)
        self._failing = Gauge(
            "ibi_follow_failing", "1 while the source does not answer as an Archive does.", named, registry=registry
        )
        self._undelivered = Gauge(
            "ibi_webhook_behind", "Changes after the last one that was delivered.", ["webhook"], registry=registry
        )
        self._disabled = Gauge(
            "ibi_webhook_disabled", "1 for a webhook that is not told any more.", ["webhook"], registry=registry
        )

    def read(self) -> None:
        follows, webhooks = self._follows(), self._webhooks()
        for gauge in (self._behind, self._refused, self._failing, self._undelivered, self._disabled):
            gauge.clear()
        for each in follows:
            name = each["id"], each["source"]
            self._behind.labels(*name).set(each["behind"])
            self._refused.labels(*name).set(each["refused"])
            self._failing.labels(*name).set(each["failing_since"] is not None)
        for each in webhooks:
            self._undelivered.labels(each["id"]).set(each["behind"])
            self._disabled.labels(each["id"]).set(each["disabled"] is not None)
