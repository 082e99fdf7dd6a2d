"""The state of an Archive: its labels, the secret of its URL keys, and its membership in a resolver.

An Archive that is switched on asks to be included until it is, and continues until the resolver has reached it. An
Archive that is switched off asks to be excluded, if the resolver may count on it. A failed request is retried with
back-off.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from ibi.standard.messages.answers import ErrorAnswer, ExclusionStatus, InclusionStatus, ServiceSubject
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.signing import PublicKey

SECRET_BYTES: Final = 32
"""Minimum length of the secret, in bytes."""


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    service: LabelForms
    """The Archive's own service."""
    url_key_secret: bytes = field(repr=False)
    """The secret that signs its URL keys."""


LONGEST_WAIT: Final = 600
"""Longest wait between two attempts, in seconds.

An Archive that is finally registered, or a resolver that is back, waits no longer.
"""

_MOST_DOUBLINGS: Final = 10


class Phase(StrEnum):
    """The phase between messages 1 and 8 of R Figure 7.1."""

    OFF = "off"
    INCLUDING = "including"
    INCLUDED = "included"
    EXCLUDING = "excluding"


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request without a usable answer."""

    reason: str
    sent: bool = True
    """True if the resolver may have received the request all the same."""


class ResolverStanding(StrEnum):
    """The finding of an Archive at the address of its resolver."""

    THERE = "there"
    SILENT = "silent"
    """No server answers, or one that is out of order."""
    OTHER_KEY = "other-key"
    """A resolver answers with an unknown key that the known key did not name."""
    UNPROVEN = "unproven"
    """A server answers that does not prove the known key."""
    REGISTER_REFUSED = "register-refused"
    """The resolver proves its key, but this Archive rejects its register."""


STANDING_IN: Final = {
    ResolverStanding.SILENT: "the resolver does not answer",
    ResolverStanding.OTHER_KEY: "the server at the address of the resolver has another key; if the resolver has a new"
    " one, as its administrator can tell, `ibi key trust-resolver` lets this Archive believe it",
    ResolverStanding.UNPROVEN: "the server at the address of the resolver does not prove the resolver's key",
    ResolverStanding.REGISTER_REFUSED: "the register of the resolver is older than the one that this Archive keeps, is"
    " signed by another key, or lists no Archive any more",
}
"""The reasons why an Archive resolves in place of its resolver, for people."""


class OfferedKey(NamedTuple):
    """The answer of a server at the address of a resolver about its key."""

    standing: ResolverStanding
    key: PublicKey | None = None
    """The key that it proved; for `OTHER_KEY`, the key that it names."""
    changes: tuple[str, ...] = ()
    """The statements by which former keys named their successors."""
    run: str = ""
    """The run of the server, which is another one after each start; empty if it names none."""


class FetchedRegister(NamedTuple):
    """The answer to a request for a resolver's signed register."""

    is_there: bool
    """True if a server answered at its address, whatever the answer."""
    statement: str | None = None
    is_known: bool = False
    """True if it is the stored one."""


Outcome: TypeAlias = InclusionStatus | ExclusionStatus | ErrorAnswer | RequestFailure


@dataclass(frozen=True, slots=True)
class Membership:
    """One moment of a membership. `after_switch` and `after` return the next one."""

    phase: Phase = Phase.OFF
    confirmed: bool = False
    """True if the resolver reached the Archive when it called back.

    An Archive is included either way (R §7.2), but an unreachable one is of little use: it asks again.
    """
    known: bool = False
    """True if the resolver may count on this Archive, so that it must be told when that ends."""
    failures: int = 0
    """Consecutive failures, including a call back that did not reach the Archive."""
    reason: str | None = None
    """The reason why the last request failed."""

    @property
    def request(self) -> ServiceSubject | None:
        """The next request to send, if any."""
        if self.phase is Phase.INCLUDED and not self.confirmed:
            return ServiceSubject.INCLUSION_REQUEST
        return {
            Phase.INCLUDING: ServiceSubject.INCLUSION_REQUEST,
            Phase.EXCLUDING: ServiceSubject.EXCLUSION_REQUEST,
        }.get(self.phase)

    def wait(self, chance: float) -> float:
        """Return the seconds to wait before it is sent: none at first, then 1, 2, 4 and so on.

        A `chance` between 0 and 1 removes up to half of it. So Archives that lost their resolver at the same moment do
        not all return at the same moment.
        """
        if not self.failures:
            return 0.0
        whole = min(LONGEST_WAIT, 1 << min(self.failures - 1, _MOST_DOUBLINGS))
        return whole * (1 - chance / 2)

    def after_switch(self, *, on: bool) -> Membership:
        """Return the membership after reading the switch; a request in that direction continues."""
        if on:
            return self if self.phase in {Phase.INCLUDING, Phase.INCLUDED} else self._in_phase(Phase.INCLUDING)
        if not self.known:
            return self if self.phase is Phase.OFF else self._in_phase(Phase.OFF)
        return self if self.phase is Phase.EXCLUDING else self._in_phase(Phase.EXCLUDING)

    def after(self, outcome: Outcome) -> Membership:
        """Return the membership after the answer to `request`, or the lack of one."""
        match outcome:
            case InclusionStatus(True):
                return Membership(Phase.INCLUDED, confirmed=True, known=True)
            case InclusionStatus(reason=code):
                # Failures before the inclusion say nothing about how soon the Archive can be reached.
                again = self.failures if self.phase is Phase.INCLUDED else 0
                return Membership(Phase.INCLUDED, known=True, failures=again + 1, reason=_explain_unreached(code))
            case ExclusionStatus():
                return Membership()
            case ErrorAnswer(text) if self.phase is Phase.EXCLUDING:
                # A resolver that refuses the request does not count on this Archive either: a retry would not help.
                return Membership(reason=text)
            case ErrorAnswer(text):
                # Perhaps not registered yet: the e-mail of R §7.1 may take a person days. Or registered no longer.
                return replace(self._with_failure(text), phase=Phase.INCLUDING)
            case RequestFailure(reason, sent):
                return replace(self._with_failure(reason), known=self.known or (sent and self.phase is Phase.INCLUDING))

    def _in_phase(self, phase: Phase) -> Membership:
        return Membership(phase, known=self.known)

    def _with_failure(self, reason: str) -> Membership:
        return replace(self, failures=self.failures + 1, reason=reason)


_UNREACHED: Final = {
    "unreachable": "its connection to this Archive failed",
    "unknown-name": "the name of this Archive's address was not found",
    "connection-refused": "the connection to this Archive's address was refused",
    "bad-certificate": "this Archive's certificate was not accepted",
    "timed-out": "this Archive took too long to answer",
    "forbidden-address": "its address guard does not dial this Archive's address, which is not of the whole Internet:"
    " its administrator allows it with `ibi resolver allow-network`",
    "own-address": "this Archive's address is that of the resolver itself: look at `public_url`",
    "refused": "what answers at this Archive's address answered with an error",
    "malformed": "what answers at this Archive's address is not an Archive: look at `public_url`",
}


def _explain_unreached(code: str | None) -> str | None:
    """Return why the resolver did not reach this Archive, from its code (E73)."""
    return None if code is None else f"the resolver could not reach it: {_UNREACHED.get(code, code)}"


def exclusion_of(request: InclusionRequest) -> ExclusionRequest:
    """Return the same pairs under the other subject (R Table 7.2)."""
    return ExclusionRequest(**{each.name: getattr(request, each.name) for each in fields(request)})
