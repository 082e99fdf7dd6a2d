"""The identities that may mint (E11)."""

from __future__ import annotations

from ibi.minting.rules.errors import IdentityChanged, IdentityMissing, IdentityNotGlobal, SandboxIsFinal
from ibi.standard.identity import Identity
from ibi.standard.label.reach import address_is_global, host_is_global


def check_identity(identity: Identity) -> None:
    """Raise `IdentityNotGlobal` for an identity that others may have as well, unless it is marked as a sandbox."""
    identity.prefixes  # noqa: B018  (malformed parts are refused here, with InvalidLabel)
    if identity.sandbox:
        return
    if not host_is_global(identity.host.lower().removesuffix(".")):
        raise IdentityNotGlobal(place=identity.host, reason="the name is reserved for local use")
    if identity.ip is not None and not address_is_global(identity.ip):
        raise IdentityNotGlobal(place=identity.ip, reason="the address means another machine in every network")


def is_loopback_sandbox(identity: Identity) -> bool:
    """Return whether an identity is for trials on one machine: every clone of the software may have the same."""
    host = identity.host.lower().removesuffix(".")
    return identity.sandbox and (host == "localhost" or host.endswith(".localhost"))


def settled_identity(frozen: Identity | None, configured: Identity | None, *, accept: bool = False) -> Identity:
    """Return the minting identity: the one frozen in the data directory.

    The settings may repeat it, but not change it silently. The first use freezes the configured identity. Later another
    is accepted only if an operator says so. A sandbox stays one: the Archive's own label, and those of all its items,
    are for trials.
    """
    if configured is None or configured == frozen:
        if frozen is None:
            raise IdentityMissing
        return frozen
    if frozen is not None and frozen.sandbox and not configured.sandbox:
        raise SandboxIsFinal(frozen=str(frozen))
    if frozen is not None and not accept:
        raise IdentityChanged(frozen=str(frozen), configured=str(configured))
    check_identity(configured)
    return configured
