"""`ibi mint --identity`: who mints, and whether the Internet agrees."""

from __future__ import annotations

from collections.abc import Mapping

from ibi.cli.output import print_json, print_lines


def show_identity(fields: Mapping[str, object], *, as_json: bool) -> None:
    from ibi.transport.address_guard import addresses_of

    addresses = addresses_of(str(fields["host"]))
    if as_json:
        print_json({**fields, "resolves_to": addresses})
        return
    ip, prefixes = fields["ip"], fields["prefixes"]
    assert isinstance(prefixes, dict)
    lines = {
        "host": f"{fields['host']}, port {fields['host_port']}",
        "address": "none: no IBIp is minted" if ip is None else f"{ip}, port {fields['ip_port']}",
        "labels": "  ".join(f"{prefix}/…" for prefix in prefixes.values() if prefix),
        "global": _reach(fields),
        "granularity": str(fields["granularity"]),
        "resolves to": _agreement(ip, addresses),
    }
    print_lines("Labels are minted as", lines)


def _reach(fields: Mapping[str, object]) -> str:
    if fields["sandbox"]:
        return "no: a sandbox, for trying out"
    return "yes" if fields["is_global"] else "no: others may mint the same labels"


def _agreement(ip: object, addresses: list[str]) -> str:
    """Compare the name server with the settings. Behind an address translator the two may differ."""
    if not addresses:
        return "nothing that this machine can find"
    found = ", ".join(addresses)
    return found if ip is None or ip in addresses else f"{found}: not the address above"
