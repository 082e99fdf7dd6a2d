"""Builds the membership of a data directory's Archive, from the settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ibi import __version__
from ibi.membership.store.archive_state import MembershipFiles
from ibi.membership.store.key_files import KeyFiles, ResolverKeyFile
from ibi.settings import Settings
from ibi.standard.errors import IbiError, InvalidInput, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms, RegistrationKey
from ibi.standard.messages.membership import FEED_PATH, InclusionRequest
from ibi.standard.messages.values import ip_address
from ibi.standard.origin import Origin, is_same_place
from ibi.standard.vocabulary import ArchiveProtocol
from ibi.storage.machine import MachineClocks

if TYPE_CHECKING:
    from ibi.membership.client.resolver_gateway import ResolverGateway
    from ibi.membership.service.membership import MembershipService
    from ibi.membership.service.named_copy_holders import NamedCopyHolders
    from ibi.membership.service.signers import OwnKeys
    from ibi.transfers.service.worker import TransferWorker
    from ibi.web.sites import ArchiveSite


class MembershipIncomplete(IbiError):
    """{missing} is not set, and the resolver wants to know it: see docs/settings.md."""

    code = "membership-incomplete"


def membership_request(settings: Settings, public_url: str, service: LabelForms) -> InclusionRequest | None:
    """Return the request to the resolver; None if there is no resolver, or no key for it.

    Raise `MembershipIncomplete` if another setting is missing, and `InvalidMessage` if one does not fit in a request.
    """
    key, ip = settings.archive.registration_key, settings.archive.ip or settings.mint.ip
    if key is None or settings.resolver is None or is_same_place(settings.resolver, public_url):
        return None
    if (missing := _find_missing(settings)) is not None:
        raise missing
    assert settings.archive.admin_email is not None
    assert ip is not None
    origin = Origin.of_url(public_url)
    return InclusionRequest(
        archive_address=origin.authority,
        archive_service_ibi=service.labels[0],
        archive_ip=ip_address(ip),
        archive_protocol=ArchiveProtocol(origin.scheme.upper()),
        platform_version=__version__,
        admin_mail_address=settings.archive.admin_email,
        registration_key=RegistrationKey(key.reveal()),
        other_label=next(iter(service.labels[1:]), None),
        hosts=_declared_hosts(settings, origin),
        feed=FEED_PATH,
    )


def _find_missing(settings: Settings) -> MembershipIncomplete | None:
    """Return the error about a setting that a remote resolver needs. None if all are set, or no resolver is asked."""
    archive = settings.archive
    if archive.registration_key is None or settings.resolver is None:
        return None
    if archive.admin_email is None:
        return MembershipIncomplete(missing="archive.admin_email")
    return MembershipIncomplete(missing="archive.ip") if archive.ip is None and settings.mint.ip is None else None


def _declared_hosts(settings: Settings, origin: Origin) -> tuple[str, ...]:
    """Return the other hosts of the Archive's URLs: the host of its content, and those in the settings."""
    content = () if settings.content_url is None else (Origin.of_url(settings.content_url).authority,)
    return tuple(
        dict.fromkeys(each for each in (*content, *(settings.archive.hosts or ())) if each != origin.authority)
    )


def undeclared_host(settings: Settings, public_url: str, url: str) -> str | None:
    """Return a warning about an item with a URL on a host that this Archive does not declare to its resolver. None
    without a remote resolver: only that one might ask readers."""
    if settings.resolver is None or settings.resolver.lower() == public_url.lower():
        return None
    own, target = Origin.of_url(public_url), Origin.of_url(url)
    declared = {own.host.lower(), *(each.lower() for each in _declared_hosts(settings, own))}
    if not declared.isdisjoint({target.host.lower(), target.authority.lower()}):  # as a resolver compares them
        return None
    return (
        f"{target.authority} is not a host of this Archive: a resolver may ask readers to confirm that they want to go"
        " there. The setting `archive.hosts` declares it."
    )


def membership_service(
    settings: Settings, site: ArchiveSite, signing: OwnKeys, holders: NamedCopyHolders, transfers: TransferWorker
) -> MembershipService | None:
    """Return the membership of a server's Archive; None without one. Wrong settings are only logged, so that the
    Archive still serves. At an inclusion, the resolver learns the key in `signing` and the `holders` of Copies."""
    try:
        request = membership_request(settings, site.public_url, site.profile.service)
    except (MembershipIncomplete, InvalidMessage) as error:
        import structlog

        structlog.get_logger("ibi.membership").error("the resolver is not asked", reason=str(error))
        return None
    if request is None or settings.resolver is None:
        return None
    from ibi.membership.service.membership import MembershipService

    service = MembershipService(
        resolver_gateway(settings, settings.resolver),
        request,
        MembershipFiles(settings.data),
        key=lambda: (signing.read_public(), holders.holders),
        audience=partial(ResolverKeyFile(settings.data).find, settings.resolver.rstrip("/")),
    )
    site.answers.on_call_back = service.note_call_back
    service.on_included = transfers.tell_again
    return service


def own_keys(data: Path, name: str) -> OwnKeys:
    """Return the keys of the Archive, or of the resolver, of a data directory. A key is made if there is none."""
    from ibi.membership.service.signers import OwnKeys

    files = KeyFiles(data, name)
    files.begin()
    return OwnKeys(files)


def resolver_gateway(settings: Settings, resolver: str) -> ResolverGateway:
    """Return the client of the resolver, which signs with this Archive's key."""
    from ibi.membership.client.resolver_gateway import ResolverGateway
    from ibi.membership.service.signers import MemberSigner, OwnKeys

    keys = OwnKeys(KeyFiles(settings.data))
    signer = MemberSigner(keys, ResolverKeyFile(settings.data), resolver, MachineClocks())
    return ResolverGateway(resolver, signer=signer)


def membership_status(settings: Settings) -> Iterator[tuple[str, object]]:
    """Yield the stored state of the membership, without asking the resolver."""
    files = MembershipFiles(settings.data)
    found = files.read()
    yield "switched_on", files.switched_on
    yield "membership", found.phase.value
    yield "confirmed", found.confirmed if found.phase.value == "included" else None
    missing = _find_missing(settings)
    yield "membership_reason", found.reason if missing is None else str(missing)
    yield from _register_status(settings)


def _register_status(settings: Settings) -> Iterator[tuple[str, object]]:
    """Yield the stored state of the resolver's signed register."""
    from ibi.membership.rules.signed_register import read_register
    from ibi.membership.store.key_files import RegisterFiles
    from ibi.standard.storage_errors import StorageError

    files, register, key = RegisterFiles(settings.data), None, None
    try:
        statement = None if settings.resolver is None else files.read()
        register = None if statement is None else read_register(statement)
        key = None if settings.resolver is None else files.resolver_key(settings.resolver)
    except (InvalidInput, StorageError):
        pass  # a server fetches it again, and logs the reason
    yield "register_archives", None if register is None else len(register.archives)
    yield "register_issued", None if register is None else str(Instant(register.issued))
    yield "resolver_key", None if key is None else str(key)
    standing = None if settings.resolver is None else files.read_standing()
    yield "standing_in", None if standing is None else standing.value
