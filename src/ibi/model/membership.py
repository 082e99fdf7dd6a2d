"""What an Archive keeps of itself: its labels and the secret of its URL keys, and its membership in a resolver.

An Archive that is switched on asks to be included until it is, and on until the resolver has got through to it; one
that is switched off asks to be excluded, if the resolver may count on it. A request that fails is repeated, less and
less often.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from ibi.messages.answers import ErrorAnswer, ExclusionStatus, InclusionStatus, ServiceSubject
from ibi.messages.identification import LabelForms
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.signing import PublicKey

SECRET_BYTES: Final = 32
"""Of the secret, at least."""


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    service: LabelForms
    """The Archive's own service."""
    url_key_secret: bytes = field(repr=False)
    """What its URL keys are signed with."""


LONGEST_WAIT: Final = 600
"""Seconds between two attempts at most: an Archive that is registered at last, or a resolver that is back, waits no
longer than this."""

_MOST_DOUBLINGS: Final = 10


class Phase(StrEnum):
    """Where the Archive is between messages 1 and 8 of R Figure 7.1."""

    OFF = "off"
    INCLUDING = "including"
    INCLUDED = "included"
    EXCLUDING = "excluding"


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """No answer that means anything came."""

    reason: str
    sent: bool = True
    """Whether the resolver may have got the request all the same."""


class ResolverStanding(StrEnum):
    """What an Archive found at the address of its resolver."""

    THERE = "there"
    SILENT = "silent"
    """No server answers, or one that is out of order."""
    OTHER_KEY = "other-key"
    """A resolver answers whose key is not the known one, and was not named by it."""
    UNPROVEN = "unproven"
    """A server answers that does not prove the known key."""
    REGISTER_REFUSED = "register-refused"
    """The resolver proves its key, and its register is one that this Archive does not take."""


STANDING_IN: Final = {
    ResolverStanding.SILENT: "the resolver does not answer",
    ResolverStanding.OTHER_KEY: "the server at the address of the resolver has another key; if the resolver has a new"
    " one, as its administrator can tell, `ibi key trust-resolver` lets this Archive believe it",
    ResolverStanding.UNPROVEN: "the server at the address of the resolver does not prove the resolver's key",
    ResolverStanding.REGISTER_REFUSED: "the register of the resolver is older than the one that this Archive keeps, is"
    " signed by another key, or lists no Archive any more",
}
"""Why an Archive resolves in the place of its resolver, for people."""


class OfferedKey(NamedTuple):
    """What a server at the address of a resolver says of its key."""

    standing: ResolverStanding
    key: PublicKey | None = None
    """The key that it proved; of `OTHER_KEY`, the one it names."""
    changes: tuple[str, ...] = ()
    """The statements by which former keys named the next ones."""


class FetchedRegister(NamedTuple):
    """What came when a resolver was asked for its signed register."""

    is_there: bool
    """Whether a server answered at its address, by whatever answer."""
    statement: str | None = None
    is_known: bool = False
    """Whether it is the one that is kept already."""


Outcome: TypeAlias = InclusionStatus | ExclusionStatus | ErrorAnswer | RequestFailure


@dataclass(frozen=True, slots=True)
class Membership:
    """One moment of a membership. `after_switch` and `after` give the next one."""

    phase: Phase = Phase.OFF
    confirmed: bool = False
    """Whether the resolver got through when it called back; an Archive is included either way (R §7.2), but one that
    cannot be reached is of little use: it asks again."""
    known: bool = False
    """Whether the resolver may count on this Archive, so that it has to be told when that ends."""
    failures: int = 0
    """In a row; a call back that did not get through is one."""
    reason: str | None = None
    """Why the last request did not do what it should."""

    @property
    def request(self) -> ServiceSubject | None:
        """What to send next, if anything."""
        if self.phase is Phase.INCLUDED and not self.confirmed:
            return ServiceSubject.INCLUSION_REQUEST
        return {
            Phase.INCLUDING: ServiceSubject.INCLUSION_REQUEST,
            Phase.EXCLUDING: ServiceSubject.EXCLUSION_REQUEST,
        }.get(self.phase)

    def wait(self, chance: float) -> float:
        """Seconds to wait before it is sent: none at first, then 1, 2, 4 and so on.

        A `chance` between 0 and 1 takes up to half of it away, so that Archives that lost their resolver at the same
        moment do not all come back at the same moment.
        """
        if not self.failures:
            return 0.0
        whole = min(LONGEST_WAIT, 1 << min(self.failures - 1, _MOST_DOUBLINGS))
        return whole * (1 - chance / 2)

    def after_switch(self, *, on: bool) -> Membership:
        """After a look at the switch; what is under way in that direction goes on."""
        if on:
            return self if self.phase in {Phase.INCLUDING, Phase.INCLUDED} else self._in_phase(Phase.INCLUDING)
        if not self.known:
            return self if self.phase is Phase.OFF else self._in_phase(Phase.OFF)
        return self if self.phase is Phase.EXCLUDING else self._in_phase(Phase.EXCLUDING)

    def after(self, outcome: Outcome) -> Membership:
        """After the answer to `request`, or the lack of one."""
        match outcome:
            case InclusionStatus(True):
                return Membership(Phase.INCLUDED, confirmed=True, known=True)
            case InclusionStatus(reason=code):
                # What went wrong before it was included at all says nothing of how soon it can be reached.
                again = self.failures if self.phase is Phase.INCLUDED else 0
                return Membership(Phase.INCLUDED, known=True, failures=again + 1, reason=_explain_unreached(code))
            case ExclusionStatus():
                return Membership()
            case ErrorAnswer(text) if self.phase is Phase.EXCLUDING:
                # A resolver that refuses the request does not count on this Archive either: asking again would not
                # help.
                return Membership(reason=text)
            case ErrorAnswer(text):
                # Not registered yet, perhaps: the mail of R §7.1 may take a person days. Or no longer.
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
    """Why the resolver did not reach this Archive, by the word it gave (E73)."""
    return None if code is None else f"the resolver could not reach it: {_UNREACHED.get(code, code)}"


def exclusion_of(request: InclusionRequest) -> ExclusionRequest:
    """The same pairs under the other subject (R Table 7.2)."""
    return ExclusionRequest(**{each.name: getattr(request, each.name) for each in fields(request)})
