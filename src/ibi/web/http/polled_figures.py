"""Figures for `/metrics` that are not counted as things happen, but asked of a store when they are collected."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

from ibi.model.content import Problem
from ibi.ports.errors import StorageError
from ibi.services.integrity.integrity import Integrity
from ibi.services.promptness import beside


class PolledFigures(ABC):
    """Figures that are read anew when they are collected, at most once in `fresh` seconds."""

    def __init__(self, fresh: float, *, is_prompt: bool) -> None:
        """Without `is_prompt` the store is slow, and a report does not wait for it."""
        self._fresh, self._is_prompt = fresh, is_prompt
        self._looked = -fresh
        self._reading: asyncio.Task[None] | None = None

    async def refresh(self) -> None:
        """Update the figures; called before they are collected."""
        if time.monotonic() < self._looked + self._fresh:
            return
        self._looked = time.monotonic()
        if self._is_prompt:
            await self._look()
        else:  # the earlier figures stay until these are known
            self._reading = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            await (asyncio.to_thread(self.read) if self._is_prompt else beside(self.read))
        except StorageError:
            return  # the earlier figures stay

    def expire(self) -> None:
        """Have the figures read anew before they are collected again."""
        self._looked = -self._fresh

    @abstractmethod
    def read(self) -> None:
        """Ask the store, and set the figures. Blocks."""


class IntegrityMetrics(PolledFigures):
    def __init__(self, registry: CollectorRegistry, integrity: Integrity, now: Callable[[], float] = time.time) -> None:
        super().__init__(60.0, is_prompt=integrity.is_prompt)  # counting a million items takes a moment
        self._integrity, self._now = integrity, now
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

    def read(self) -> None:
        summary = self._integrity.summary()
        self._damaged.set(summary.damaged)
        self._unverified.set(summary.items - summary.verified)
        self._last.set(summary.newest or 0)
        self._age.set(0 if summary.oldest is None else max(0, self._now() - summary.oldest))

    def _count(self, name: str, problem: Problem) -> None:
        self._found.inc()
        self.expire()
