"""What `/metrics` tells of the wholeness of kept content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic, time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ibi.model.content import Problem
from ibi.services.integrity import Integrity
from ibi.storage.errors import StorageError

__all__ = ["IntegrityMetrics"]

_FRESH: Final = 10.0
"""Seconds for which the figures stand: of a million items they take a moment to count."""


class IntegrityMetrics:
    def __init__(self, registry: CollectorRegistry, integrity: Integrity, now: Callable[[], float] = time) -> None:
        self._integrity, self._now, self._counted = integrity, now, -_FRESH
        self._found = Counter("ibi_damage_found", "Times that kept content was found damaged.", registry=registry)
        self._damaged = Gauge("ibi_items_damaged", "Items of which something kept is damaged.", registry=registry)
        self._unverified = Gauge(
            "ibi_items_never_verified", "Items that no verification has read since they were kept.", registry=registry
        )
        self._last = Gauge(
            "ibi_last_verification_seconds", "When an item was verified last, in seconds since 1970.", registry=registry
        )
        self._age = Gauge(
            "ibi_oldest_verification_age_seconds",
            "Time since that item was verified which has waited longest.",
            registry=registry,
        )
        integrity.watch(self._count)

    async def refresh(self) -> None:
        """Called before the figures are told."""
        if monotonic() < self._counted + _FRESH:
            return
        self._counted = monotonic()
        try:
            summary = await asyncio.to_thread(self._integrity.summary)
        except StorageError:
            return  # those of before stand
        self._damaged.set(summary.damaged)
        self._unverified.set(summary.items - summary.verified)
        self._last.set(summary.newest or 0)
        self._age.set(0 if summary.oldest is None else max(0, self._now() - summary.oldest))

    def _count(self, name: str, problem: Problem) -> None:
        self._found.inc()
        self._counted = -_FRESH
