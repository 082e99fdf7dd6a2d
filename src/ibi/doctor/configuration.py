"""Checks of valid settings that make a server less safe or less reachable than it could be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Final

from ibi.doctor.databases import registrations_of
from ibi.doctor.diagnosis import Diagnosis, ExaminedDirectory, Level
from ibi.doctor.records import read_kept_register, read_ticks, service_of
from ibi.membership.store.copy_holders import FILE as COPY_HOLDERS
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.membership.store.key_files import RegisterFiles, ResolverKeyFile
from ibi.net.server_url import is_on_loopback
from ibi.settings import Settings
from ibi.standard.identity import Identity
from ibi.standard.label import Label
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.origin import Origin, is_same_place
from ibi.standard.storage_errors import StorageError

_MOST_NAMED: Final = 5


def check_copy_holders(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield holders of Copies that are missing from the resolver's register: no resolver asks them. Without a register,
    yield advice."""
    named: tuple[CopyHolder, ...] = ()
    with suppress(StorageError):  # another check tells of a damaged file
        named = CopyHoldersFile(directory.data).read().named
    places = (
        (directory.settings.archive.copies_at or (), "archive.copies_at names", _settings_place(directory)),
        (named, "`ibi archive holders` names", directory.name(COPY_HOLDERS)),
    )
    known = _known_archives(directory) if any(holders for holders, *_ in places) else None
    for holders, words, place in places:
        unknown = [str(holder.service) for holder in holders if known is None or holder.service not in known]
        if unknown:
            yield _diagnose_unknown(unknown, words, place, is_known=known is not None)


def _diagnose_unknown(unknown: Sequence[str], words: str, place: str, *, is_known: bool) -> Diagnosis:
    more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
    said = f"{words} {', '.join(unknown[:_MOST_NAMED])}{more}"
    if not is_known:
        what = f"{said}, and there is no register here that could say whether such an Archive is registered"
        remedy = "Check the label; once the server has the register of a resolver, this is checked."
        return Diagnosis("copies-at-unknown", place, what, remedy, Level.ADVICE)
    what = f"{said}, and the resolver has no such Archive registered: it is not asked"
    remedy = "Correct the label, or have that Archive registered."
    return Diagnosis("copies-at-unknown", place, what, remedy, Level.WARNING)


def _known_archives(directory: ExaminedDirectory) -> frozenset[Label] | None:
    """Return all labels of the Archives registered at the resolver. None if this directory has no register."""
    settings, own = directory.settings, service_of(directory.data)
    if settings.resolver is None or is_same_place(settings.resolver, settings.own_url):
        registrations = registrations_of(directory)
        if registrations is None:
            return None
        services = [each.service for each in registrations]
    else:
        register = read_kept_register(RegisterFiles(directory.data).read())
        if register is None:
            return None
        services = [each.home.service for each in register.archives]
    return frozenset(label for each in (*services, *([] if own is None else [own])) for label in each.labels)


def check_proxies(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield trusted proxies that cover every address."""
    for family, words in _covered_families(directory.settings.trusted_proxies or ()):
        what = f"trusted_proxies covers every {family} address ({words}): each client is believed about its own address"
        remedy = "Name the networks of your proxies alone: limits and restricted items are judged by that address."
        yield Diagnosis("proxies-open", _settings_place(directory), what, remedy, Level.WARNING)


def _covered_families(networks: Iterable[IPv4Network | IPv6Network]) -> Iterator[tuple[str, str]]:
    """Yield each family of addresses that the networks cover together."""
    everyone = list(networks)
    fours = [each for each in everyone if isinstance(each, IPv4Network)]
    sixes = [each for each in everyone if isinstance(each, IPv6Network)]
    if any(each.prefixlen == 0 for each in collapse_addresses(fours)):
        yield "IPv4", ", ".join(map(str, fours))
    if any(each.prefixlen == 0 for each in collapse_addresses(sixes)):
        yield "IPv6", ", ".join(map(str, sixes))


def check_clone_guard(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a public address that leads each machine to itself. With it a copy of the directory is not noticed."""
    url, identity = directory.settings.public_url, _identity_of(directory)
    if url is not None and identity is not None and not identity.sandbox and _leads_home(url):
        what = (
            f"it leads each machine to itself, and {identity.host} is no sandbox: readers elsewhere do not reach this"
            " server, and a copy of it that mints the same labels is not noticed"
        )
        yield Diagnosis("clone-guard-off", url, what, "Set public_url to the address that readers use.", Level.WARNING)


def _leads_home(url: str) -> bool:
    """Return whether an address leads each machine to itself: loopback, a name below `localhost` (RFC 6761), or the
    unspecified address."""
    origin = Origin.of_url(url)
    is_unspecified = origin.address is not None and origin.address.is_unspecified
    return is_unspecified or origin.name.rstrip(".").endswith(".localhost") or is_on_loopback(url)


def check_content_host(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield advice if the files of depositors are on the host of the pages."""
    settings = directory.settings
    if settings.has_archive and settings.content_url is None:
        what = "content_url is not set: the files of depositors have the host on which people sign in"
        remedy = "Give them a host of their own: a second name for the server (docs/operations.md)."
        yield Diagnosis("content-host", _settings_place(directory), what, remedy, Level.ADVICE)


def check_resolver_trust(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a sandbox beside a resolver that does not know it, or with a register that is not signed."""
    settings, identity = directory.settings, _identity_of(directory)
    if not _has_other_resolver(settings) or settings.resolver is None or identity is None or not identity.sandbox:
        return
    if settings.archive.registration_key is None:
        what = (
            "archive.registration_key is not set: this resolver is not told of the sandbox, and finds none of its items"
        )
        remedy = "Register the sandbox there and set the key; or unset resolver: then the sandbox resolves its links."
        yield Diagnosis("resolver-without-key", settings.resolver, what, remedy, Level.ADVICE)
    elif ResolverKeyFile(directory.data).find(settings.resolver.rstrip("/")) is None:
        what = "no public key of this resolver is known, so that its register is not kept: links end when it is away"
        remedy = "Let the server run until the resolver has included it; a resolver of another make may sign nothing."
        yield Diagnosis("resolver-without-key", settings.resolver, what, remedy, Level.ADVICE)


def _has_other_resolver(settings: Settings) -> bool:
    resolver = settings.resolver
    return settings.has_archive and resolver is not None and not is_same_place(resolver, settings.own_url)


def _identity_of(directory: ExaminedDirectory) -> Identity | None:
    """Return the frozen identity, or the configured one if nothing was minted yet."""
    ticks = read_ticks(directory)
    return directory.settings.identity() if ticks is None or ticks.identity is None else ticks.identity


def _settings_place(directory: ExaminedDirectory) -> str:
    return str(directory.settings.file or "the settings")
