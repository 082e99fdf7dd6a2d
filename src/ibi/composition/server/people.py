"""Opens the accounts of a server: people, their sign-in, and tokens for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibi.composition.identity_provider import provider_sign_in
from ibi.composition.register import MailIncomplete, configured_mailer
from ibi.composition.server.context import ServerContext
from ibi.composition.server.stores import Stores
from ibi.config import Settings
from ibi.ports.correspondence import Mailer
from ibi.services.accounts.account_admin import LocalTokenAdmin, PersonAdmin
from ibi.services.accounts.provider_sign_in import ProviderSignIn
from ibi.services.accounts.recovery import AccountRecovery
from ibi.services.accounts.secret_hasher import SecretHasher
from ibi.services.accounts.sign_in import MOST_WAITING, SignIn
from ibi.services.integrity.integrity import Integrity
from ibi.services.limits import Attempts
from ibi.storage.sqlite.tokens import SqliteTokens
from ibi.web.capabilities.people import serve_people, serve_tokens
from ibi.web.opened import Opened, WebContext
from ibi.web.pages.admin_shell import AdminPlace
from ibi.web.pages.reader import Sessions


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
