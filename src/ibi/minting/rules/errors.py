"""The refusals of minting. A refusal never mints anything."""

from __future__ import annotations

from fractions import Fraction

from ibi.standard.errors import ErrorKind, IbiError


class IdentityNotGlobal(IbiError):
    """Labels of {place} would not be unique: {reason}. Give a host and address of your own that the whole Internet
    knows, or say that this is a sandbox."""

    code = "identity-not-global"
    kind = ErrorKind.UNAVAILABLE


class IdentityMissing(IbiError):
    """There is no identity to mint with yet: set `host` (and `ip`) under [mint] in ibi.toml to the name and address
    that this machine has on the Internet. To try things out, `ibi up` on an empty directory makes a sandbox."""

    code = "identity-missing"
    kind = ErrorKind.OUT_OF_ORDER


class IdentityChanged(IbiError):
    """This data directory mints as {frozen}, the settings say {configured}. Set them back, or accept the new identity
    with `ibi mint --accept-identity`: it starts a new clock."""

    code = "identity-changed"
    kind = ErrorKind.UNAVAILABLE


class SandboxIsFinal(IbiError):
    """This data directory is a sandbox ({frozen}) and stays one: what it keeps has labels that others may have. For
    labels that last, `ibi init --host HOST --ip ADDRESS --data DIRECTORY` makes a new data directory."""

    code = "sandbox-is-final"
    kind = ErrorKind.UNAVAILABLE


class InvalidCount(IbiError):
    """count: {count} is not a number of labels from 1 to {most}."""

    code = "invalid-count"
    kind = ErrorKind.MALFORMED
    request_field = "count"


class IdempotencyConflict(IbiError):
    """The key {key} was used before for {before} labels, not for {count}: use another key for another request."""

    code = "idempotency-conflict"
    kind = ErrorKind.UNPROCESSABLE
    request_field = "Idempotency-Key"


class ClockRefused(IbiError):
    """The clock of this machine cannot be trusted."""

    code = "clock-refused"
    kind = ErrorKind.UNAVAILABLE
    retry_after = Fraction(60)
    """Seconds after which a retry makes sense."""


class AnotherInstance(IbiError):
    """Another instance mints as {prefix} at {url}: two would give out the same labels. Stop that one, or have {url}
    lead to this machine; then minting goes on here by itself. A copy that is only to be read need not mint."""

    code = "another-instance"
    kind = ErrorKind.UNAVAILABLE
    retry_after = Fraction(60)
    """Seconds after which the address has been asked again."""


class DoubtUnreadable(IbiError):
    """It cannot be read whether another instance of this server may mint ({reason}). No label is minted until it can be
    read, or the address of this server has been asked."""

    code = "doubt-unreadable"
    kind = ErrorKind.UNAVAILABLE
    retry_after = Fraction(60)


class ClockBehind(ClockRefused):
    """The clock of this machine says {now} and is {behind} s behind the last label, {last}: no label is minted until it
    has caught up. If the clock is right and the last label wrong, accept it with `ibi mint --accept-clock`."""

    code = "clock-behind"

    def __init__(self, **parameters: object) -> None:
        super().__init__(**parameters)
        self.retry_after = Fraction(str(parameters["behind"]))


class ClockBeforeBuild(ClockRefused):
    """The clock of this machine says {now}, but this software was made on {built}: set the clock, or accept it with
    `ibi mint --accept-clock`."""

    code = "clock-before-build"


class ClockJumped(ClockRefused):
    """The clock of this machine jumped by {jump} s to {now} without that much time passing. Minting goes on when it is
    back, or when it is accepted with `ibi mint --accept-clock`."""

    code = "clock-jumped"


class QueueTooLong(ClockRefused):
    """{count} labels at a granularity of {granularity} s would take {wait} s, and at most {most} s are waited for: ask
    for fewer, or set a finer granularity."""

    code = "queue-too-long"
    request_field = "count"
