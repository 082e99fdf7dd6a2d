"""Restores a register, and makes an Archive trust another key of its resolver, from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from ibi.membership.client.register_client import RegisterClient
from ibi.membership.model.membership import OfferedKey, ResolverStanding
from ibi.membership.rules.signed_register import OfferedRegister
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.membership.store.key_files import RESOLVER, KeyFiles, PublishedRegisterFile, RegisterFiles, ResolverKeyFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.people.store.audit_log import FileAuditLog
from ibi.resolver.service.register_recovery import Recovery, RegisterRecovery
from ibi.resolver.service.standby import KeptRegister
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.settings import Settings
from ibi.standard.errors import IbiError
from ibi.standard.signing import PublicKey
from ibi.storage.machine import MachineClocks

_PATIENCE = 20.0
"""Seconds within which a resolver has to prove its key."""


class KeyNotProven(IbiError):
    """Nothing was changed: {resolver} {reason}."""

    code = "key-not-proven"


def recover_register(settings: Settings, urls: Sequence[str], key: PublicKey | None, *, dry_run: bool) -> Recovery:
    """Restore the register of the data directory's resolver from the Archives at these URLs. A running server uses the
    result at once."""
    record = ArchiveRecordFile(settings.data).read()
    keys = KeyFiles(settings.data, RESOLVER)
    own_keys = (keys.signing_key().public, *keys.former()) if keys.is_begun else ()
    with ExitStack() as opened:
        registry = SqliteRegistry(settings.data)
        opened.callback(registry.close)
        beliefs = SqliteBeliefs(settings.data)
        opened.callback(beliefs.close)
        audit = FileAuditLog(settings.data)
        opened.callback(audit.close)
        recovery = RegisterRecovery(
            registry,
            beliefs,
            PublishedRegisterFile(settings.data),
            audit,
            own=None if record is None else record.service,
            own_keys=own_keys,
            own_changes=keys.changes() if keys.is_begun else (),
        )
        return recovery.recover(urls, _ask_archive, key, MachineClocks().read().wall, dry_run=dry_run)


def _ask_archive(url: str) -> OfferedRegister:
    return asyncio.run(RegisterClient(url).fetch_kept())


class TrustedKey(NamedTuple):
    """The result of trusting another key of the resolver."""

    key: PublicKey
    before: PublicKey | None
    archives: int | None
    """Number of Archives in its register; None if the register is not taken yet."""


def offered_key(resolver: str) -> OfferedKey:
    """Return the key that the resolver proves now. Raise `KeyNotProven` if it proves none."""
    offered = asyncio.run(RegisterClient(resolver).offered_key(None, _PATIENCE))
    if offered.standing is ResolverStanding.SILENT:
        raise KeyNotProven(resolver=resolver, reason="does not answer")
    if offered.standing is not ResolverStanding.THERE or offered.key is None:
        raise KeyNotProven(
            resolver=resolver, reason="proves no key: it is no resolver that signs, or an earlier version"
        )
    return offered


def trust_resolver(settings: Settings, resolver: str, key: PublicKey) -> TrustedKey:
    """Trust this key of the resolver from now on, and take its register. A running server uses both within seconds."""
    keys = ResolverKeyFile(settings.data)
    before = keys.find(resolver)
    keys.keep(resolver, key)
    register = KeptRegister(RegisterClient(resolver), RegisterFiles(settings.data), resolver, takes_losses=True)
    register.load()
    is_taken = asyncio.run(register.fetch())
    kept = register.register
    return TrustedKey(key, before, None if kept is None or not is_taken else len(kept.archives))
