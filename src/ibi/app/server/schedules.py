"""Opens the schedules of a server's Archive: verification, dumps, and copies of the state."""

from __future__ import annotations

from pathlib import Path
from time import time
from typing import Final

import structlog

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.collections.service import Collections
from ibi.harvesting.service.dumps import DumpSchedule
from ibi.harvesting.serving import serve_harvesting
from ibi.harvesting.store import DumpDirectory
from ibi.items.service.verification import DamageMail, VerificationSchedule
from ibi.jobs.runner import Job
from ibi.reading.serving.items import serve_verification
from ibi.resolver.opening.register import MailIncomplete, configured_mailer
from ibi.settings import Settings
from ibi.storage.locks import WorkerLock
from ibi.storage.state import SqliteDatabase
from ibi.storage.state_copies import newest_copy_age
from ibi.web.opened import Opened

_COPY_EVERY: Final = 86_400.0
_COPY_LOOK: Final = 3600.0
_FIRST_COPY: Final = 60.0
"""Seconds between copies of the state, between checks whether one is due, and before the first check."""


def open_verification(server: ServerContext, archive: OpenArchive) -> tuple[VerificationSchedule, Opened]:
    """Return the verification schedule of a server's Archive. Wrong mail settings are logged and otherwise ignored."""
    wanted = server.settings.archive
    schedule = VerificationSchedule(
        archive.store,
        days=wanted.verify_days,
        rate=wanted.verify_rate,
        mail=_damage_mail(server.settings, server.public_url),
        hold=server.hold("verification.lock"),
    )
    return schedule, serve_verification(schedule)


def _damage_mail(settings: Settings, public_url: str) -> DamageMail | None:
    try:
        mailer = configured_mailer(settings)
    except MailIncomplete as error:
        structlog.get_logger("ibi.integrity").error("damage is not told by mail", reason=str(error))
        return None
    to = settings.archive.admin_email
    return None if mailer is None or to is None else DamageMail(mailer, to, public_url)


def open_harvesting(server: ServerContext, archive: OpenArchive, collections: Collections) -> Opened:
    """Return the lists of items for harvesters, and the dumps that the settings want."""
    wanted, store, dumps, schedule = server.settings.archive, archive.store, None, None
    if wanted.dump is not None:
        dumps = DumpDirectory(server.settings.data)
        schedule = DumpSchedule(store.changes, store.catalog, dumps, wanted.dump, hold=server.hold("dumps.lock"))
    return serve_harvesting(
        archive.site,
        store.changes,
        collections=collections,
        admin_email=wanted.admin_email,
        dumps=dumps,
        schedule=schedule,
    )


def state_copies(data: Path, state: SqliteDatabase) -> Job:
    """Return the job that copies the state each day."""

    def copy_daily() -> None:
        age = newest_copy_age(data, time())
        if age is None or age >= _COPY_EVERY:
            state.copy()

    hold = WorkerLock(data / "state-copies.lock").hold
    return Job("state copies", copy_daily, _COPY_LOOK, hold=hold, first=_FIRST_COPY)
