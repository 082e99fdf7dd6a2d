"""The audit log: one line for every change of an item, a token or a person, bound to the line before it by its hash.

A line is a JSON object in ASCII: who (account and token), what, of which item, token or person, when, and from where;
and the SHA-256 of the line before it, so that no line can be changed, dropped or put in between without breaking the
chain. It never holds a secret: of tokens it has the public ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from ibi.errors import IbiError
from ibi.instant import Instant

GENESIS: Final = "0" * 64
"""What the first line says of the line before it."""
LOG_BROKEN: Final = "log-broken"
"""The act of a line that says that the log before it was not as it had been left: lines were lost or replaced."""
_MOST_LINES: Final = 10**18
_MOST_DETAIL: Final = 1000
_WRITTEN: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class AuditBroken(IbiError):
    """Line {line} of the audit log is not what was written there: {reason}. Compare it with a backup: the file is
    damaged, or another program has changed it."""

    code = "audit-broken"


class AuditIncomplete(IbiError):
    """The audit log is not whole: {reason}. Compare it with a backup: lines were removed or replaced by another
    program, or lost when the machine lost its power."""

    code = "audit-incomplete"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change. `account` is None for the Archive itself and for commands on the data directory."""

    at: Instant
    act: str
    subject: str
    """The repository name of an item, or `token:` or `person:` with what names it."""
    account: str | None = None
    token: str | None = None
    address: str = "command"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditPosition:
    """Up to where the log is known: how many lines, and the hash of the last."""

    number: int = 0
    head: str = GENESIS

    def after(self, line: bytes) -> AuditPosition:
        return AuditPosition(self.number + 1, sha256(line).hexdigest())


def encode_entry(entry: AuditEntry, position: AuditPosition) -> bytes:
    """The line after that position, without its end."""
    fields = {
        "number": position.number + 1,
        "at": str(entry.at),
        "account": entry.account,
        "token": entry.token,
        "from": entry.address,
        "act": entry.act,
        "subject": entry.subject,
        "detail": entry.detail[:_MOST_DETAIL],
        "previous": position.head,
    }
    return _WRITTEN(fields).encode("ascii")


def decode_entry(line: bytes, number: int) -> tuple[AuditEntry, AuditPosition]:
    """The entry in a line, and the position before it; `AuditBroken` names line `number` if there is none."""
    try:
        found = json.loads(line)
        if type(found["number"]) is not int or not 0 < found["number"] <= _MOST_LINES:
            raise ValueError("number")
        before = AuditPosition(found["number"] - 1, str(found["previous"]))
        entry = AuditEntry(
            Instant.parse(found["at"]),
            str(found["act"]),
            str(found["subject"]),
            None if found["account"] is None else str(found["account"]),
            None if found["token"] is None else str(found["token"]),
            str(found["from"]),
            str(found["detail"]),
        )
    # Whatever a line may hold: numbers too large, brackets too deep, dates that are none.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IbiError) as error:
        raise AuditBroken(line=number, reason=f"it cannot be read ({type(error).__name__})") from None
    return entry, before


def verify_chain(lines: Iterable[bytes], known: AuditPosition | None = None) -> Iterator[AuditEntry]:
    """Every entry in turn, each checked against the line before it; `AuditBroken` otherwise.

    No line vouches for the last one: give as `known` up to where the log went, if that is known.
    """
    position = AuditPosition()
    for line in lines:
        number = position.number + 1
        entry, before = decode_entry(line, number)
        if before != position:
            raise AuditBroken(line=number, reason="the line before it was changed or is missing")
        position = position.after(line)
        if known is not None and known.number == number and known.head != position.head:
            raise AuditBroken(line=number, reason="it was changed, or lines before it are others")
        yield entry
    if known is not None and known.number > position.number:
        raise AuditBroken(line=known.number, reason=f"the log ends after line {position.number}")
