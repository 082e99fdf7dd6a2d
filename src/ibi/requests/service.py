"""Requests of readers: for copies of withheld files, and messages to the depositor, whose address is never shown.

The carers of an item grant a request for a time, or decline it. A reader's words go by mail only to people with an
account here, never to an address that a reader names. The reader gets the decision by mail alone. A link has a secret
of 256 bits, and only its digest is stored. It expires after a number of days, can be revoked, and counts its use.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from ibi.deposits.service.letters import (
    AddressBook,
    LetterBox,
    Recipient,
    TranslationsOf,
    english,
    quoted,
    subject_of,
)
from ibi.items.model.item import Item
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.file_access import access_by_link, is_withheld_from_some
from ibi.items.rules.related_items import find_labelled
from ibi.items.rules.rights import Belonging, ItemAct, may, require_right
from ibi.items.service.item_repository import ItemRepository
from ibi.jobs.runner import Job
from ibi.people.model.account import Actor, AuditEntry, Scope
from ibi.requests.model import ReaderInquiry, RequestKind, RequestState
from ibi.requests.ports import RequestStore
from ibi.requests.rules import (
    Asked,
    LinkOver,
    NothingWithheld,
    RequestAnswered,
    RequestRules,
    UnknownRequest,
    read_lines,
)
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import InvalidLabel
from ibi.standard.label import Label, RepositoryName
from ibi.standard.mail import Letter
from ibi.standard.messages.identification import LabelForms
from ibi.standard.safe_text import printable, shorten
from ibi.standard.vocabulary import State

_SECRET_BYTES: Final = 32
_DAY: Final = 86_400
_CLEANING: Final = 3600.0
"""Seconds between two looks for requests that are old enough to be deleted."""
_LONGEST_TITLE: Final = 300
_Into = Callable[[ReaderInquiry], ReaderInquiry]


@dataclass(frozen=True, slots=True)
class AskedFor:
    """A request as its carers see it. The item is None once it is gone."""

    request: ReaderInquiry
    item: Item | None


class ReaderRequests:
    """The requests of one Archive. Calls block, from any thread. `service` is the Archive's own item."""

    def __init__(
        self,
        store: RequestStore,
        kept: ItemRepository,
        clocks: Clocks,
        rules: RequestRules,
        box: LetterBox,
        book: AddressBook,
        public_url: str,
        *,
        service: LabelForms | None = None,
        translations_of: TranslationsOf = english,
    ) -> None:
        self.rules, self._store, self._kept, self._clocks = rules, store, kept, clocks
        self._box, self._book, self._url, self._service = box, book, public_url, service
        self._translations_of = translations_of

    @property
    def sends_mail(self) -> bool:
        """True if readers get answers by mail. Otherwise carers have to write to them."""
        return self._box.is_open

    def ask_for_copy(self, label: Label, asked: Asked, network: str) -> ReaderInquiry:
        """Ask the carers of an item for its files. `NothingWithheld` if every reader gets them."""
        item = self.find_item(label)
        if not self.is_withheld(item):
            raise NothingWithheld(label=str(item.rep))
        return self._add(RequestKind.COPY, item, asked, network)

    def send_message(self, label: Label, asked: Asked, network: str) -> ReaderInquiry:
        return self._add(RequestKind.MESSAGE, self.find_item(label), asked, network)

    def find_item(self, label: Label) -> Item:
        """Return an item that is here and not deleted; `UnknownItem` otherwise."""
        item = find_labelled(self._kept.catalog, label)
        if item is None or item.state is State.DELETED:
            raise UnknownItem(label=label.spelling)
        return item

    def is_withheld(self, item: Item) -> bool:
        """Return whether some readers do not get the files."""
        return is_withheld_from_some(item, self._clocks.read().wall)

    def _add(self, kind: RequestKind, item: Item, asked: Asked, network: str) -> ReaderInquiry:
        now = self._now()
        self._store.forget(self.rules.forgets_before(now))
        made = ReaderInquiry(
            kind=kind,
            item=item.rep.spelling,
            title=shorten(printable("; ".join(item.metadata.titles())), _LONGEST_TITLE),
            owner=item.owner,
            name=asked.name,
            mail=asked.mail,
            text=asked.text,
            network=network,
            made=now,
            language=asked.language,
        )
        request = self._store.add(made, self.rules.spans(now), self.rules.check)
        self._box.put(lambda: self._letters_to_carers(request))
        return request

    def _letters_to_carers(self, request: ReaderInquiry) -> list[Letter]:
        return [self._letter_to_carer(each, request) for each in self._book.carers(request.owner)]

    def _letter_to_carer(self, to: Recipient, request: ReaderInquiry) -> Letter:
        gettext = self._translations_of(to.language).gettext
        is_copy, title = request.kind is RequestKind.COPY, request.title or request.item
        if is_copy:
            subject = gettext("A reader asks for a copy")
            words = gettext('{name} <{mail}> asks for the files of "{title}" ({item}):')
        else:
            subject = gettext("A reader writes to you")
            words = gettext('{name} <{mail}> writes about "{title}" ({item}):')
        parts = (
            words.format(name=request.name, mail=request.mail, title=title, item=request.item),
            quoted(request.text),
            gettext("To answer, sign in: {url}").format(url=f"{self._url}/requests/{request.number}"),
        )
        reply_to = None if is_copy else request.mail  # a copy is answered by the page, which makes the link
        return Letter(to.mail, subject_of(subject, title), "\n\n".join(parts) + "\n", reply_to)

    def list(self, who: Actor, before: int | None = None, most: int = 50) -> tuple[ReaderInquiry, ...]:
        """Return the requests that the actor may answer, the newest first."""
        self._store.forget(self.rules.forgets_before(self._now()))
        sees_all = may(who, ItemAct.REPLY, Belonging("", None))
        if not sees_all and (who.account is None or not who.scope.includes(Scope.DEPOSIT)):
            return ()
        return self._store.list(None if sees_all else who.account, before, most)

    def look(self, who: Actor, number: int) -> AskedFor:
        """Return the request if the actor may answer it; `UnknownRequest` otherwise."""
        request = self._store.find(number)
        if request is None or request.made < self.rules.forgets_before(self._now()):
            raise UnknownRequest(number=number)
        item = self._item_of(request)
        if not may(who, ItemAct.REPLY, self._belonging(request, item)):
            raise UnknownRequest(number=number)
        return AskedFor(request, item)

    def grant(self, who: Actor, name: str, number: int, days: int, text: str) -> tuple[ReaderInquiry, str]:
        """Grant a link to the files, for so many days. Return the request and the link, which is stored nowhere."""
        found, answer = self.look(who, number), read_lines(text, "text", is_required=False)
        if found.item is None or found.request.kind is not RequestKind.COPY:
            raise UnknownRequest(number=number)
        require_right(who, ItemAct.REPLY, self._belonging(found.request, found.item))
        secret, now = secrets.token_bytes(_SECRET_BYTES), self._now()
        spelled = urlsafe_b64encode(secret).decode("ascii").rstrip("=")
        link = f"{self._url}/request/files/{spelled}"

        def give(request: ReaderInquiry) -> ReaderInquiry:
            granted = _answer_request(request, RequestState.GRANTED, name, answer, now)
            return replace(granted, digest=_digest(spelled), expires=now + days * _DAY, revoked=None)

        request = self._change(who, number, give, "grant copy", f"request {number}, for {days} days")
        words = self._translations_of(request.language).ngettext(
            'You asked for the files of "{title}". You can read them for {days} day:',
            'You asked for the files of "{title}". You can read them for {days} days:',
            days,
        )
        self._tell(request, words.format(title=request.title or request.item, days=days), link)
        return request, link

    def decline(self, who: Actor, name: str, number: int, text: str) -> ReaderInquiry:
        """Decline a request, with a reason."""
        found, now = self.look(who, number), self._now()
        missing = "say why: the reader gets it by mail" if self.sends_mail else "say why: it is kept with the request"
        answer = read_lines(text, "text", missing=missing)
        if found.request.kind is not RequestKind.COPY:
            raise UnknownRequest(number=number)

        def refuse(request: ReaderInquiry) -> ReaderInquiry:
            return _answer_request(request, RequestState.DECLINED, name, answer, now)

        request = self._change(who, number, refuse, "decline copy", f"request {number}")
        words = self._translations_of(request.language).gettext(
            'You asked for the files of "{title}". They are not given:'
        )
        self._tell(request, words.format(title=request.title or request.item), None)
        return request

    def close(self, who: Actor, name: str, number: int) -> ReaderInquiry:
        """Mark a message as read."""
        found, now = self.look(who, number), self._now()
        if found.request.kind is not RequestKind.MESSAGE:
            raise UnknownRequest(number=number)
        return self._change(
            who, number, lambda request: _answer_request(request, RequestState.CLOSED, name, "", now), "close message"
        )

    def revoke(self, who: Actor, number: int) -> ReaderInquiry:
        """Revoke a granted link at once."""
        self.look(who, number)
        now = self._now()

        def end(request: ReaderInquiry) -> ReaderInquiry:
            if request.state is not RequestState.GRANTED:
                raise RequestAnswered(number=number, state=str(request.state))
            return replace(request, revoked=request.revoked or now, digest=None)

        return self._change(who, number, end, "revoke copy", f"request {number}")

    def open_link(self, words: str) -> AskedFor:
        """Return the request and item of a valid link. `LinkOver` otherwise, whatever the reason."""
        request = self._store.find_digest(_digest(words))
        item = None if request is None else self._item_of(request)
        if request is None or not access_by_link(item, request, self._now()):
            raise LinkOver()
        return AskedFor(request, item)

    def count_use(self, number: int) -> None:
        """Count a fetched file. The first one goes into the audit log."""
        now = self._now()
        used = self._store.change(number, lambda each: replace(each, uses=each.uses + 1, last_use=now))
        if used is not None and used.uses == 1:
            self._note(Actor(None, Scope.READ, address="link"), used.item, "use copy", f"request {number}")

    def forget_old(self) -> int:
        """Delete the requests that are old enough."""
        return self._store.forget(self.rules.forgets_before(self._now()))

    def jobs(self) -> tuple[Job, ...]:
        def step() -> None:
            self.forget_old()

        return (Job("reader requests", step, _CLEANING),)

    def _change(self, who: Actor, number: int, into: _Into, act: str, detail: str = "") -> ReaderInquiry:
        request = self._store.change(number, into)
        if request is None:
            raise UnknownRequest(number=number)
        self._note(who, request.item, act, detail or f"request {number}")
        return request

    def _note(self, who: Actor, item: str, act: str, detail: str) -> None:
        """Write to the audit log, never with the reader's identity: the log is kept for good."""
        now = self._clocks.read().wall
        self._kept.note(AuditEntry(now, act, item, who.account, who.token, who.address, detail))

    def _tell(self, request: ReaderInquiry, words: str, link: str | None) -> None:
        parts = [words, *([] if link is None else [link]), *([quoted(request.answer)] if request.answer else [])]
        text = "\n\n".join((*parts, f"{self._url}/col/{request.item}/metadata")) + "\n"
        gettext = self._translations_of(request.language).gettext
        subject = subject_of(gettext("Your request"), request.title or request.item)
        self._box.put(lambda: [Letter(request.mail, subject, text)])

    def _item_of(self, request: ReaderInquiry) -> Item | None:
        try:
            return find_labelled(self._kept.catalog, RepositoryName.parse(request.item))
        except InvalidLabel:
            return None

    def _belonging(self, request: ReaderInquiry, item: Item | None) -> Belonging:
        if item is None:
            return Belonging(request.item, request.owner)
        return Belonging.of(item, self._service, self._clocks.read().wall)

    def _now(self) -> int:
        return self._clocks.seconds()


def _answer_request(request: ReaderInquiry, state: RequestState, name: str, answer: str, now: int) -> ReaderInquiry:
    if request.state is not RequestState.WAITING:
        raise RequestAnswered(number=request.number, state=str(request.state))
    return replace(request, state=state, answered=now, answered_by=name, answer=answer)


def _digest(words: str) -> bytes:
    return sha256(words.encode("utf-8", "surrogatepass")).digest()
