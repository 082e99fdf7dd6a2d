"""Values of minting: the state of a clock, a batch of labels, an entry of the mint log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from ibi.standard.clock import Granularity, TickRun, next_ticks
from ibi.standard.clock_reading import Reading
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.label.generate import (
    mount_fraction,
    mount_heads,
    mount_ibip,
    mount_repository_name,
    mount_suffix_of_ibip,
    mount_suffix_of_repository_name,
)
from ibi.standard.messages.identification import LabelForms

_TOGETHER = 1024
"""Largest batch with labels that are formatted together: its shares are mostly requested at the same time."""


@dataclass(frozen=True, slots=True)
class Span:
    """Dates from `first` to `last`, both issued, perhaps with free ones between."""

    first: Instant
    last: Instant


class Gap(IntEnum):
    """The uncertainty of a clock about the time before its next label."""

    NONE = 0
    BEGINNING = 1
    """An identity begins here: a former installation of the same name may have issued labels until now."""
    LOST_TRACK = 2
    """Another boot, a lost lock record or a restored directory: an instance of the same past may even be running."""


@dataclass(frozen=True, slots=True)
class TickState:
    """The state of one identity's clock (Algorithm 4's last-date-for-suffix, made durable)."""

    last: Instant | None = None
    ahead: tuple[Span, ...] = ()
    """Dates issued by a clock that ran ahead and was corrected; they are skipped when time reaches them."""
    reading: Reading | None = None
    """The clocks when the last label was minted: the base for measuring a jump."""
    accepted: Instant | None = None
    """The time of day that an operator last confirmed."""
    gap: Gap = Gap.NONE
    """Closed by the next label, which has a date later than the time at which it is minted (E57)."""
    resumed: Instant | None = None
    """The time at which the last gap was closed, if another instance of the same past may be running."""


class MintedLabel(NamedTuple):
    """One item's label in both forms, of one instant."""

    rep: str
    ibip: str | None
    instant: Instant


_make_label: Callable[[tuple[str, str | None, Instant]], MintedLabel] = partial(tuple.__new__, MintedLabel)
"""Does the same as `MintedLabel`, in half the time."""


class MintRequest(NamedTuple):
    """A request for `count` labels; with a `key`, a repeated request gets the same ones."""

    count: int  # type: ignore[assignment]  # hides `tuple.count`, which has no use here
    who: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class LabelBatch:
    """Labels minted in one commit. By Algorithm 4, their dates follow from `now`, `after`, `granularity` and `count`.

    So a million labels are stored as these four values.
    """

    rep_prefix: str
    ibip_prefix: str | None
    sandbox: bool
    now: Instant
    after: Instant | None
    granularity: Granularity
    count: int
    _ticks: TickRun | None = field(default=None, repr=False, compare=False)
    """The ticks that follow from the other values, if they are known already."""
    _labels: tuple[MintedLabel, ...] | None = field(default=None, init=False, repr=False, compare=False)

    def ticks(self) -> TickRun:
        """Return the ticks, cached, because every share of the batch reads them."""
        ticks = self._ticks
        if ticks is None:
            ticks = next_ticks(self.now, self.after, self.granularity, self.count)
            object.__setattr__(self, "_ticks", ticks)
        return ticks

    def span(self) -> Span:
        ticks = self.ticks()
        return Span(ticks.first, ticks.last)

    def labels(self, start: int, count: int) -> Iterator[MintedLabel]:
        """Return `count` of its labels from the `start`-th on."""
        if self.count > _TOGETHER:
            return self._write_labels(self.ticks().dates(start, count))
        labels = self._labels
        if labels is None:
            labels = tuple(self._write_labels(self.ticks().dates()))
            object.__setattr__(self, "_labels", labels)
        return iter(labels[start : start + count])

    def _write_labels(self, dates: Iterable[Instant]) -> Iterator[MintedLabel]:
        rep, ibip = self.rep_prefix, self.ibip_prefix
        second, rep_head, ibip_head = None, "", ""
        for date in dates:
            if fraction := date.fraction:
                if date.seconds != second:
                    second = date.seconds
                    rep_head, ibip_head = mount_heads(rep, ibip, second)
                other = ibip_head + mount_fraction(fraction) if ibip_head else None
                yield _make_label((rep_head + fraction, other, date))
            else:
                other = None if ibip is None else mount_ibip(ibip, mount_suffix_of_ibip(date))
                yield MintedLabel(mount_repository_name(rep, mount_suffix_of_repository_name(date)), other, date)


class BatchShare(NamedTuple):
    """The part of a batch that answers one request: `count` labels from the `start`-th on."""

    batch: LabelBatch
    start: int
    count: int  # type: ignore[assignment]
    who: str

    @property
    def ready(self) -> Instant:
        """The date of the last label: no label is handed out before its date has come."""
        return self.batch.ticks().date(self.start + self.count - 1)

    def labels(self) -> Iterator[MintedLabel]:
        return self.batch.labels(self.start, self.count)

    def forms(self) -> LabelForms:
        """Return the one label of this part, in its forms."""
        (minted,) = self.labels()
        return LabelForms(RepositoryName.parse(minted.rep), None if minted.ibip is None else Ibip.parse(minted.ibip))
