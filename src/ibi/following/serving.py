"""Subscriptions: follows of other Archives, and webhooks."""

from __future__ import annotations

from ibi.following.api.subscriptions import SubscriptionPages
from ibi.following.pages import FollowsPage
from ibi.following.service.subscriptions import Subscriptions
from ibi.web.metrics import FollowMetrics
from ibi.web.opened import Opened, WebContext


def serve_subscriptions(context: WebContext, subscriptions: Subscriptions) -> Opened:
    pages = SubscriptionPages(subscriptions, context.authentication, context.proxies)
    shown = () if context.sessions is None else FollowsPage(context.sessions, *subscriptions.lists).routes()
    return Opened(
        routes=[*pages.routes(), *shown],
        jobs=subscriptions.jobs(),
        figures=[FollowMetrics(context.metrics.registry, *subscriptions.lists)],
        stop=[subscriptions.stop],
    )
