"""`/admin/people`: administrators list accounts, invite people, set roles, and disable or enable accounts.

Without e-mail, or if an e-mail could not be sent, the page shows the link once, for the administrator to pass on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.rules.rights import may_administer
from ibi.people.model.account import Person, Role
from ibi.people.rules.names import MOST_NAME
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.recovery import AccountRecovery
from ibi.standard.errors import IbiError
from ibi.standard.mail import Letter
from ibi.standard.networks import IpNetwork
from ibi.web.admin_shell import PEOPLE, AdminPlace
from ibi.web.reader import (
    PRIVATE,
    Visitor,
    find_visitor,
    letter_translations,
    message,
    named_language,
    page_language,
    see_other,
    translations,
)
from ibi.web.rendering import SITE, SiteFacts, render
from ibi.web.request_errors import InvalidMember

ROLES: Final = {
    Role.READER: message("reader"),
    Role.DEPOSITOR: message("depositor"),
    Role.LIBRARIAN: message("librarian"),
    Role.ADMIN: message("administrator"),
}
DONE: Final = {
    "invited": message("The invitation was sent."),
    "withdrawn": message("The invitation was withdrawn: its link no longer works."),
    "role": message("The role was changed. It applies from their next page on, and to their tokens."),
    "disabled": message("The account was disabled: its sessions were ended, and its tokens are refused."),
    "enabled": message("The account was enabled: the person can sign in again."),
    "described": message("The details of the person were changed."),
}


_PROBLEMS: Final = {
    "invalid-mail": message("This is not an e-mail address."),
    "mail-taken": message("Another person here has this address."),
    "invalid-person-name": message("This name is not allowed."),
    "last-admin": message("This is the only administrator who can sign in: give another person that role first."),
    "unknown-person": message("This person no longer exists."),
    "unknown-invitation": message("This invitation no longer exists."),
}
"""Messages that replace those of errors that name a command."""


class PeoplePage:
    """The page of one site. `proxies` are the networks that are trusted to name their client. `places` are the other
    pages of the administration."""

    def __init__(
        self, recovery: AccountRecovery, proxies: tuple[IpNetwork, ...] = (), places: Sequence[AdminPlace] = ()
    ) -> None:
        self._admin, self._recovery, self._public_url = recovery.admin, recovery, recovery.public_url
        self.proxies, self._places = proxies, places

    def routes(self) -> list[Route]:
        return [Route(PEOPLE, self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        visitor = find_visitor(request, self, least=Role.ADMIN)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor)
        fields = await visitor.read_form(request)
        try:
            return await self._act(request, visitor, fields)
        except IbiError as error:
            if not error.kind.is_told:
                raise
            return await self._show(request, visitor, error=error, fields=fields)

    async def _act(self, request: Request, visitor: Visitor, fields: dict[str, str]) -> Response:
        admin, act, name = self._admin.acting_as(visitor.actor), fields.get("act", ""), fields.get("name", "")
        match act:
            case "invite":
                return await self._invite(request, visitor, admin, fields)
            case "link":
                secret = await asyncio.to_thread(admin.link, name)
                return await self._show(request, visitor, link=f"{self._public_url}/sign-in/{secret}", to=name)
        simple: dict[str, tuple[str, Callable[[], object]]] = {
            "withdraw": ("withdrawn", lambda: admin.withdraw(fields.get("invitation", ""))),
            "role": ("role", lambda: admin.set_role(name, fields.get("role", ""))),
            "disable": ("disabled", lambda: admin.disable(name)),
            "enable": ("enabled", lambda: admin.enable(name)),
            "describe": (
                "described",
                lambda: admin.describe(name, shown=fields.get("shown"), mail=fields.get("mail")),
            ),
        }
        if act not in simple:
            raise InvalidMember(field="act", reason="there is no such act")
        done, work = simple[act]
        await asyncio.to_thread(work)
        return see_other(f"{PEOPLE}?done={done}")

    async def _invite(self, request: Request, visitor: Visitor, admin: PersonAdmin, fields: dict[str, str]) -> Response:
        mail, role, shown = fields.get("mail", ""), fields.get("role", ""), fields.get("shown", "")
        secret, invitation = await asyncio.to_thread(lambda: admin.invite(mail, role, shown=shown))
        link = f"{self._public_url}/sign-in/invitation/{secret}"
        if not self._recovery.sends_mail:
            return await self._show(request, visitor, link=link, to=invitation.mail)
        site = request.scope.get(SITE, SiteFacts()).name
        language = named_language(fields.get("language", "")) or page_language(request.scope)
        letter = invitation_letter(language, invitation.mail, link, visitor, site)
        reason = await self._recovery.post(letter)
        if reason is not None:
            said = reason.message(translations(page_language(request.scope)).gettext)
            return await self._show(request, visitor, link=link, to=invitation.mail, reason=said)
        return see_other(f"{PEOPLE}?done=invited")

    async def _show(
        self,
        request: Request,
        visitor: Visitor,
        *,
        error: IbiError | None = None,
        fields: dict[str, str] | None = None,
        **shown: Any,
    ) -> Response:
        gettext = translations(page_language(request.scope)).gettext
        return render(
            request.scope,
            "people.html",
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=PRIVATE,
            csrf=visitor.csrf,
            me=visitor.name,
            places=[place for place in self._places if may_administer(visitor.actor, place.act)],
            here=PEOPLE,
            people_page=PEOPLE,
            people=await asyncio.to_thread(self._admin.list),
            invitations=await asyncio.to_thread(self._admin.invitations),
            roles=ROLES,
            most_name=MOST_NAME,
            done=DONE.get(request.query_params.get("done", ""), ""),
            typed=fields or {},
            problem="" if error is None else _say(error, gettext),
            wrong="" if error is None or (fields or {}).get("act") != "invite" else error.request_field,
            sends_mail=self._recovery.sends_mail,
            **{"link": None, "to": "", "reason": "", **shown},
        )


def _say(error: IbiError, gettext: Callable[[str], str]) -> str:
    words = _PROBLEMS.get(error.code)
    return error.message(gettext) if words is None else gettext(words)


def invitation_letter(language: str, mail: str, link: str, visitor: Visitor, site: str) -> Letter:
    """Return the e-mail in the `language` that the sender chose: the recipient's language is unknown."""
    gettext = translations(language).gettext
    name = visitor.signed.person.full_name
    text = gettext(
        "%(name)s invites you to %(site)s. Create your account with this link. It works once, within two"
        " weeks:\n\n%(link)s\n\nIf you do not know what this is about, ignore this message."
    )
    return Letter(
        mail, gettext("Invitation to %(site)s") % {"site": site}, text % {"name": name, "site": site, "link": link}
    )


def password_letter(language: str, person: Person, secret: str, public_url: str, site: str) -> Letter:
    """Return the e-mail in the person's own language, or else in `language`, that of the page with the request."""
    assert person.mail is not None  # no e-mail without an address
    gettext = letter_translations(person.language or language).gettext
    link = f"{public_url}/sign-in/password/{secret}"
    text = gettext(
        "A new password was requested for your account at %(site)s. Choose it with this link, which"
        " works once, within one hour:\n\n%(link)s\n\nIf you did not request it, ignore this message: your"
        " password is unchanged."
    )
    subject = gettext("New password at %(site)s") % {"site": site}
    return Letter(person.mail, subject, text % {"site": site, "link": link})
