"""Opens the membership of a server's Archive in its resolver, and the holders of Copies of its items."""

from __future__ import annotations

from time import time
from typing import NamedTuple

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.claims.service.registered_senders import RegisteredSenders
from ibi.membership.opening.membership import membership_service
from ibi.membership.service.copy_holder_admin import CopyHolderAdmin, CopyOffers
from ibi.membership.service.membership import MembershipService
from ibi.membership.service.named_copy_holders import NamedCopyHolders
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.transfers.opening.own_register import find_resolver_elsewhere
from ibi.transfers.opening.transfers import RegisterReader


def registered_senders(server: ServerContext) -> RegisteredSenders:
    """Return the check of the Archives in the register that sign what they send."""
    settings, public_url = server.settings, server.public_url
    register = RegisterReader(settings, find_resolver_elsewhere(settings, public_url))
    return RegisteredSenders(register.read, public_url, server.clocks.seconds)


class CopyHolders(NamedTuple):
    """The holders of Copies of an Archive's items."""

    named: NamedCopyHolders
    """The statement to resolvers."""
    admin: CopyHolderAdmin
    offers: CopyOffers
    """Notes the followers of this Archive."""


def _open_copy_holders(server: ServerContext, archive: OpenArchive) -> CopyHolders:
    files, service = CopyHoldersFile(server.settings.data), archive.record.service
    settled = server.settings.archive.copies_at or ()
    return CopyHolders(
        NamedCopyHolders(service, settled, archive.signing, server.clocks, files),
        CopyHolderAdmin(files, service, settled, time, audit=server.audit),
        CopyOffers(files, registered_senders(server), service, time),
    )


class Member(NamedTuple):
    """An Archive among others."""

    holders: CopyHolders
    service: MembershipService | None
    """Keeps up its membership in a resolver; None if it is a member of none."""


def open_member(server: ServerContext, archive: OpenArchive) -> Member:
    holders = _open_copy_holders(server, archive)
    service = membership_service(server.settings, archive.site, archive.signing, holders.named, archive.transfers)
    return Member(holders, service)
