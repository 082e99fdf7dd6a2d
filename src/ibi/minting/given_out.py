"""Which labels were given out for use elsewhere, and which are reserved for items of this very Archive.

The mint log says who got which dates. Every name there is made by this program, as `token:…` or `cli:…`; the name of a
reservation for a deposit begins with `deposit:`. Whatever the log does not call a reservation counts as given out,
labels that were minted before reservations were marked among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.instant import Instant
from ibi.minting.mint_log import LogEntry
from ibi.model.minting import Span

_RESERVATION: Final = "deposit:"
_SECOND: Final = 1_000_000


def reservation_name(who: str) -> str:
    """The name under which labels are minted for this Archive's own items, whether or not they are used."""
    return _RESERVATION + who


def is_reservation(name: str) -> bool:
    return name.startswith(_RESERVATION)


def given_out_spans(entry: LogEntry) -> Iterator[Span]:
    """The dates of a line of the mint log that were given out, as one span for each stretch between reservations."""
    batch = entry.batch()
    if batch is None:
        return
    ticks = batch.ticks()
    begun, reached = 0, 0
    for name, count in entry.who:
        if is_reservation(name):
            if begun < reached:
                yield Span(ticks.date(begun), ticks.date(reached - 1))
            begun = reached + count
        reached += count
    if begun < reached:
        yield Span(ticks.date(begun), ticks.date(reached - 1))


def microseconds(instant: Instant, *, upwards: bool = False) -> int:
    """POSIX microseconds, rounded down, or `upwards` where a later date is the safe side."""
    fraction = instant.fraction
    if not fraction:
        return instant.seconds * _SECOND
    return instant.seconds * _SECOND + int(fraction[:6].ljust(6, "0")) + (upwards and len(fraction) > 6)
