"""The mint log: one line for everything that ever moved the clock, each bound to the line before it by its hash.

A line is a JSON object in ASCII. It holds what the labels follow from (time, last date before, granularity, count), so
that the log alone tells every label that was ever given out, and to whom; and the SHA-256 of the line before it, so
that no line can be changed, dropped or put in between without breaking the chain.

The mint log says who got which dates. Every name there is made by this program, as `token:…` or `cli:…`; the name of a
reservation for a deposit begins with `deposit:`. Whatever the log does not call a reservation counts as given out,
labels that were minted before reservations were marked among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from ibi.clock import Granularity
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.minting import Identity, LabelBatch, Span

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


GENESIS = "0" * 64
"""What the first line says of the line before it."""

Kind: TypeAlias = Literal["mint", "identity", "clock", "copy"]
"""Labels minted · identity taken · clock accepted · data directory confirmed on another machine or place."""


class LogBroken(IbiError):
    """Line {line} of the mint log is not what was written there: {reason}. Put the log back from a backup: nothing is
    minted on top of a damaged one."""

    code = "mint-log-broken"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line of the log. `who` lists who asked and for how many labels, in order; `after` is the clock's last date
    before it."""

    number: int
    kind: Kind
    identity: Identity
    at: Instant
    previous: str
    after: Instant | None = None
    granularity: Granularity | None = None
    who: tuple[tuple[str, int], ...] = ()
    _batch: LabelBatch | None = field(default=None, repr=False, compare=False)
    """What follows from the others, if it is known already."""

    @property
    def count(self) -> int:
        return sum(count for _, count in self.who)

    def batch(self) -> LabelBatch | None:
        """The batch that the line records, None if it minted nothing."""
        if self._batch is not None or self.granularity is None:
            return self._batch
        prefixes = self.identity.repository_prefix, self.identity.ibip_prefix
        return LabelBatch(*prefixes, self.identity.sandbox, self.at, self.after, self.granularity, self.count)

    def span(self) -> Span | None:
        batch = self.batch()
        return batch.span() if batch else None


def encode(entry: LogEntry) -> bytes:
    """The line, without its end."""
    identity, batch = entry.identity, entry.batch()
    fields: dict[str, object] = {
        "number": entry.number,
        "kind": entry.kind,
        "at": str(entry.at),
        "host": identity.host,
        "host_port": identity.host_port,
        "ip": identity.ip,
        "ip_port": identity.ip_port,
        "sandbox": identity.sandbox,
    }
    if batch is not None:
        ticks = batch.ticks()
        fields["after"] = None if entry.after is None else str(entry.after)
        fields["granularity"] = str(entry.granularity)
        fields["count"] = batch.count
        fields["first"] = str(ticks.first)
        fields["last"] = str(ticks.last)
    fields["who"] = merge_askers(entry.who)
    fields["previous"] = entry.previous
    return _WRITTEN(fields).encode("ascii")


_WRITTEN: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def merge_askers(who: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Merge neighbours of one asker: all that is needed of single requests is who got which stretch of dates."""
    stretches: list[tuple[str, int]] = []
    for name, count in who:
        if stretches and stretches[-1][0] == name:
            stretches[-1] = name, stretches[-1][1] + count
        else:
            stretches.append((name, count))
    return stretches


def decode(line: bytes, number: int) -> LogEntry:
    """The entry that `line` writes; `LogBroken` names line `number` if it writes none."""
    try:
        entry = _entry(json.loads(line))
        rewritten = encode(entry)
    # Whatever a line may hold: numbers too large, brackets too deep, dates that no label has.
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, IbiError) as error:
        raise LogBroken(line=number, reason=f"it cannot be read ({error})") from None
    if rewritten != line:
        raise LogBroken(line=number, reason="its dates do not follow from what it says")
    return entry


def _entry(fields: object) -> LogEntry:
    if not isinstance(fields, dict):
        raise TypeError("it is not an object")
    granularity, after = fields.get("granularity"), fields.get("after")
    ip = fields["ip"]
    host_port, ip_port, number = fields["host_port"], fields["ip_port"], fields["number"]
    who = fields["who"]
    if not (isinstance(host_port, int) and isinstance(ip_port, int) and isinstance(number, int)):
        raise TypeError("a port or number is not a number")
    if not isinstance(who, list):
        raise TypeError("who is not a list")
    identity = Identity(
        str(fields["host"]), None if ip is None else str(ip), host_port, ip_port, sandbox=fields["sandbox"] is True
    )
    identity.prefixes  # noqa: B018  (an identity that no label can name is refused here)
    kind = _kind(fields["kind"])
    if (kind == "mint") != (granularity is not None) or any(count < 1 for _, count in who):
        raise ValueError("only a mint line mints, and at least one label for everyone it names")
    return LogEntry(
        number,
        kind,
        identity,
        Instant.parse(str(fields["at"])),
        str(fields["previous"]),
        None if after is None else Instant.parse(str(after)),
        None if granularity is None else Granularity.parse(str(granularity)),
        tuple((str(name), int(count)) for name, count in who),
    )


def _kind(text: object) -> Kind:
    for kind in ("mint", "identity", "clock", "copy"):
        if text == kind:
            return kind
    raise ValueError(f"unknown kind {text!r}")


def hash_of(line: bytes) -> str:
    return sha256(line).hexdigest()


def verify(lines: Iterable[bytes], head: str | None = None) -> Iterator[LogEntry]:
    """Every entry in turn, each checked against the chain and against the dates before it; `LogBroken` otherwise.

    No line vouches for the last one: give its hash, if it is known, as `head`.
    """
    number, previous = 0, GENESIS
    latest: dict[str, Instant] = {}
    for number, line in enumerate(lines, start=1):
        entry = decode(line, number)
        if entry.previous != previous:
            raise LogBroken(line=number, reason="the line before it was changed or is missing")
        if entry.number != number:
            raise LogBroken(line=number, reason=f"it says that it is line {entry.number}")
        _check_order(entry, latest)
        yield entry
        previous = hash_of(line)
    if head is not None and head != previous:
        raise LogBroken(line=number, reason="it was changed, or lines after it are missing")


_END_OF_LINE: Final = len('"}')


def check_links(lines: Iterable[bytes], head: str, pause: Callable[[], None] | None = None) -> None:
    """Refuse a log in which a line does not follow from the one before it, or whose last line has not the hash `head`.

    No line can have been changed then. What the lines say is not read, as `verify` does: this takes two microseconds
    a line, so that ten million of them are checked in some twenty seconds. `pause` is called after every few thousand.
    """
    number, previous, digits = 0, GENESIS.encode(), -_END_OF_LINE - len(GENESIS)
    for number, line in enumerate(lines, start=1):
        # Every line ends with the hash of the one before it (`encode`).
        if line[digits:-_END_OF_LINE] != previous:
            raise LogBroken(line=number, reason="the line before it was changed or is missing")
        previous = sha256(line).hexdigest().encode()
        if pause is not None and not number % _LINES_AT_ONCE:
            pause()
    if previous.decode() != head:
        raise LogBroken(line=number, reason="it was changed, or lines after it are missing")


_LINES_AT_ONCE: Final = 2048


def _check_order(entry: LogEntry, latest: dict[str, Instant]) -> None:
    """Dates of a prefix only grow, unless an operator accepted a clock that was set back."""
    prefixes = entry.identity.prefixes
    if entry.kind == "clock":
        for prefix in prefixes:
            latest.pop(prefix, None)
    span = entry.span()
    if span is None:
        return
    for prefix in prefixes:
        if prefix in latest and span.first <= latest[prefix]:
            raise LogBroken(line=entry.number, reason=f"its first date {span.first} is not after {latest[prefix]}")
        latest[prefix] = span.last
