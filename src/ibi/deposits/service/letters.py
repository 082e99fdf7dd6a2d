"""Mails to people with an account: their addresses, the mails about reviews, and a thread that sends them.

Each mail is in the language of its recipient. The texts here are English, and keys of the translations that the caller
passes in: services know no catalogue.

A mail repeats what a page shows. So a mail that is not sent, because the mail server is away or this process ends, is
logged and not retried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from gettext import NullTranslations
from threading import Lock
from typing import Final, TypeAlias

import structlog

from ibi.deposits.model import Review, ReviewAct, ReviewEntry
from ibi.people.model.account import Person, Role
from ibi.people.ports import People
from ibi.standard.errors import IbiError, InvalidMessage
from ibi.standard.mail import Letter, Mailer
from ibi.standard.messages.values import mail_address
from ibi.standard.safe_text import printable, shorten
from ibi.standard.translatable import message

_MOST_WAITING: Final = 200
"""Mails that wait to be sent. Further ones are dropped: a mail server that is away must not fill the memory."""
_MOST_RECIPIENTS: Final = 20
_LONGEST_SUBJECT: Final = 120
_PERSON: Final = "person:"


TranslationsOf: TypeAlias = Callable[[str | None], NullTranslations]
"""Returns the translations into a language; None means the language of the site."""


def english(_language: str | None) -> NullTranslations:
    """Return no translations: texts stay English."""
    return NullTranslations()


def subject_of(words: str, title: str) -> str:
    """Return a subject of one line, whatever the title holds."""
    return shorten(f"{words}: {' '.join(printable(title).split())}", _LONGEST_SUBJECT)


def quoted(text: str) -> str:
    """Return another person's text, marked as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class Recipient:
    """The recipient of a mail. `language` is None if it is not known."""

    mail: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class AddressBook:
    """The e-mail addresses of people. Only the mailer gets them, never a page. Calls block."""

    people: People | None
    admin: str | None = None
    """The address of the Archive's administrator, who gets mails that reach no librarian."""

    def of_account(self, account: str | None) -> Recipient | None:
        """Return the recipient for a person who can sign in."""
        if self.people is None or account is None or not account.startswith(_PERSON):
            return None
        person = self.people.find(account.removeprefix(_PERSON))
        return None if person is None or person.disabled is not None else _recipient(person)

    def librarians(self) -> tuple[Recipient, ...]:
        """Return the librarians, or else the administrators."""
        people = () if self.people is None else self.people.list()
        active = [person for person in people if person.disabled is None]
        for role in (Role.LIBRARIAN, Role.ADMIN):
            found = {made.mail: made for person in active if person.role is role and (made := _recipient(person))}
            if found:
                return tuple(found[mail] for mail in sorted(found)[:_MOST_RECIPIENTS])
        return () if self.admin is None else (Recipient(self.admin),)

    def carers(self, owner: str | None) -> tuple[Recipient, ...]:
        """Return the carers of an item: its owner, or else the librarians."""
        found = self.of_account(owner)
        return self.librarians() if found is None else (found,)


def _recipient(person: Person) -> Recipient | None:
    """Return the address of a person. Account names of earlier versions may be addresses."""
    address = person.mail or person.name
    try:
        return Recipient(mail_address(address), person.language)
    except InvalidMessage:
        return None


class LetterBox:
    """Sends mails in a thread of its own. `put` does not wait, from any thread. Without a `mailer` it does nothing."""

    def __init__(self, mailer: Mailer | None) -> None:
        self._mailer, self._lock, self._waiting = mailer, Lock(), 0
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="ibi-letters")
        self._log = structlog.get_logger("ibi.mail")

    @property
    def is_open(self) -> bool:
        """True if mails are sent at all."""
        return self._mailer is not None

    def put(self, make: Callable[[], Iterable[Letter]]) -> None:
        """Send the letters that `make` returns. `make` runs in the thread, and may ask stores."""
        with self._lock:
            if self._mailer is None or self._waiting >= _MOST_WAITING:
                return
            self._waiting += 1
        self._threads.submit(self._send, make)

    def _send(self, make: Callable[[], Iterable[Letter]]) -> None:
        assert self._mailer is not None  # nothing is put without a mailer
        try:
            for letter in make():
                try:
                    self._mailer.send(letter)
                except IbiError as error:
                    self._log.warning("a mail was not sent", subject=letter.subject, reason=str(error))
        except IbiError as error:
            self._log.warning("a mail was not made", reason=str(error))
        except ValueError as error:
            self._log.error("a mail was not made", reason=str(error))
        finally:
            with self._lock:
                self._waiting -= 1

    def drain(self) -> None:
        """Wait until the queued mails are sent. For tests and the end of a command."""
        self._threads.submit(lambda: None).result()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


REVIEW_SUBJECTS: Final = {
    ReviewAct.SUBMITTED: message("Waits for review"),
    ReviewAct.COMMENTED: message("Comment on a review"),
    ReviewAct.RETURNED: message("Sent back to you"),
    ReviewAct.WITHDRAWN: message("Withdrawn from review"),
    ReviewAct.PUBLISHED: message("Your deposit was published"),
}
REVIEW_WORDS: Final = {
    ReviewAct.SUBMITTED: message('"{title}", submitted by {depositor}, waits for a librarian.'),
    ReviewAct.COMMENTED: message('{who} comments on "{title}", submitted by {depositor}:'),
    ReviewAct.RETURNED: message('{who} sent back "{title}". Change what is asked for, and submit it again.'),
    ReviewAct.WITHDRAWN: message('"{title}", submitted by {depositor}, no longer waits.'),
    ReviewAct.PUBLISHED: message('"{title}" was published by {who}.'),
}


DELETION_SUBJECTS: Final = {
    ReviewAct.SUBMITTED: message("Deletion waits for a librarian"),
    ReviewAct.COMMENTED: message("Comment on a deletion"),
    ReviewAct.RETURNED: message("Your request for deletion was declined"),
    ReviewAct.WITHDRAWN: message("Request for deletion withdrawn"),
    ReviewAct.PUBLISHED: message("Your item was deleted"),
}
DELETION_WORDS: Final = {
    ReviewAct.SUBMITTED: message(
        '{depositor} asks for the deletion of "{title}". The item is unchanged until a librarian deletes it.'
    ),
    ReviewAct.COMMENTED: message('{who} comments on the deletion of "{title}", which {depositor} asked for:'),
    ReviewAct.RETURNED: message('{who} declined to delete "{title}". The item is unchanged.'),
    ReviewAct.WITHDRAWN: message('{depositor} no longer asks for the deletion of "{title}".'),
    ReviewAct.PUBLISHED: message('"{title}" was deleted by {who}.'),
}
WITHHELD_SUBJECT: Final = message("Access was restricted")
WITHHELD_WORDS: Final = message(
    '{depositor} restricted access to "{title}". The restriction is in effect already: it waits for no review.'
)


@dataclass(frozen=True, slots=True)
class ReviewLetters:
    """Tells librarians about waiting reviews, and depositors about the results (`ReviewNews`)."""

    box: LetterBox
    book: AddressBook
    public_url: str
    resolver: str | None = None
    """The host of persistent links, if it is not this server."""
    translations_of: TranslationsOf = english

    def tell(self, review: Review, entry: ReviewEntry) -> None:
        self.box.put(lambda: self.letters(review, entry))

    def tell_withheld(self, owner: str, depositor: str, title: str, label: str) -> None:
        self.box.put(lambda: self.withheld_letters(owner, depositor, title, label))

    def withheld_letters(self, owner: str, depositor: str, title: str, label: str) -> list[Letter]:
        """Return a letter to each librarian when a depositor restricts access to an item."""
        own, shown = self.book.of_account(owner), printable(title or label)
        place, letters = f"{self.resolver or self.public_url}/{label}", list[Letter]()
        for each in self.book.librarians():
            if own is None or each.mail != own.mail:
                gettext = self.translations_of(each.language).gettext
                words = gettext(WITHHELD_WORDS).format(depositor=printable(depositor), title=shown)
                letters.append(Letter(each.mail, subject_of(gettext(WITHHELD_SUBJECT), shown), f"{words}\n\n{place}\n"))
        return letters

    def letters(self, review: Review, entry: ReviewEntry) -> list[Letter]:
        """Return a letter to each person concerned, except the one who acted."""
        if entry.account == review.owner:
            recipients, place = self.book.librarians(), f"/review/{review.draft}"
            if entry.act is ReviewAct.WITHDRAWN:
                recipients = ()  # it left the queue, and nobody needs to know more
        else:
            owner = self.book.of_account(review.owner)
            recipients, place = () if owner is None else (owner,), f"/account/drafts/{review.draft}/review"
        own = self.book.of_account(entry.account)
        return [self._letter(each, review, entry, place) for each in recipients if own is None or each.mail != own.mail]

    def _letter(self, to: Recipient, review: Review, entry: ReviewEntry, place: str) -> Letter:
        gettext = self.translations_of(to.language).gettext
        title = printable(review.title or review.draft)
        names = {"title": title, "who": printable(entry.name), "depositor": printable(review.depositor)}
        subjects = DELETION_SUBJECTS if review.deletes else REVIEW_SUBJECTS
        words = DELETION_WORDS if review.deletes else REVIEW_WORDS
        is_published = entry.act is ReviewAct.PUBLISHED and review.label is not None
        parts = [
            gettext(words[entry.act]).format(**names),
            *([quoted(entry.text)] if entry.text else []),
            f"{self.resolver or self.public_url}/{review.label}" if is_published else f"{self.public_url}{place}",
        ]
        return Letter(to.mail, subject_of(gettext(subjects[entry.act]), title), "\n\n".join(parts) + "\n")
