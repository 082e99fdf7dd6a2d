"""Recovery of a lost register from the signed registers that Archives keep (E94).

A signed register has no registration keys and no e-mail addresses. An Archive with a public key is recognised by its
signature, and brings its registration key with its next inclusion. An Archive without one must send its e-mail again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Final, NamedTuple

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.rules.signed_register import ListedArchive, OfferedRegister, SignedRegister, read_register
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.signatures import former_keys, leads_to, replaced_at
from ibi.standard.signing import InvalidStatement, PublicKey
from ibi.standard.vocabulary import ArchiveProtocol

_FEWEST: Final = 2
"""Archives that must agree on the key of the resolver, if it is not known in another way."""
_NOT_KNOWN: Final = IPv4Address(0)


class RegisterKeyUnknown(IbiError):
    """Nothing was changed: whose signature counts is not known. {reason}. Name the key of the former resolver with
    --key: `ibi key show` prints it at each of its Archives."""

    code = "register-key-unknown"


class NoRegisterFound(IbiError):
    """Nothing was changed: no register that counts was found at {servers}. {reason}."""

    code = "no-register-found"


class RegistersContradict(IbiError):
    """Nothing was changed: {first} and {second} keep different registers, both signed by the resolver's key at
    {issued}. Someone else may have that key: leave out the Archive that you do not trust, after asking both by another
    way."""

    code = "registers-contradict"


class SourceVerdict(StrEnum):
    """The verdict on an offered register."""

    TAKEN = "taken"
    OLDER = "older"
    OTHER_KEY = "other-key"
    INVALID = "invalid"
    MISSING = "missing"


class JudgedSource(NamedTuple):
    """One Archive that was asked, and the result."""

    source: str
    verdict: SourceVerdict
    reason: str
    issued: int | None = None
    archives: int | None = None


class LostArchive(NamedTuple):
    """An Archive that the newest register lacks, as the latest earlier register lists it."""

    listed: ListedArchive
    issued: int
    """Date of the earlier register, in POSIX seconds."""


class ChosenRegister(NamedTuple):
    """The newest register that counts, and the verdict on each source."""

    register: SignedRegister
    sources: tuple[JudgedSource, ...]
    lost: tuple[LostArchive, ...] = ()
    """Archives of earlier registers that the newest lacks without recording a removal."""


def choose_register(
    offers: Sequence[OfferedRegister],
    named: PublicKey | None,
    own: Iterable[PublicKey] = (),
    own_changes: Iterable[str] = (),
) -> ChosenRegister:
    """Return the newest register signed by the key of the former resolver.

    1. The operator has `named` that key.
    2. Or it is one of the resolver's `own` keys, restored from a backup.
    3. Or all Archives that were asked agree on it, and they are at least two.

    Keys that it named as its successors count like it. A replaced key, by `own_changes` or by those of a register,
    counts only for registers from before the replacement.
    """
    read = [(offer, _read(offer.statement)) for offer in offers]
    registers = [register for _, register in read if register is not None]
    keys = (named,) if named is not None else _trusted_keys(offers, registers, own)
    trust = _Trust.among(registers, keys, own_changes)
    counting = [(offer.source, register) for offer, register in read if register is not None and trust.counts(register)]
    if not counting:
        raise _none_counts(read)
    newest = _find_newest(counting)
    judged = tuple(_judge_source(offer, register, newest, trust) for offer, register in read)
    formers = filter(None, (_read(offer.former) for offer in offers))
    earlier = [*(register for _, register in counting), *filter(trust.counts, formers)]
    return ChosenRegister(newest, judged, tuple(_find_lost(newest, earlier)))


class _Trust(NamedTuple):
    """The keys whose registers count, and the changes by which keys were replaced."""

    keys: tuple[PublicKey, ...]
    changes: frozenset[str]

    @classmethod
    def among(
        cls, registers: Iterable[SignedRegister], keys: tuple[PublicKey, ...], own_changes: Iterable[str]
    ) -> _Trust:
        signed = [register for register in registers if _is_signed(register, keys)]
        return cls(keys, frozenset({*own_changes, *(change for register in signed for change in register.changes)}))

    def has_signed(self, register: SignedRegister) -> bool:
        return _is_signed(register, self.keys)

    def is_late(self, register: SignedRegister) -> bool:
        """Return whether its key was replaced before it was issued: the key may have leaked."""
        replaced = replaced_at(register.signer, self.changes)
        return replaced is not None and register.issued > replaced

    def counts(self, register: SignedRegister) -> bool:
        return self.has_signed(register) and not self.is_late(register)


def _find_newest(counting: Sequence[tuple[str, SignedRegister]]) -> SignedRegister:
    """Return the newest register. Raise `RegistersContradict` if there is another one of the same time."""
    first, newest = max(counting, key=lambda each: each[1].issued)
    for source, register in counting:
        if register.issued == newest.issued and register.text != newest.text:
            raise RegistersContradict(first=first, second=source, issued=Instant(newest.issued))
    return newest


def _find_lost(newest: SignedRegister, earlier: Iterable[SignedRegister]) -> Iterator[LostArchive]:
    found = set[Label]()
    for register in sorted(earlier, key=lambda each: each.issued, reverse=True):
        for listed in newest.lost_since(register):
            labels = listed.home.service.labels
            if found.isdisjoint(labels):
                found.update(labels)
                yield LostArchive(listed, register.issued)


def _read(statement: str | None) -> SignedRegister | None:
    try:
        return None if statement is None else read_register(statement)
    except InvalidStatement:
        return None


def _is_signed(register: SignedRegister, trusted: Iterable[PublicKey]) -> bool:
    return any(leads_to(key, register.signer, register.changes) for key in trusted)


def _trusted_keys(
    offers: Sequence[OfferedRegister], registers: Sequence[SignedRegister], own: Iterable[PublicKey]
) -> tuple[PublicKey, ...]:
    keys = tuple(own)
    if any(_is_signed(register, keys) for register in registers):
        return keys
    signers = {register.signer for register in registers}
    # A register from before a key change is signed by a key that the latest key succeeded.
    latest = [each.signer for each in registers if signers <= {each.signer, *former_keys(each.signer, each.changes)}]
    if registers and not latest:
        raise RegisterKeyUnknown(reason=f"The Archives disagree: their registers are signed by {_words(signers)}")
    _check_witnesses(offers)
    return tuple(dict.fromkeys((*latest, *signers)))


def _check_witnesses(offers: Sequence[OfferedRegister]) -> None:
    """Raise `RegisterKeyUnknown` unless all that were named sent a register, and at least two Archives did."""
    silent = [offer.source for offer in offers if _read(offer.statement) is None]
    if silent:
        raise RegisterKeyUnknown(reason=f"Not all that were named agree: {', '.join(silent)} sent no register")
    if len({offer.source for offer in offers}) < _FEWEST:
        raise RegisterKeyUnknown(reason="One Archive alone cannot vouch for it; name a second one with --from")
    if len({offer.keeper for offer in offers if offer.keeper is not None}) < _FEWEST:
        reason = "Those that were named did not prove that they are two Archives, each with a key of its own"
        raise RegisterKeyUnknown(reason=reason)


def _none_counts(read: Sequence[tuple[OfferedRegister, SignedRegister | None]]) -> NoRegisterFound:
    servers = ", ".join(offer.source for offer, _ in read)
    reasons = "; ".join(f"{offer.source}: {_why_not(offer, register)}" for offer, register in read)
    return NoRegisterFound(servers=servers, reason=reasons)


def _words(keys: Iterable[PublicKey]) -> str:
    return " and by ".join(sorted(map(str, keys)))


def _why_not(offer: OfferedRegister, register: SignedRegister | None) -> str:
    if offer.statement is None:
        return offer.failure or "it keeps no register"
    return "what it sent is no signed register" if register is None else f"signed by the key {register.signer}"


def _judge_source(
    offer: OfferedRegister,
    register: SignedRegister | None,
    newest: SignedRegister,
    trust: _Trust,
) -> JudgedSource:
    if register is None:
        verdict = SourceVerdict.MISSING if offer.statement is None else SourceVerdict.INVALID
        return JudgedSource(offer.source, verdict, _why_not(offer, register))
    facts = register.issued, len(register.archives)
    if not trust.has_signed(register):
        return JudgedSource(offer.source, SourceVerdict.OTHER_KEY, _why_not(offer, register), *facts)
    if trust.is_late(register):
        reason = f"signed by the key {register.signer}, which had been replaced"
        return JudgedSource(offer.source, SourceVerdict.OTHER_KEY, reason, *facts)
    if register.text == newest.text:
        return JudgedSource(offer.source, SourceVerdict.TAKEN, "the newest", *facts)
    return JudgedSource(offer.source, SourceVerdict.OLDER, "older than the newest", *facts)


def recovered_registrations(
    register: SignedRegister, now: Instant, lost: Iterable[LostArchive] = ()
) -> tuple[Registration, ...]:
    """Return the registrations of a register and of the `lost` Archives, without the resolver's own Archive.

    They keep their seniority and their last address. The registration key of each is unknown.
    """
    listed = [*(each for each in register.archives if each.registered), *(each.listed for each in lost)]
    return tuple(_registration(each, now, is_shared=_is_shared(each, listed)) for each in listed)


def _is_shared(one: ListedArchive, listed: Iterable[ListedArchive]) -> bool:
    return any(not one.prefixes.isdisjoint(each.prefixes) for each in listed if each is not one)


def _registration(listed: ListedArchive, now: Instant, *, is_shared: bool) -> Registration:
    home = listed.home
    archive = home.archive
    return Registration(
        home.service,
        key_hash="",
        registered=Instant(listed.registered),
        hosts=frozenset() if archive is None else archive.hosts,
        networks=() if archive is None else archive.networks,
        inclusion=None if archive is None else _recovered_inclusion(archive.address, archive.protocol, now),
        prefixes=listed.prefixes.difference(map(home_prefix, home.service.labels)),
        shared=is_shared,
        vouched=archive is not None and archive.vouched,
        successor=home.successor,
        feed=None if archive is None else archive.feed,
        key=listed.key,
        former_keys=listed.former_keys,
    )


def _recovered_inclusion(address: str, protocol: ArchiveProtocol, now: Instant) -> Inclusion:
    """Return an inclusion. The fields that come with the Archive's next request are empty until then."""
    return Inclusion(address, _NOT_KNOWN, protocol, "", "", Instant(now.seconds))
