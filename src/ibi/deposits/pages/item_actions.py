"""`/account/items/<label>/<act>`: actions of signed-in people on an item.

A change of the description or the files, a new edition, a translation or a metadata item begins a draft, which
continues in the deposit form. Access and deletion have forms here. Every action ends in the service that the API uses,
so that rights, review and the audit log are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from ibi.deposits.pages.field_choices import (
    LONG_REASON,
    ActRefused,
    check_embargo_day,
    check_embargo_reason,
    find_language,
    language_choices,
)
from ibi.deposits.rules.drafts import MOST_REASON
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.reviews import Submitted
from ibi.items.model.description_values import checked_text
from ibi.items.model.item import Description, Draft, Item, name_one_item
from ibi.items.model.metadata import Text, checked_date
from ibi.items.model.visibility import Visibility
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.life_cycle import Act, require
from ibi.items.rules.rights import ItemAct
from ibi.people.model.account import Role
from ibi.standard.document_errors import InvalidMetadata, InvalidNetwork
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label import Label, find_labels, match_any, parse_any
from ibi.standard.networks import network
from ibi.standard.vocabulary import State
from ibi.web.reader import (
    PRIVATE,
    ForeignForm,
    Visitor,
    find_visitor,
    message,
    page_language,
    see_other,
    translations,
)
from ibi.web.rendering import render
from ibi.web.request_errors import PathNotFound
from ibi.web.sites import ArchiveSite, ItemServices, NoLabels
from ibi.web.words import shown_title

PLACE: Final = "/account/items"
MOST_NETWORKS: Final = 1000
"""Largest number of networks that may see an item. Every request for the item checks them all."""


class PageAct(StrEnum):
    """An action on an item. Its value is a part of the path."""

    EDIT = "edit"
    EDITION = "edition"
    TRANSLATION = "translation"
    METADATA = "metadata"
    ACCESS = "access"
    DELETE = "delete"


_RIGHTS: Final = {
    PageAct.EDIT: ItemAct.UPDATE,
    PageAct.ACCESS: ItemAct.UPDATE,
    PageAct.DELETE: ItemAct.DELETE,
    # A new item's relation to another is a claim, which the owner of the other item answers. A claim needs the right to
    # deposit only.
    PageAct.EDITION: ItemAct.DEPOSIT,
    PageAct.TRANSLATION: ItemAct.DEPOSIT,
    PageAct.METADATA: ItemAct.DEPOSIT,
}
_LIFE: Final = {PageAct.EDIT: Act.UPDATE, PageAct.ACCESS: Act.UPDATE, PageAct.DELETE: Act.DELETE}
_CLAIMS_AT_ONCE: Final = (PageAct.EDITION, PageAct.METADATA)
"""Claims that only one item can make. The page reports an existing one before the reader types anything."""
_TEMPLATES: Final = {PageAct.ACCESS: "act_access.html", PageAct.DELETE: "act_delete.html"}


_NO_REASON: Final = message("Enter the reason for the deletion: it is shown to readers.")
NOT_CONFIRMED: Final = message("Confirm the deletion.")
_NO_TITLE: Final = message("The translation needs a title.")
_CHANGED: Final = message("The item was changed meanwhile: check the current values, then submit the form again.")
_SAME_ITEM: Final = message("An item cannot replace itself.")
_MANY_NETWORKS: Final = message("There are more than 1,000 networks.")
_LABEL_WANTED: Final = message("enter one IBI, or one link that contains an IBI")
_DAY_WANTED: Final = message("enter a date such as 2027-01-31")


@dataclass(slots=True)
class ActForm:
    """A form as its reader sees it: the values of its fields, and their errors."""

    values: dict[str, str]
    errors: dict[str, IbiError] = field(default_factory=dict)
    problem: IbiError | None = None

    @property
    def status(self) -> int:
        error = self.problem or next(iter(self.errors.values()), None)
        return HTTPStatus.OK if error is None else error.kind.status


def page_actions(site: ArchiveSite, services: ItemServices | None, item: Item, scope: Scope) -> tuple[PageAct, ...]:
    """Return the actions that the reader of the item's page may take.

    There are none for readers who are not signed in. There are none either while it is unconfirmed whether the Original
    is still here.
    """
    if services is None or item.state is not State.ORIGINAL or site.is_unconfirmed(item):
        return ()
    visitor = find_visitor(Request(scope), site)
    if isinstance(visitor, Response):
        return ()
    deposits = services.deposits_of(visitor.actor)
    found = {act for act, right in _RIGHTS.items() if deposits.may(right, item)}
    if services.service is not None and name_one_item(item.labels, services.service):
        found &= {PageAct.EDIT}  # resolvers find the Archive by this item: it is not hidden, deleted or replaced
    return tuple(act for act in PageAct if act in found - _precluded_claims(item))


def _precluded_claims(item: Item) -> set[PageAct]:
    """Return the actions that would begin a second item in a place for one."""
    taken = {
        PageAct.EDITION: item.next_edition is not None,
        PageAct.METADATA: item.metadata_item is not None or item.describes is not None,
    }
    return {act for act, is_taken in taken.items() if is_taken}


class ItemActionPages:
    """The actions on items of one Archive that takes deposits."""

    def __init__(self, site: ArchiveSite, services: ItemServices) -> None:
        self._site, self._services = site, services

    def routes(self) -> list[Route]:
        return [Route(f"{PLACE}/{{rest:path}}", self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        if not request.path_params["rest"]:
            return RedirectResponse(PLACE, HTTPStatus.PERMANENT_REDIRECT)
        label, act = _target(request.path_params["rest"])
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        services = self._services
        item = await self._site.find(label)
        if item is None:
            raise UnknownItem(label=label.spelling)
        services.deposits_of(visitor.actor).require(_RIGHTS[act], item)
        require(item, _LIFE.get(act, Act.RELATE))
        if request.method != "POST":
            form = ActForm(self._values(item, act))
            if act in _CLAIMS_AT_ONCE:
                form.problem = await asyncio.to_thread(_why_not, services, visitor, _describe_new_item(item, act, form))
            return self._show(request, visitor, item, act, form)
        fields = await visitor.read_form(request)
        form = ActForm({name: text.replace("\r\n", "\n").strip() for name, text in fields.items()})
        try:
            return await self._take(services, visitor, item, act, form)
        except ForeignForm:
            raise
        except IbiError as error:
            if not error.kind.is_told:
                raise
            if not form.errors:
                form.problem = error
            return self._show(request, visitor, item, act, form)

    async def _take(
        self, services: ItemServices, visitor: Visitor, item: Item, act: PageAct, form: ActForm
    ) -> Response:
        match act:
            case PageAct.ACCESS:
                return await self._change_access(services, visitor, item, form)
            case PageAct.DELETE:
                return await self._delete(services, visitor, item, form)
            case PageAct.EDIT:
                draft = await asyncio.to_thread(_draft_of_change, services, visitor.depositor, item)
            case _:
                description = _describe_new_item(item, act, form)
                draft = await asyncio.to_thread(_draft_of_claim, services, visitor, item, description)
        return see_other(f"/deposit/{draft}")

    async def _change_access(self, services: ItemServices, visitor: Visitor, item: Item, form: ActForm) -> Response:
        visibility = _read_visibility(item.visibility, form, self._site.now)
        if form.values.get("version") != str(item.version):
            raise ActRefused(reason=_CHANGED)
        place = f"{PLACE}/{item.rep.spelling}/{PageAct.ACCESS}"
        if visibility == item.visibility:
            return see_other(f"{place}?done=saved")
        description = replace(item.description.without_relations(), visibility=visibility)
        submitted = await asyncio.to_thread(_publish_change, services, visitor.depositor, item, description)
        return see_other(f"{place}?done={'waits' if submitted else 'saved'}")

    async def _delete(self, services: ItemServices, visitor: Visitor, item: Item, form: ActForm) -> Response:
        reason, successor = form.values.get("reason", ""), None
        if not reason:
            form.errors["reason"] = ActRefused(reason=_NO_REASON)
        elif len(reason) > MOST_REASON:
            form.errors["reason"] = ActRefused(reason=LONG_REASON)
        try:
            successor = _read_successor(form.values.get("replaced_by", ""), item)
        except (ActRefused, InvalidLabel) as error:
            form.errors["replaced_by"] = error
        if form.values.get("confirm") != "yes":
            form.errors["confirm"] = ActRefused(reason=NOT_CONFIRMED)
        if form.errors:
            raise next(iter(form.errors.values()))
        made = await asyncio.to_thread(services.drafts.delete_or_ask, visitor.depositor, item.rep, reason, successor)
        if isinstance(made, Submitted):
            return see_other(f"/account/drafts/{made.review.draft}/review")
        return see_other(self._site.urls.metadata(item, None, None))

    def _request(self, visitor: Visitor, item: Item) -> str | None:
        """Return the address of the reader's own waiting request for the deletion."""
        found = self._services.drafts.find_request(visitor.depositor, item)
        return None if found is None else f"/account/drafts/{found.record.id}/review"

    def _values(self, item: Item, act: PageAct) -> dict[str, str]:
        if act is not PageAct.ACCESS:
            return {}
        seen = item.visibility
        return {
            "embargo": "" if seen.embargo is None else str(seen.embargo)[:10],
            "embargo_reason": seen.embargo_reason or "",
            "networks": "\n".join(map(str, seen.networks)),
            "unlisted": "" if seen.listing else "yes",
            "version": str(item.version),
        }

    def _show(self, request: Request, visitor: Visitor, item: Item, act: PageAct, form: ActForm) -> Response:
        language = page_language(request.scope)
        gettext = translations(language).gettext
        if form.errors or form.problem is not None:
            form.values["version"] = str(item.version)  # the page shows the present values
        return render(
            request.scope,
            _TEMPLATES.get(act, "act_begin.html"),
            status=form.status,
            headers=PRIVATE,
            csrf=visitor.csrf,
            act=act.value,
            item=item,
            title=shown_title(item),
            place=f"{PLACE}/{item.rep.spelling}/{act}",
            page=self._site.urls.metadata(item, None, None),
            values=_Typed(form.values),
            errors={name: error.message(gettext) for name, error in form.errors.items()},
            problem=None if form.problem is None else form.problem.message(gettext),
            is_over=form.problem is not None and act in _CLAIMS_AT_ONCE,
            done=request.query_params.get("done", ""),
            waits=not self._services.deposits_of(visitor.actor).may(ItemAct.ANSWER, item),
            languages=language_choices(language) if act is PageAct.TRANSLATION else (),
            today=str(self._site.now)[:10],
            is_asked=act is PageAct.DELETE and self._services.drafts.must_ask(visitor.depositor, item),
            request=self._request(visitor, item) if act is PageAct.DELETE else None,
        )


class _Typed(dict[str, str]):
    """Values of the fields. A field that was not sent is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def _target(rest: str) -> tuple[Label, PageAct]:
    """Return the label and the action that a path names. Raise `PathNotFound` if it names none."""
    found = match_any(rest)
    name = "" if found is None else rest[found[1] :].removeprefix("/")
    if found is None or name not in {act.value for act in PageAct} or rest[found[1]] != "/":
        raise PathNotFound()
    return found[0], PageAct(name)


def _draft_of_change(services: ItemServices, who: Depositor, item: Item) -> str:
    """Return the draft for a change of the item: the depositor's draft of the present version, or a new one."""
    known = services.drafts.of_item(who, item.rep)
    if known is not None and known.record.owner == who.owner and known.record.base == item.version:
        return known.record.id
    return services.drafts.begin_update(who, item.rep).record.id


def _draft_of_claim(services: ItemServices, visitor: Visitor, item: Item, description: Description) -> str:
    """Begin a draft of a new item that claims a relation to another. Raise if its claims could not be published."""
    services.deposits_of(visitor.actor).check_claims(Draft(description=description))
    return services.drafts.begin(visitor.depositor, description, like=item).record.id


def _why_not(services: ItemServices, visitor: Visitor, description: Description) -> IbiError | None:
    """Return why a draft with this description could not be published, or None. Raise an error that is not for
    readers."""
    try:
        services.deposits_of(visitor.actor).check_claims(Draft(description=description))
    except IbiError as error:
        if not error.kind.is_told:
            raise
        return error
    return None


def _publish_change(services: ItemServices, who: Depositor, item: Item, description: Description) -> bool:
    """Publish the change or submit it for review. Return True if it waits for review."""
    draft = services.drafts.begin_update(who, item.rep, description).record.id
    try:
        return isinstance(services.drafts.publish_or_submit(who, draft, NoLabels()), Submitted)
    except IbiError:
        with suppress(IbiError):
            services.drafts.discard(who, draft)
        raise


def _describe_new_item(item: Item, act: PageAct, form: ActForm) -> Description:
    """Return the first description of a new item. It takes over neither the dates nor the identifiers of the other
    item."""
    metadata = replace(item.metadata, date=(), identifier=())
    if act is PageAct.EDITION:
        return Description(
            metadata=metadata,
            language=item.language,
            target_url=item.target_url,
            edition_of=item.labels,
            visibility=item.visibility,
        )
    if act is PageAct.METADATA:
        about = replace(metadata, description=(), licence=None, resource_type=None, type=(), places=(), funding=())
        return Description(metadata=about, language=item.language, describes=item.labels)
    try:
        language = find_language(form.values.get("language", ""))
    except IbiError as error:
        form.errors["language"] = error
    title = " ".join(form.values.get("title", "").split())
    if not title:
        form.errors["title"] = ActRefused(reason=_NO_TITLE)
    if form.errors:
        raise next(iter(form.errors.values()))
    translated = replace(metadata, title=(Text(title, language),), description=())
    return Description(metadata=translated, language=language, translation_of=item.labels, visibility=item.visibility)


def _read_visibility(before: Visibility, form: ActForm, now: Instant) -> Visibility:
    """Read the access settings of the form. Note each error at its field, and raise the first."""
    values, found = form.values, dict[str, Any]()
    readers: dict[str, Callable[[], Any]] = {
        "embargo": lambda: _read_day(values.get("embargo", ""), before, now),
        "networks": lambda: _read_networks(values.get("networks", "")),
        "embargo_reason": lambda: _read_reason(values.get("embargo_reason", ""), values.get("embargo", "")),
    }
    for name, read in readers.items():
        try:
            found[name] = read()
        except (ActRefused, InvalidMetadata, InvalidNetwork) as error:
            form.errors[name] = error
    if form.errors:
        raise next(iter(form.errors.values()))
    return Visibility(listing=values.get("unlisted") != "yes", **found)


def _read_day(text: str, before: Visibility, now: Instant) -> Instant | None:
    if not text:
        return None
    if before.embargo is not None and str(before.embargo)[:10] == text:
        return before.embargo  # it may be in the middle of a day
    if len(text) != 10:
        raise InvalidMetadata(text[:100], 0, _DAY_WANTED, field="embargo")
    day = Instant.parse(f"{checked_date(text)}T00:00:00Z")
    check_embargo_day(day, now)
    return day


def _read_reason(text: str, embargo: str) -> str | None:
    check_embargo_reason(text, embargo)
    return checked_text(text, "embargo_reason") if text else None


def _read_networks(text: str) -> tuple[Any, ...]:
    words = text.replace(",", " ").replace(";", " ").split()
    if len(words) > MOST_NETWORKS:
        raise ActRefused(reason=_MANY_NETWORKS)
    return tuple(dict.fromkeys(network(word) for word in words))


def _read_successor(text: str, item: Item) -> Label | None:
    """Return the item that replaces the deleted one: an IBI, or a link that contains one."""
    if not text:
        return None
    found = [each.label for each in find_labels(text[:5000])]
    if len(found) > 1:
        raise InvalidLabel(text[:200], 0, _LABEL_WANTED)
    label = found[0] if found else parse_any(text[:5000])
    if item.is_called(label):
        raise ActRefused(reason=_SAME_ITEM)
    return label
