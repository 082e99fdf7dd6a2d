"""Opens the accounts of a server: people, their sign-in, and tokens for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibi.app.server.context import ServerContext
from ibi.app.server.stores import Stores
from ibi.items.service.integrity.integrity import Integrity
from ibi.jobs.limits import Attempts
from ibi.people.opening import provider_sign_in
from ibi.people.service.account_admin import LocalTokenAdmin, PersonAdmin
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import MOST_WAITING, SignIn
from ibi.people.serving import serve_people, serve_tokens
from ibi.people.store.tokens import SqliteTokens
from ibi.resolver.opening.register import MailIncomplete, configured_mailer
from ibi.settings import Settings
from ibi.standard.mail import Mailer
from ibi.web.admin_shell import AdminPlace
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import Sessions


class Accounts(NamedTuple):
    """The accounts of a server."""

    tokens: SqliteTokens
    recovery: AccountRecovery
    sessions: Sessions
    provider: ProviderSignIn | None
    hasher: SecretHasher

    def first_link(self, server: ServerContext) -> str:
        """Return the secret of a link with which the first administrator signs in."""
        return PersonAdmin(server.people, server.clocks, self.hasher, audit=server.audit).first_link()


def open_accounts(server: ServerContext, stores: Stores) -> Accounts:
    people, share, hasher = server.people, server.share, stores.hasher
    sign_in = SignIn(
        people,
        server.clocks,
        hasher,
        attempts=Attempts(rows=share.sign_ins),
        account_attempts=Attempts(rows=share.accounts),
        secret=share.secret,
        most_waiting=share.divide(MOST_WAITING),
        means=people,
    )
    recovery = AccountRecovery(
        sign_in,
        public_url=server.public_url,
        mailer=_mailer(server.settings),
        audit=server.audit,
        rows=share.letters,
        account_rows=share.accounts,
    )
    provider = provider_sign_in(server.settings, recovery, people, share.sign_ins)
    sessions = Sessions(sign_in, server.public_url)
    return Accounts(stores.tokens, recovery, sessions, provider, hasher)


def _mailer(settings: Settings) -> Mailer | None:
    """Return the mailer; None also if its settings are incomplete, which `ibi doctor` reports."""
    try:
        return configured_mailer(settings)
    except MailIncomplete:
        return None


def open_people(
    server: ServerContext,
    web: WebContext,
    accounts: Accounts,
    integrity: Integrity | None,
    places: Sequence[AdminPlace],
) -> tuple[Opened, ...]:
    """Return the pages of people and the tokens. `places` are the pages of the administration."""
    admin = LocalTokenAdmin(accounts.tokens, server.clocks, server.people, audit=server.audit)
    return (
        serve_tokens(web, admin),
        serve_people(
            web,
            accounts.sessions,
            accounts.recovery,
            admin,
            provider=accounts.provider,
            integrity=integrity,
            places=places,
        ),
    )
