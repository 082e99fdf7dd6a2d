"""Mails to people with an account: to whom, what they say of reviews, and a thread that sends them.

A mail is news of what a page shows: one that is not sent, because the mail server is away or this process ends, is
logged and not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Final

import structlog

from ibi.errors import IbiError, InvalidMessage
from ibi.messages.values import mail_address
from ibi.model.account import Person, Role
from ibi.model.review import Review, ReviewAct, ReviewEntry
from ibi.ports.accounts import People
from ibi.ports.mailer import Letter, Mailer
from ibi.safe_text import printable, shorten

_MOST_WAITING: Final = 200
"""Mails that wait to be sent; more are dropped: a mail server that is away must not fill the memory."""
_MOST_RECIPIENTS: Final = 20
_LONGEST_SUBJECT: Final = 120
_PERSON: Final = "person:"


def subject_of(words: str, title: str) -> str:
    """One line, whatever a title holds."""
    return shorten(f"{words}: {' '.join(printable(title).split())}", _LONGEST_SUBJECT)


def quoted(text: str) -> str:
    """What another person wrote, told apart from what this server says."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class AddressBook:
    """The e-mail addresses of people. They are given to the mailer and to no page. Calls block."""

    people: People | None
    admin: str | None = None
    """Of who runs the Archive: who gets what no librarian can be told."""

    def of_account(self, account: str | None) -> str | None:
        """That of a person who can sign in."""
        if self.people is None or account is None or not account.startswith(_PERSON):
            return None
        person = self.people.find(account.removeprefix(_PERSON))
        return None if person is None or person.disabled is not None else _address(person)

    def librarians(self) -> tuple[str, ...]:
        """Those of the librarians, or else of the administrators."""
        people = () if self.people is None else self.people.list()
        active = [person for person in people if person.disabled is None]
        for role in (Role.LIBRARIAN, Role.ADMIN):
            found = sorted({address for person in active if person.role is role and (address := _address(person))})
            if found:
                return tuple(found[:_MOST_RECIPIENTS])
        return () if self.admin is None else (self.admin,)

    def carers(self, owner: str | None) -> tuple[str, ...]:
        """Who cares for an item: its owner, or else the librarians."""
        address = self.of_account(owner)
        return self.librarians() if address is None else (address,)


def _address(person: Person) -> str | None:
    """The address of a person; names of earlier versions may be one."""
    address = person.mail or person.name
    try:
        return mail_address(address)
    except InvalidMessage:
        return None


class LetterBox:
    """Sends mails in a thread of its own. `put` does not wait, from any thread; without a `mailer` it does nothing."""

    def __init__(self, mailer: Mailer | None) -> None:
        self._mailer, self._lock, self._waiting = mailer, Lock(), 0
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="ibi-letters")
        self._log = structlog.get_logger("ibi.mail")

    @property
    def is_open(self) -> bool:
        """Whether mails are sent at all."""
        return self._mailer is not None

    def put(self, make: Callable[[], Iterable[Letter]]) -> None:
        """Send what `make` makes, which may ask stores."""
        with self._lock:
            if self._mailer is None or self._waiting >= _MOST_WAITING:
                return
            self._waiting += 1
        self._threads.submit(self._send, make)

    def _send(self, make: Callable[[], Iterable[Letter]]) -> None:
        assert self._mailer is not None  # nothing is put without one
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
        """Wait until what was put is sent. For tests and the end of a command."""
        self._threads.submit(lambda: None).result()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


_NEWS: Final = {
    ReviewAct.SUBMITTED: "Waits for review",
    ReviewAct.COMMENTED: "Comment on a review",
    ReviewAct.RETURNED: "Sent back to you",
    ReviewAct.WITHDRAWN: "Withdrawn from review",
    ReviewAct.PUBLISHED: "Published",
}


@dataclass(frozen=True, slots=True)
class ReviewLetters:
    """Tells librarians what waits for them, and depositors what became of it (`ReviewNews`)."""

    box: LetterBox
    book: AddressBook
    public_url: str
    resolver: str | None = None
    """Where persistent links lead, if not to this server itself."""

    def tell(self, review: Review, entry: ReviewEntry) -> None:
        self.box.put(lambda: self.letters(review, entry))

    def letters(self, review: Review, entry: ReviewEntry) -> list[Letter]:
        """One to each who has to know, and none to who did it."""
        is_by_depositor = entry.account == review.owner
        if is_by_depositor:
            recipients, place = self.book.librarians(), f"/review/{review.draft}"
            if entry.act is ReviewAct.WITHDRAWN:
                recipients = ()  # it is not in the queue any more, which is all there is to know
        else:
            address = self.book.of_account(review.owner)
            recipients, place = () if address is None else (address,), f"/account/drafts/{review.draft}/review"
        own = self.book.of_account(entry.account)
        text = self._text(review, entry, place)
        subject = subject_of(_NEWS[entry.act], review.title or review.draft)
        return [Letter(to, subject, text) for to in recipients if to != own]

    def _text(self, review: Review, entry: ReviewEntry, place: str) -> str:
        title, who = printable(review.title or review.draft), printable(entry.name)
        parts = [f'"{title}", submitted by {printable(review.depositor)}: {_SAID[entry.act].format(who=who)}']
        if entry.text:
            parts.append(quoted(entry.text))
        if entry.act is ReviewAct.PUBLISHED and review.label is not None:
            parts.append(f"{self.resolver or self.public_url}/{review.label}")
        else:
            parts.append(f"{self.public_url}{place}")
        return "\n\n".join(parts) + "\n"


_SAID: Final = {
    ReviewAct.SUBMITTED: "it waits for a librarian.",
    ReviewAct.COMMENTED: "{who} says something about it.",
    ReviewAct.RETURNED: "{who} sent it back. Change what is asked for, and submit it again.",
    ReviewAct.WITHDRAWN: "it does not wait any more.",
    ReviewAct.PUBLISHED: "it is published, by {who}.",
}
