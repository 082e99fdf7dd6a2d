"""The public facts about a minter, the same from the command and from a server."""

from __future__ import annotations

from ibi.minting.minter import Rules
from ibi.model.minting import Identity


def identity_card(identity: Identity, rules: Rules, instance: str) -> dict[str, object]:
    """The facts as JSON. `instance` distinguishes this minter from a copy that answers in the same name."""
    return {
        "host": identity.host,
        "ip": identity.ip,
        "host_port": identity.host_port,
        "ip_port": identity.ip_port,
        "prefixes": {"rep": identity.repository_prefix, "ibip": identity.ibip_prefix},
        "is_global": identity.is_global,
        "sandbox": identity.sandbox,
        "instance": instance,
        "granularity": "auto" if rules.granularity is None else str(rules.granularity),
    }
