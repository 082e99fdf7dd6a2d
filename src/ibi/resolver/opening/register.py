"""Builds the register of a resolver from the settings, for a command or a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from logging import CRITICAL
from typing import TYPE_CHECKING

from ibi.settings import Settings
from ibi.standard.errors import IbiError

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from ibi.membership.rules.authority import ArchiveRef
    from ibi.membership.rules.membership import CallBack
    from ibi.membership.service.archive_admin import ArchiveAdmin
    from ibi.standard.mail import Mailer


class MailIncomplete(IbiError):
    """mail.server is set and {missing} is not: see docs/settings.md."""

    code = "mail-incomplete"


def configured_mailer(settings: Settings) -> Mailer | None:
    """Return the mailer; None if no mail server is set. Raise `MailIncomplete` if another setting is missing."""
    mail = settings.mail
    if mail.server is None:
        return None
    if mail.sender is None:
        raise MailIncomplete(missing="mail.sender")
    if (mail.user is None) != (mail.password is None):
        raise MailIncomplete(missing="mail.user" if mail.user is None else "mail.password")
    from ibi.net.smtp import MailSecurity, SmtpMailer

    password = None if mail.password is None else mail.password.reveal()
    return SmtpMailer(mail.server, mail.port, mail.sender, MailSecurity(mail.security), mail.user, password)


@contextmanager
def open_register(settings: Settings) -> Iterator[ArchiveAdmin]:
    """Open the register in the data directory for administration, or that of the server in the settings."""
    if settings.is_remote:
        from ibi.resolver.client.clients import ArchivesClient

        yield ArchivesClient(settings.server or "", None if settings.token is None else settings.token.reveal())
        return
    from ibi.membership.service.archive_admin import LocalArchiveAdmin
    from ibi.membership.service.registration_admin import RegistrationAdmin
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.membership.store.key_files import PublishedRegisterFile
    from ibi.membership.store.registry import SqliteRegistry
    from ibi.people.store.audit_log import FileAuditLog
    from ibi.storage.machine import MachineClocks

    mailer, identity, archive = (
        configured_mailer(settings),
        settings.identity(),
        ArchiveRecordFile(settings.data).read(),
    )
    registry, audit = SqliteRegistry(settings.data), FileAuditLog(settings.data)
    try:
        admin = RegistrationAdmin(
            registry,
            partial(_call_back, settings),
            MachineClocks(),
            resolver_url=settings.own_url,
            mailer=mailer,
            own=None if archive is None else archive.service,
            sandbox=identity is not None and identity.sandbox,
            audit=audit,
            published=PublishedRegisterFile(settings.data),
            log=silent_log(),
        )
        yield LocalArchiveAdmin(admin)
    finally:
        audit.close()
        registry.close()


def silent_log() -> FilteringBoundLogger:
    """Return a logger that writes nothing: a command prints its result, and only a server has a log."""
    import structlog

    log: FilteringBoundLogger = structlog.wrap_logger(
        structlog.ReturnLogger(), processors=[], wrapper_class=structlog.make_filtering_bound_logger(CRITICAL)
    )
    return log


async def _call_back(settings: Settings, archive: ArchiveRef) -> CallBack:
    """Call an Archive that was reported lost. A command includes no Archive, so there is no other call."""
    from ibi.membership.client.archive_http import ArchiveHttp
    from ibi.net.address_guard import AddressGuard
    from ibi.standard.origin import Origin

    own = Origin.of_url(settings.own_url)
    archives = ArchiveHttp(AddressGuard(frozenset({(own.host, own.effective_port)})))
    try:
        return await archives.confirm(archive)
    finally:
        await archives.close()
