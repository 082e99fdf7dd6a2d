"""Opens the requests of readers, and the mail of an Archive to people and readers."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.deposits.service.letters import AddressBook, LetterBox
from ibi.requests.rules import RequestRules
from ibi.requests.service import ReaderRequests
from ibi.requests.serving import serve_requests
from ibi.requests.store import SqliteRequests
from ibi.resolver.opening.register import MailIncomplete, configured_mailer
from ibi.settings import Settings
from ibi.standard.mail import Mailer
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import letter_translations


class Letters(NamedTuple):
    """The mail of an Archive to its people and its readers."""

    box: LetterBox
    book: AddressBook


def open_letters(server: ServerContext) -> Letters:
    box = LetterBox(_mailer(server.settings))
    server.opened.callback(box.close)
    return Letters(box, AddressBook(server.people, server.settings.archive.admin_email))


def _mailer(settings: Settings) -> Mailer | None:
    """Return the mailer. Wrong mail settings are logged and otherwise ignored."""
    try:
        return configured_mailer(settings)
    except MailIncomplete as error:
        structlog.get_logger("ibi.mail").error("no mail is sent", reason=str(error))
        return None


def open_requests(server: ServerContext, web: WebContext, archive: OpenArchive, letters: Letters) -> Opened | None:
    """Return the requests of readers; None if the settings want none."""
    if not server.settings.archive.requests:
        return None
    requests = SqliteRequests(server.settings.data)
    server.opened.callback(requests.close)
    taken = ReaderRequests(
        requests,
        archive.store,
        server.clocks,
        RequestRules(server.settings.archive.request_days),
        letters.box,
        letters.book,
        server.public_url,
        service=archive.record.service,
        translations_of=letter_translations,
    )
    return serve_requests(web, archive.site, taken)
