"""People and tokens: sign-in, accounts, and tokens for programs."""

from __future__ import annotations

from collections.abc import Sequence

from ibi.items.service.integrity.integrity import Integrity
from ibi.people.pages.account import AccountPage
from ibi.people.pages.administration import PeoplePage
from ibi.people.pages.sign_in import SignInPages
from ibi.people.service.account_admin import LocalTokenAdmin
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.web.admin_shell import AdminPlace
from ibi.web.authentication import TokenPages
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import Sessions


def serve_tokens(context: WebContext, admin: LocalTokenAdmin) -> Opened:
    return Opened(routes=TokenPages(admin, context.authentication, context.proxies).routes())


def serve_people(
    context: WebContext,
    sessions: Sessions,
    recovery: AccountRecovery,
    tokens: LocalTokenAdmin,
    *,
    provider: ProviderSignIn | None,
    integrity: Integrity | None,
    places: Sequence[AdminPlace],
) -> Opened:
    """Return the pages of people: sign-in, one's own account, and the list of all accounts.

    `provider` vouches for people. `integrity` shows administrators the state of the store. `places` are the other pages
    of the administration.
    """
    sign_in, proxies = recovery.sign_in, context.proxies
    return Opened(
        routes=[
            *SignInPages(sign_in, sessions, recovery, proxies, provider).routes(),
            *AccountPage(sign_in, sessions, recovery, tokens, proxies, integrity, provider).routes(),
            *PeoplePage(recovery, proxies, places).routes(),
        ]
    )
