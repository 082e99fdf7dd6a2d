"""The mint log: one line for every change of the clock, bound to the line before it by its hash.

A line is a JSON object in ASCII. It has the values from which the labels follow (time, last date before, granularity,
count). So the log alone gives every label that was ever handed out, and its recipient. A line also has the SHA-256 of
the line before it, so that no line can be changed, removed or inserted without breaking the chain.

This program makes every name in the log, as `token:…` or `cli:…`; the name of a reservation for a deposit begins with
`deposit:`. All other labels count as handed out, including those from before reservations were marked.

The log alone also gives the state of every clock. A store replays it when the store knows less than the log: after a
crash between the two writes, or after a restore from a backup.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from operator import attrgetter
from typing import Final, Literal, TypeAlias, TypeVar

from ibi.minting.model import BatchShare, Gap, LabelBatch, Span, TickState
from ibi.minting.rules.errors import IdentityChanged
from ibi.minting.rules.minter import with_accepted_clock
from ibi.standard.clock import Granularity
from ibi.standard.clock_reading import Reading
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant

_RESERVATION: Final = "deposit:"
_SECOND: Final = 1_000_000


def reservation_name(who: str) -> str:
    """Return the name under which labels are minted for this Archive's own items, used or not."""
    return _RESERVATION + who


def is_reservation(name: str) -> bool:
    return name.startswith(_RESERVATION)


def given_out_spans(entry: LogEntry) -> Iterator[Span]:
    """Yield the handed-out dates in a line of the mint log, one span for each stretch between reservations."""
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
    """Return POSIX microseconds, rounded down, or `upwards` where a later date is the safe side."""
    fraction = instant.fraction
    if not fraction:
        return instant.seconds * _SECOND
    return instant.seconds * _SECOND + int(fraction[:6].ljust(6, "0")) + (upwards and len(fraction) > 6)


_Value = TypeVar("_Value")

GENESIS = "0" * 64
"""The hash of the preceding line in the first line."""

Kind: TypeAlias = Literal["mint", "identity", "clock", "copy"]
"""Labels minted · identity frozen · clock accepted · data directory confirmed on another machine or place."""


class LogBroken(IbiError):
    """Line {line} of the mint log is not what was written there: {reason}. Put the log back from a backup: nothing is
    minted on top of a damaged one."""

    code = "mint-log-broken"
    kind = ErrorKind.OUT_OF_ORDER


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line of the log.

    `who` lists the requesters and their numbers of labels, in order. `after` is the clock's last date before it.
    """

    number: int
    kind: Kind
    identity: Identity
    at: Instant
    previous: str
    after: Instant | None = None
    granularity: Granularity | None = None
    who: tuple[tuple[str, int], ...] = ()
    _batch: LabelBatch | None = field(default=None, repr=False, compare=False)
    """The batch that follows from the other values, if it is known already."""

    @property
    def count(self) -> int:
        return sum(count for _, count in self.who)

    def batch(self) -> LabelBatch | None:
        """Return the batch that the line records, None if it minted nothing."""
        if self._batch is not None or self.granularity is None:
            return self._batch
        prefixes = self.identity.repository_prefix, self.identity.ibip_prefix
        return LabelBatch(*prefixes, self.identity.sandbox, self.at, self.after, self.granularity, self.count)

    def span(self) -> Span | None:
        batch = self.batch()
        return batch.span() if batch else None


def encode(entry: LogEntry) -> bytes:
    """Return the line, without its line end."""
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
    """Merge neighbours with the same requester: only the requester of each stretch of dates matters."""
    stretches: list[tuple[str, int]] = []
    for name, count in who:
        if stretches and stretches[-1][0] == name:
            stretches[-1] = name, stretches[-1][1] + count
        else:
            stretches.append((name, count))
    return stretches


def decode(line: bytes, number: int) -> LogEntry:
    """Return the entry in `line`; raise `LogBroken` for line `number` if it has none."""
    try:
        entry = _entry(json.loads(line))
        rewritten = encode(entry)
    # A line may hold anything: numbers too large, brackets too deep, dates that no label has.
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, IbiError) as error:
        raise LogBroken(line=number, reason=f"it cannot be read ({error})") from None
    if rewritten != line:
        raise LogBroken(line=number, reason="its dates do not follow from what it says")
    return entry


def _entry(fields: object) -> LogEntry:
    if not isinstance(fields, dict):
        raise TypeError("it is not an object")
    granularity, who = fields.get("granularity"), fields["who"]
    ports = _read_number(fields["host_port"]), _read_number(fields["ip_port"])
    number = _read_number(fields["number"])
    if not isinstance(who, list):
        raise TypeError("who is not a list")
    identity = Identity(str(fields["host"]), _unless_none(str, fields["ip"]), *ports, sandbox=fields["sandbox"] is True)
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
        _unless_none(Instant.parse, fields.get("after")),
        _unless_none(Granularity.parse, granularity),
        tuple((str(name), int(count)) for name, count in who),
    )


def _read_number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a port or number is not a number")
    return value


def _unless_none(read: Callable[[str], _Value], value: object) -> _Value | None:
    return None if value is None else read(str(value))


def _kind(text: object) -> Kind:
    for kind in ("mint", "identity", "clock", "copy"):
        if text == kind:
            return kind
    raise ValueError(f"unknown kind {text!r}")


def hash_of(line: bytes) -> str:
    return sha256(line).hexdigest()


def verify(lines: Iterable[bytes], head: str | None = None) -> Iterator[LogEntry]:
    """Yield every entry, each checked against the chain and against the dates before it; raise `LogBroken` otherwise.

    No line vouches for the last one: pass its hash, if it is known, as `head`.
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
    """Raise `LogBroken` if a line does not follow from the one before it, or the hash of the last line is not `head`.

    Otherwise no line can have been changed. Unlike `verify`, this does not parse the lines: it takes two microseconds a
    line, so that ten million are checked in some twenty seconds. `pause` is called after every few thousand.
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
    """Raise `LogBroken` unless the dates of a prefix grow, or an operator accepted a clock that was set back."""
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


Clocks = Mapping[str, TickState]
"""The clock of each identity that ever minted here, by `Identity.key`."""


def mint_entry(
    number: int, previous: str, identity: Identity, batch: LabelBatch, outcomes: Iterable[object]
) -> LogEntry:
    """Return the line that records `batch`, handed out as `outcomes`.

    Raise `IdentityChanged` if the batch was minted for another identity than the frozen `identity`, which an operator
    may have changed meanwhile: its dates come from the other one's clock.
    """
    minted = tuple([prefix for prefix in (batch.rep_prefix, batch.ibip_prefix) if prefix])
    if minted != identity.prefixes or batch.sandbox != identity.sandbox:
        raise IdentityChanged(frozen=str(identity), configured=" ".join(minted))
    who = _askers(batch, outcomes)
    return LogEntry(number, "mint", identity, batch.now, previous, batch.after, batch.granularity, who, batch)


def _askers(batch: LabelBatch, outcomes: Iterable[object]) -> tuple[tuple[str, int], ...]:
    """Return the requesters of `batch` with their numbers of labels, in the order of dates; neighbours are merged."""
    # A share of an earlier batch was recorded then, and requests with the same key have one share.
    shares = [each for each in outcomes if isinstance(each, BatchShare) and each.batch is batch]
    shares.sort(key=_START)
    who: list[tuple[str, int]] = []
    begun, reached, asker, asked = -1, 0, "", 0
    for _, start, count, name in shares:
        if start == begun:
            continue
        if start != reached:
            break
        if name != asker and asked:
            who.append((asker, asked))
            asked = 0
        begun, reached, asker, asked = start, reached + count, name, asked + count
    else:
        if reached == batch.count:
            return (*who, (asker, asked))
    raise ValueError("the shares of a batch are not the whole of it")


_START: Final = attrgetter("start")


def resumed_clock(identity: Identity, clocks: Clocks) -> TickState:
    """Return the clock with which `identity` begins or continues to mint.

    It is its own clock, but not before any clock that issued dates under one of its prefixes (a new address with the
    same host, for example). Otherwise one name would be issued twice.
    """
    state = clocks.get(identity.key, TickState())
    relatives = [clock for key, clock in clocks.items() if _share_a_prefix(key, identity.key)]
    last = max((clock.last for clock in relatives if clock.last is not None), default=None)
    ahead = {span for clock in relatives for span in clock.ahead if last is None or span.last > last}
    gap = max((clock.gap for clock in relatives), default=state.gap)
    return replace(state, last=last, ahead=tuple(sorted(ahead, key=lambda span: span.first)), gap=gap)


def _share_a_prefix(key: str, other: str) -> bool:
    """Return whether two `Identity.key` have a prefix in common."""
    return not set(key.split(" ")).isdisjoint(other.split(" "))


def later(state: TickState, date: Instant | None) -> TickState:
    """Return the clock, advanced to `date` if it is not there yet."""
    if date is None or (state.last is not None and date <= state.last):
        return state
    return replace(state, last=date)


def with_gap(state: TickState, gap: Gap, newest: Instant | None = None) -> TickState:
    """Return the clock after it lost track of the issued dates; `newest` is the newest date known from elsewhere.

    The present date is added when the next label is minted: the clock of a machine that has just booted may be wrong.
    """
    is_passed_over = newest is not None and any(span.first <= newest <= span.last for span in state.ahead)
    state = state if is_passed_over else later(state, newest)
    return replace(state, gap=max(state.gap, gap))


def issued_spans(identity: Identity, state: TickState, entries: Iterable[LogEntry]) -> list[Span]:
    """Return all dates that were issued under a prefix of `identity`, by the log and by the state of its clock."""
    logged = (entry.span() for entry in entries if _share_a_prefix(entry.identity.key, identity.key))
    remembered = (*state.ahead, *([Span(state.last, state.last)] if state.last else []))
    return [*(span for span in logged if span is not None), *remembered]


def replay_entry(
    entry: LogEntry, clocks: Clocks, entries_before: Callable[[], Iterable[LogEntry]]
) -> dict[str, TickState]:
    """Return the new states of the clocks that `entry` changes."""
    identity, key = entry.identity, entry.identity.key
    if entry.kind == "identity":
        return {key: resumed_clock(identity, clocks)}
    if key not in clocks:
        raise LogBroken(line=entry.number, reason="no line before it takes its identity")
    if entry.kind == "copy":
        return {name: later(clock, entry.at) for name, clock in clocks.items()}
    if entry.kind == "clock":
        issued = issued_spans(identity, clocks[key], entries_before())
        # The uptime is not recorded: the next jump is measured from the next label on.
        return {key: with_accepted_clock(clocks[key], Reading(entry.at, 0, ""), issued)}
    return {key: _after_batch(entry, clocks[key])}


def _after_batch(entry: LogEntry, state: TickState) -> TickState:
    span = entry.span()
    assert span is not None
    taken = state.last is not None and span.first <= state.last
    if taken or any(_overlap(span, other) for other in state.ahead):
        raise LogBroken(line=entry.number, reason=f"its first date {span.first} was given out before")
    return replace(state, last=span.last, ahead=tuple(other for other in state.ahead if other.last > span.last))


def _overlap(one: Span, other: Span) -> bool:
    return one.first <= other.last and other.first <= one.last
