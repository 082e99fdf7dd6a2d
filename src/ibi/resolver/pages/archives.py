"""`/admin/archives`: the register of a resolver with the state of each Archive, disputes over Originals, follows and
webhooks.

Every form ends in the service that the command and the API use. That service writes the audit log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.rules.rights import SiteAct, require_site_right
from ibi.jobs.promptness import ask, beside
from ibi.membership.model.registration import ClaimKind, Registration
from ibi.membership.resources import RegisteredArchiveResource
from ibi.membership.rules.membership import RegistrationChange
from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
from ibi.membership.service.registration_admin import Application, Registered, RegistrationAdmin
from ibi.people.model.account import Actor
from ibi.resolver.service.disputes import Disputes
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.web.admin_shell import ADMIN, AdminShell
from ibi.web.reader import ForeignForm, Visitor, message, see_other
from ibi.web.request_errors import InvalidMember, PathNotFound, whole_number
from ibi.web.words import FAILURES_BY_CODE

ARCHIVES: Final = f"{ADMIN}/archives"
SHOWN: Final = 100
"""Number of Archives, and of disputes, on one page."""
_LONGEST: Final = 200
_LONGEST_HOLDER: Final = 10_000
_KEPT: Final = ("labels", "admin_mail", "hosts", "networks", "prefixes", "shared", "allow_weak_key")
"""Fields that a refused form shows again. The key must be typed again."""

CLAIMS: Final = {
    ClaimKind.ORIGINAL: message("says that it holds the Original"),
    ClaimKind.DELETED: message("says that it was deleted"),
    ClaimKind.NEXT_EDITION: message("says that there is a later edition"),
}
HOLDER_STATES: Final = {
    "settings": message("named in the settings"),
    "named": message("named"),
    "offered": message("keeps Copies of your items: name it as a holder?"),
    "declined": message("declined"),
}
DONE: Final = {
    "forgotten": message("The registration was removed."),
    "changed": message("The registration was changed."),
    "settled": message("The dispute was settled."),
    "unfollowed": message("No longer followed. The Copies made so far are kept."),
    "unhooked": message("The webhook was removed."),
    "enabled": message("The webhook was enabled."),
    "holder_named": message("The Archive is named as a holder of Copies. The resolver is told within seconds."),
    "holder_removed": message("The Archive is not named as a holder of Copies."),
}


class MissingConsent(IbiError):
    """Tick the box that says that you mean it: {what} cannot be undone."""

    code = "missing-consent"
    kind = ErrorKind.MALFORMED
    request_field = "sure"
    clauses = ("what",)


class ArchivesPage:
    def __init__(self, shell: AdminShell) -> None:
        self._shell, self._administration = shell, shell.administration
        self._acts: Mapping[str, Callable[[dict[str, str], Actor, str], Awaitable[str]]] = {
            "forget": self._forget,
            "change": self._change,
            "settle": self._settle,
            "unfollow": self._unfollow,
            "unhook": self._unhook,
            "enable": self._enable,
            "name_holder": self._name_holder,
            "remove_holder": self._remove_holder,
        }

    def routes(self) -> list[Route]:
        return [Route(ARCHIVES, self._shell.guard(SiteAct.ADMIT, self.handle), methods=["GET", "POST"])]

    async def handle(self, request: Request, visitor: Visitor) -> Response:
        if request.method != "POST":
            return await self._show(request, visitor)
        fields = await visitor.read_form(request)
        try:
            if fields.get("do") == "register":
                registered = await self._register(fields, visitor.actor)
                return await self._show(request, visitor, registered=registered)
            act = self._acts.get(fields.get("do", ""))
            if act is None:
                raise InvalidMember(field="do", reason="the form does not say what is to be done")
            return see_other(f"{ARCHIVES}?done={await act(fields, visitor.actor, visitor.name)}")
        except ForeignForm:
            raise
        except IbiError as error:
            if not error.kind.is_told:
                raise
            return await self._show(request, visitor, error=error, fields=fields)

    async def _register(self, fields: dict[str, str], actor: Actor) -> Registered:
        application = Application.of_words(
            fields.get("labels", "").split(),
            fields.get("key", ""),
            fields.get("admin_mail", "").strip() or None,
            fields.get("hosts", "").split(),
            fields.get("networks", "").split(),
            fields.get("prefixes", "").split(),
            shared="shared" in fields,
        )
        weak = "allow_weak_key" in fields
        return await self._register_of().register(application, allow_weak_key=weak, actor=actor)

    async def _forget(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        if "sure" not in fields:
            raise MissingConsent(what=message("to forget an Archive"))
        await self._register_of().forget(parse(fields.get("archive", "")), actor=actor)
        return "forgotten"

    async def _change(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        change = RegistrationChange.of_words(
            add_hosts=fields.get("add_hosts", "").split(),
            remove_hosts=fields.get("remove_hosts", "").split(),
            allow=fields.get("allow", "").split(),
            disallow=fields.get("disallow", "").split(),
            admin_mail=fields.get("admin_mail", "").strip() or None,
        )
        await self._register_of().set(parse(fields.get("archive", "")), change, actor=actor)
        return "changed"

    async def _settle(self, fields: dict[str, str], actor: Actor, who: str) -> str:
        resolver = self._administration.resolver
        if resolver is None or resolver.disputes is None:
            raise PathNotFound()
        disputes, label, holder = resolver.disputes, parse(fields.get("item", "")), parse(fields.get("holder", ""))
        await beside(lambda: disputes.settle(label, holder, who, actor))
        resolver.resolving.forget((label,))
        return "settled"

    async def _unfollow(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        subscriptions = self._subscriptions_for(actor)
        await asyncio.to_thread(subscriptions.follows.acting_as(actor).remove_follow, fields.get("id", ""))
        return "unfollowed"

    async def _unhook(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        subscriptions = self._subscriptions_for(actor)
        await asyncio.to_thread(subscriptions.webhooks.acting_as(actor).remove_webhook, fields.get("id", ""))
        return "unhooked"

    async def _enable(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        subscriptions = self._subscriptions_for(actor)
        await asyncio.to_thread(subscriptions.webhooks.acting_as(actor).enable_webhook, fields.get("id", ""))
        return "enabled"

    async def _name_holder(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        admin = self._holders_for(actor)
        await asyncio.to_thread(admin.add, fields.get("holder", "").strip()[:_LONGEST_HOLDER])
        return "holder_named"

    async def _remove_holder(self, fields: dict[str, str], actor: Actor, _: str) -> str:
        admin = self._holders_for(actor)
        await asyncio.to_thread(admin.remove, fields.get("holder", "").strip()[:_LONGEST_HOLDER])
        return "holder_removed"

    def _holders_for(self, actor: Actor) -> CopyHolderAdmin:
        require_site_right(actor, SiteAct.SUBSCRIBE)
        holders = self._administration.copy_holders
        if holders is None:
            raise PathNotFound()
        return holders.acting_as(actor)

    def _register_of(self) -> RegistrationAdmin:
        resolver = self._administration.resolver
        if resolver is None or resolver.registrations is None:
            raise PathNotFound()
        return resolver.registrations

    def _subscriptions_for(self, actor: Actor) -> Any:
        require_site_right(actor, SiteAct.SUBSCRIBE)
        if self._administration.subscriptions is None:
            raise PathNotFound()
        return self._administration.subscriptions

    async def _show(
        self,
        request: Request,
        visitor: Visitor,
        *,
        error: IbiError | None = None,
        fields: dict[str, str] | None = None,
        registered: Registered | None = None,
    ) -> Response:
        query = request.query_params
        return self._shell.render(
            request,
            visitor,
            "admin_archives.html",
            error,
            **await self._register_facts(query.get("q", "")[:_LONGEST].strip(), _page_number(query.get("page", ""))),
            **await asyncio.to_thread(self._subscription_facts),
            holders=await asyncio.to_thread(self._holder_facts),
            disputes=await self._disputes(),
            typed={name: (fields or {}).get(name, "") for name in _KEPT} | {"do": (fields or {}).get("do", "")},
            done=DONE.get(query.get("done", "")) if error is None else None,
            registered=registered,
            claims=CLAIMS,
            failures=FAILURES_BY_CODE,
            holder_states=HOLDER_STATES,
            moment=Instant.parse,
        )

    async def _register_facts(self, wanted: str, page: int) -> dict[str, Any]:
        resolver = self._administration.resolver
        if resolver is None or resolver.registrations is None:
            return {"archives": None, "number": 0, "query": "", "page": 0, "following": False}
        known = await asyncio.to_thread(resolver.registrations.all)
        # Archives that need a person come first.
        found = sorted((each for each in known if _is_named(each, wanted)), key=_rank)
        shown = found[page * SHOWN : (page + 1) * SHOWN]
        return {
            "archives": [_facts(each) for each in shown],
            "number": len(found),
            "query": wanted,
            "page": page,
            "following": len(found) > (page + 1) * SHOWN,
        }

    def _subscription_facts(self) -> dict[str, Any]:
        subscriptions = self._administration.subscriptions
        if subscriptions is None:
            return {"follows": None, "webhooks": None}
        follows, webhooks = subscriptions.lists
        return {"follows": follows(), "webhooks": webhooks()}

    def _holder_facts(self) -> list[dict[str, Any]] | None:
        holders = self._administration.copy_holders
        if holders is None:
            return None
        return holders.list_holders()

    async def _disputes(self) -> Any:
        resolver = self._administration.resolver
        found: Disputes | None = None if resolver is None else resolver.disputes
        return None if found is None else await ask(found, lambda: found.all(settled=False, most=SHOWN))


def _page_number(text: str) -> int:
    return whole_number(text, 6) or 0


def _is_named(registration: Registration, wanted: str) -> bool:
    """Return whether the text occurs in a label, an address, a host or the e-mail of an Archive."""
    if not wanted:
        return True
    inclusion = registration.inclusion
    texts = [*map(str, registration.labels), *registration.hosts, registration.admin_mail or ""]
    texts += () if inclusion is None else (inclusion.address, str(inclusion.ip))
    return any(wanted.lower() in text.lower() for text in texts)


def _rank(registration: Registration) -> tuple[int, str]:
    if registration.inclusion is None:
        return 2 if registration.lost is None else 3, str(registration.labels[0])
    is_reached = registration.failed is None and registration.inclusion.confirmed
    return 1 if is_reached and registration.pending is None else 0, str(registration.labels[0])


def _facts(registration: Registration) -> dict[str, Any]:
    """Return all facts except the hash of the key, with times as instants."""
    inclusion = registration.inclusion
    return {
        **structs.asdict(RegisteredArchiveResource.whole(registration)),
        "label": registration.labels[0].spelling,
        "registered_at": registration.registered,
        "answered_at": None if inclusion is None else inclusion.answered,
        "failed_at": None if registration.failed is None else registration.failed.at,
    }
