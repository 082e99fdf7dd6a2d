"""Builds sign-in by the OpenID Connect provider in the settings."""

from __future__ import annotations

from ibi.jobs.limits import LimitRows
from ibi.people.ports import SignInMeans
from ibi.people.rules.names import role_named
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.settings import Settings
from ibi.standard.errors import IbiError


class ProviderIncomplete(IbiError):
    """oidc.issuer is set and oidc.client_id is not: see docs/settings.md."""

    code = "provider-incomplete"


def provider_sign_in(
    settings: Settings, recovery: AccountRecovery, means: SignInMeans, rows: LimitRows | None = None
) -> ProviderSignIn | None:
    """Return the sign-in by the provider; None if there is none. Raise `ProviderIncomplete` if another setting is
    missing. Several processes share the `rows` of attempts."""
    oidc = settings.oidc
    if oidc.issuer is None:
        return None
    if oidc.client_id is None:
        raise ProviderIncomplete()
    from ibi.people.client import OidcProvider

    secret = None if oidc.client_secret is None else oidc.client_secret.reveal()
    return ProviderSignIn(
        OidcProvider(oidc.issuer, oidc.client_id, secret, oidc.name),
        recovery.sign_in,
        means,
        recovery.admin,
        public_url=recovery.public_url,
        role=None if oidc.role == "none" else role_named(oidc.role),
        rows=rows,
    )
