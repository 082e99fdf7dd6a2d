"""Rules of membership: inclusion, confirmation and exclusion of Archives, and changes of their registrations (R §7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from math import ceil
from typing import Final

from ibi.membership.model.registration import FailedContact, Inclusion, Registration
from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.errors import ErrorKind, IbiError, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName, parse
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import MOST_HOSTS, InclusionRequest
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork, network
from ibi.standard.origin import host_of
from ibi.standard.reply import Failure
from ibi.standard.signing import PublicKey


class KeyRefused(IbiError):
    """No Archive is registered here with this IBI and this key."""

    # One sentence for both causes: guessing reveals nothing about which Archives there are.
    code = "key-refused"
    kind = ErrorKind.FORBIDDEN


class TooManyAttempts(IbiError):
    """Too many requests with a wrong key have come. Ask again in {seconds} s."""

    code = "too-many-attempts"
    kind = ErrorKind.TOO_MANY

    def __init__(self, *, wait: float) -> None:
        super().__init__(seconds=max(1, ceil(wait)))
        self.retry_after = max(1, ceil(wait))

    def __reduce__(self) -> tuple[object, ...]:
        return _too_many_attempts, (self.retry_after,)


class AlreadyRegistered(IbiError):
    """{label} is registered already. Nothing was changed."""

    code = "already-registered"
    kind = ErrorKind.CONFLICT
    request_field = "labels"


class PrefixTaken(IbiError):
    """{label} cannot be the home of {prefix}, because {holder} is. Nothing was changed. If both Archives mint labels
    with this prefix, say so (`--shared`); if {holder} is gone, name {label} its successor with `ibi resolver set`."""

    code = "prefix-taken"
    kind = ErrorKind.CONFLICT
    request_field = "prefixes"


class UnknownArchive(IbiError):
    """No Archive {label} is registered here: `ibi resolver list` shows those that are."""

    code = "unknown-archive"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class WeakKey(IbiError):
    """key: it is one that is tried first, because {reason}. Choose ten or more digits by chance."""

    code = "weak-key"
    kind = ErrorKind.MALFORMED
    request_field = "key"


def _too_many_attempts(seconds: int) -> TooManyAttempts:
    return TooManyAttempts(wait=seconds)


SILENCE: Final = 3600
"""Seconds without an answer after which a confirmed address yields to one that has not confirmed (E60)."""

_NOTED_EVERY: Final = 600
"""Seconds between recorded answers. An Archive that asks again and again causes no more writes."""


@dataclass(frozen=True, slots=True)
class CallBack:
    """The outcome of calling an Archive back (R §7.2, message 3)."""

    confirmed: bool
    """True if it answered `confirmation yes`."""
    ip: IpAddress | None = None
    """The address of the connection; None if there was none, or if the call stayed inside this process."""
    failure: Failure | None = None
    """The reason why it did not confirm, if known."""


def after_inclusion(registration: Registration, request: InclusionRequest, now: Instant) -> Registration:
    """Return the registration after message 2 with the right key.

    A repeated request for the same address changes nothing, not even whether the Archive is known to answer: the next
    call finds that out. An address that has answered is not given up for a new one until the new one answers. Until
    then the new one is pending (E60).
    """
    registration = _with_hosts(with_claimed_forms(registration, request.labels), request.hosts)
    registration = replace(registration, feed=request.feed, lost=None)
    wanted = _inclusion(request, now)
    before, pending = registration.inclusion, registration.pending
    if before is None or before.place == wanted.place:
        return replace(registration, inclusion=_renew(before, wanted), pending=None)
    if before.answered is None:
        return replace(registration, inclusion=wanted, pending=None)
    if pending is not None and pending.place == wanted.place:
        # A repeated request must not restart the hour of silence.
        wanted = replace(wanted, since=pending.since)
    return replace(registration, pending=wanted)


def _with_hosts(registration: Registration, hosts: Iterable[str]) -> Registration:
    """Add the hosts that an Archive declares with its key to those of its registration (E31), if all of them fit."""
    after = registration.hosts.union(host.lower() for host in hosts)
    return replace(registration, hosts=after) if len(after) <= MOST_HOSTS else registration


def _inclusion(request: InclusionRequest, now: Instant) -> Inclusion:
    return Inclusion(
        address=request.archive_address,
        ip=request.archive_ip,
        protocol=request.archive_protocol,
        platform_version=request.platform_version,
        admin_mail=request.admin_mail_address,
        since=Instant(now.seconds),
    )


def _renew(before: Inclusion | None, wanted: Inclusion) -> Inclusion:
    """Return the inclusion after a repeated request for the same place. Results of earlier calls are kept."""
    if before is None:
        return wanted
    renewed = replace(wanted, confirmed=before.confirmed, answered=before.answered)
    return before if replace(renewed, since=before.since) == before else renewed


def after_call_back(registration: Registration, asked: Inclusion, call: CallBack, now: Instant) -> Registration:
    """Return the registration after the call of message 3 to an Archive, at the inclusion `asked`.

    If the Archive has been excluded or has moved since, the outcome is ignored. A pending inclusion counts once it has
    confirmed.
    """
    now = Instant(now.seconds)
    inclusion, pending = registration.inclusion, registration.pending
    if inclusion is not None and inclusion.place == asked.place:
        noted = _with_answer(inclusion, now, is_news=pending is not None) if call.confirmed else inclusion
        noted = replace(noted, confirmed=call.confirmed)
        return replace(registration, inclusion=noted, failed=_failed_contact(registration, call, now))
    if pending is not None and pending.place == asked.place and call.confirmed:
        confirmed = replace(pending, since=now, confirmed=True, answered=now)
        return replace(registration, inclusion=confirmed, pending=None, failed=None)
    if pending is not None and pending.place == asked.place:
        return replace(registration, failed=_failed_contact(registration, call, now))
    return registration


def _failed_contact(registration: Registration, call: CallBack, now: Instant) -> FailedContact | None:
    if call.confirmed:  # a confirmation says nothing about a pending address
        return None if registration.pending is None else registration.failed
    return _with_failure(registration.failed, call.failure or Failure.UNREACHABLE, now)


def _with_failure(last: FailedContact | None, failure: Failure, now: Instant) -> FailedContact:
    """Return the record of a failure. Repeated failures of the same kind are recorded as rarely as answers."""
    reason = failure_code(failure)
    if last is not None and last.reason == reason and now.seconds - last.at.seconds < _NOTED_EVERY:
        return last
    return FailedContact(reason, Instant(now.seconds))


def after_failure(registration: Registration, failure: Failure, now: Instant) -> Registration:
    """Return the registration after a question that did not reach the Archive."""
    if registration.inclusion is None:
        return registration
    return replace(registration, failed=_with_failure(registration.failed, failure, now))


def after_answer(registration: Registration) -> Registration:
    """Return the registration after a question that the Archive answered, whatever the answer."""
    if registration.inclusion is None or registration.failed is None:
        return registration
    return replace(registration, failed=None)


WRONG_KEY: Final = "wrong-key"
WRONG_SIGNATURE: Final = "wrong-signature"


def after_refusal(registration: Registration, now: Instant, reason: str = WRONG_KEY) -> Registration:
    """Return the registration after a request with a wrong key, or without the right signature.

    It is recorded only while the Archive is not included: guesses by strangers say nothing about an included Archive.
    """
    if registration.inclusion is not None:
        return registration
    last = registration.failed
    if last is not None and last.reason == reason and now.seconds - last.at.seconds < _NOTED_EVERY:
        return registration
    return replace(registration, failed=FailedContact(reason, Instant(now.seconds)))


_REASONS: Final = {
    Failure.UNREACHABLE: "the connection failed",
    Failure.UNKNOWN_NAME: "its name was not found",
    Failure.CONNECTION_REFUSED: "the connection was refused",
    Failure.BAD_CERTIFICATE: "its certificate was not accepted",
    Failure.TIMED_OUT: "it took too long",
    Failure.RESTING: "it failed too often lately",
    Failure.FORBIDDEN_ADDRESS: "the address guard does not dial its address, which is not of the whole Internet:"
    " `ibi resolver allow-network {label} CIDR` allows a network (`--allow-network` when it is registered)",
    Failure.OWN_ADDRESS: "its address is that of this resolver",
    Failure.REFUSED: "it answered with an error",
    Failure.MALFORMED: "what answered there is no Archive",
    Failure.TOO_LARGE: "its answer was too large",
}
_REFUSED: Final = {
    WRONG_KEY: "a request to include it had another key: `ibi resolver register --replace {label}` gives it a new one",
    WRONG_SIGNATURE: "a request to include it was not signed with its key: `ibi resolver set {label} --archive-key KEY`"
    " gives it another",
}


def failure_code(failure: Failure) -> str:
    """Return the code of a failure, for the register and for programs."""
    return failure.name.lower().replace("_", "-")


_BY_CODE: Final = {failure_code(failure): words for failure, words in _REASONS.items()} | _REFUSED


def failure_words(code: str, label: Label) -> str:
    """Return a failure in words for the administrator of the resolver, with a remedy."""
    return _BY_CODE.get(code, code).format(label=label)


def _with_answer(inclusion: Inclusion, now: Instant, *, is_news: bool) -> Inclusion:
    last = inclusion.answered
    if last is None or is_news or not inclusion.confirmed or now.seconds - last.seconds >= _NOTED_EVERY:
        return replace(inclusion, answered=now)
    return inclusion


def after_silence(registration: Registration, now: Instant) -> Registration:
    """Return the registration after a call to the current address got no answer.

    After an hour of silence, the pending address replaces it, confirmed or not (E60). The hour begins at the earliest
    when the pending address was requested: before that, the current one was not watched.
    """
    inclusion, pending = registration.inclusion, registration.pending
    if inclusion is None or pending is None:
        return registration
    heard = max(pending.since, inclusion.answered or pending.since)
    if now.seconds - heard.seconds < SILENCE:
        return registration
    return replace(registration, inclusion=replace(pending, since=Instant(now.seconds)), pending=None)


def after_exclusion(registration: Registration) -> Registration:
    """Return the registration after message 7 with the right key: it stays, but the Archive is not asked any more."""
    return registration.switched_off()


def inclusion_at(registration: Registration, place: tuple[str, str]) -> Inclusion | None:
    """Return the inclusion at this place, current or pending; None if there is none."""
    for each in (registration.inclusion, registration.pending):
        if each is not None and each.place == place:
            return each
    return None


def with_claimed_forms(registration: Registration, labels: Iterable[Label]) -> Registration:
    """Set aside a label that an Archive claims, if that form of its label is not known (E59).

    A label of another item is ignored: the two forms of one label have the same date.
    """
    known = registration.service
    for label in labels:
        if all(label.form != each.form for each in known.labels) and known.may_name(label):
            registration = replace(registration, waiting=label)
    return registration


def is_proven(label: Label, inclusion: Inclusion, call: CallBack) -> bool:
    """Return whether the call reached the very host, or the very IP address, from which this label is made.

    Ports do not matter: the port in a label is that of a subsystem, not the port on which an Archive listens.
    """
    if not call.confirmed:
        return False
    if isinstance(label, RepositoryName):
        return label.host.lower() == host_of(inclusion.address).lower()
    return isinstance(label, Ibip) and call.ip is not None and _is_address(label.ip, call.ip)


def _is_address(text: str, ip: IpAddress) -> bool:
    try:
        return ip_address(text) == ip
    except ValueError:
        return False


def with_waiting_form(registration: Registration) -> Registration:
    """Make the waiting form one of the forms of the Archive's label."""
    if registration.waiting is None:
        return registration
    return replace(registration, service=LabelForms.of(*registration.labels, registration.waiting), waiting=None)


def archive_ref(registration: Registration, inclusion: Inclusion | None = None) -> ArchiveRef | None:
    """Return the Archive as resolutions know it, or as at another `inclusion`; None while it is not included."""
    inclusion = inclusion or registration.inclusion
    if inclusion is None:
        return None
    return ArchiveRef(
        registration.service,
        inclusion.address,
        inclusion.protocol,
        registration.hosts,
        registration.networks,
        registration.registered.seconds,
        registration.prefixes,
        registration.vouched,
        registration.feed,
    )


@dataclass(frozen=True, slots=True)
class PrefixHome:
    """An Archive and the prefixes of which it is the home."""

    label: Label
    prefixes: frozenset[str]

    @classmethod
    def of_registration(cls, registration: Registration) -> PrefixHome:
        return cls(registration.labels[0], registration.home_prefixes)

    @classmethod
    def of_service(cls, service: LabelForms) -> PrefixHome:
        """Return the prefixes of the server's own Archive, which counts as registered."""
        return cls(service.labels[0], frozenset(map(home_prefix, service.labels)))


def require_free_prefixes(after: Registration, before: Registration | None, others: Iterable[PrefixHome]) -> None:
    """Raise `PrefixTaken` if `after` would be the home of a prefix that one of the `others` has.

    A shared registration may do so. The registration keeps the prefixes that it had `before` on the same terms. So a
    register in which two Archives have had the same prefix for long can still be changed in all other respects.
    """
    if after.shared:
        return
    kept = frozenset() if before is None or before.shared else before.home_prefixes
    gained = after.home_prefixes - kept
    if not gained:
        return
    for other in others:
        taken = sorted(gained & other.prefixes)
        if taken:
            raise PrefixTaken(label=str(after.labels[0]), prefix=taken[0], holder=str(other.label))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange:
    """The changes that an administrator makes to a registration; None leaves a value as it is."""

    label: Label | None = None
    """The other form of its label."""
    add_prefixes: frozenset[str] = frozenset()
    remove_prefixes: frozenset[str] = frozenset()
    shared: bool | None = None
    vouched: bool | None = None
    successor: Label | None = None
    no_successor: bool = False
    add_hosts: frozenset[str] = frozenset()
    remove_hosts: frozenset[str] = frozenset()
    add_networks: frozenset[IpNetwork] = frozenset()
    remove_networks: frozenset[IpNetwork] = frozenset()
    admin_mail: str | None = None
    key: PublicKey | None = None
    """The key with which the Archive signs from now on."""
    forget_key: bool = False
    lost: bool | None = None

    @classmethod
    def of_words(
        cls,
        *,
        label: str | None = None,
        add_prefixes: Iterable[str] = (),
        remove_prefixes: Iterable[str] = (),
        shared: bool | None = None,
        vouched: bool | None = None,
        successor: str | None = None,
        no_successor: bool = False,
        add_hosts: Iterable[str] = (),
        remove_hosts: Iterable[str] = (),
        allow: Iterable[str] = (),
        disallow: Iterable[str] = (),
        admin_mail: str | None = None,
        archive_key: str | None = None,
        forget_archive_key: bool = False,
        lost: bool | None = None,
    ) -> RegistrationChange:
        """Return the change that these texts describe. Raise `InvalidInput` that names the wrong text.

        `allow` and `disallow` are networks.
        """
        if successor is not None and no_successor:
            raise InvalidMessage(successor, 0, "a successor is named or taken away, not both")
        if archive_key is not None and forget_archive_key:
            raise InvalidMessage(archive_key, 0, "a key is given or forgotten, not both")
        return cls(
            label=None if label is None else parse(label),
            add_prefixes=frozenset(map(parse_home_prefix, add_prefixes)),
            remove_prefixes=frozenset(map(parse_home_prefix, remove_prefixes)),
            shared=shared,
            vouched=vouched,
            successor=None if successor is None else parse(successor),
            no_successor=no_successor,
            add_hosts=frozenset(host.lower() for host in add_hosts),
            remove_hosts=frozenset(host.lower() for host in remove_hosts),
            add_networks=frozenset(map(network, allow)),
            remove_networks=frozenset(map(network, disallow)),
            admin_mail=admin_mail,
            key=None if archive_key is None else PublicKey.parse(archive_key),
            forget_key=forget_archive_key,
            lost=lost,
        )

    def apply(self, found: Registration, successor: LabelForms | None, now: Instant) -> Registration:
        """Return the registration with these changes; `successor` are the forms of `self.successor`'s Archive.

        Its key and date stay, and its inclusion unless it is lost. Raise `InvalidInput` if the result cannot be
        recorded.
        """
        found = found.with_key(None if self.forget_key else self.key or found.key)
        service = found.service if self.label is None else _with_form(found.service, self.label)
        known = frozenset(label.form for label in service.labels)
        after = replace(
            found,
            service=service,
            waiting=None if found.waiting is None or found.waiting.form in known else found.waiting,
            prefixes=(found.prefixes | self.add_prefixes) - self.remove_prefixes,
            shared=found.shared if self.shared is None else self.shared,
            vouched=found.vouched if self.vouched is None else self.vouched,
            successor=None if self.no_successor else successor or found.successor,
            hosts=(found.hosts | self.add_hosts) - self.remove_hosts,
            networks=tuple({*found.networks, *self.add_networks} - self.remove_networks),
            admin_mail=self.admin_mail or found.admin_mail,
        )
        return self._mark_lost(after, now)

    def _mark_lost(self, after: Registration, now: Instant) -> Registration:
        """Return the registration, lost if this change says so. Without a successor, none is lost."""
        if self.lost:
            return after.as_lost(now)
        return replace(after, lost=None) if self.lost is False or after.successor is None else after


def _with_form(service: LabelForms, label: Label) -> LabelForms:
    """Return the forms with this one added, or in place of the one of its kind. At least one label always stays."""
    rest = [each for each in service.labels if each.form != label.form]
    if not rest and label not in service.labels:
        known = str(service.labels[0])
        raise InvalidMessage(str(label), 0, "the Archive is registered by {label}; give its other form", label=known)
    return LabelForms.of(*rest, label)
