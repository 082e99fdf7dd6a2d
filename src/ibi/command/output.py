"""Output of the commands: aligned lines for people, JSON for programs, errors on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibi.standard.errors import IbiError

if TYPE_CHECKING:
    import msgspec

    from ibi.minting.resources import MinterIdentity

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")

Read = TypeVar("Read")


def print_json(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not valid text: JSON is UTF-8, other bytes are escaped
        text = json.dumps(value)
    click.echo(text)


def members_of(resource: msgspec.Struct) -> dict[str, Any]:
    """Return the members of a resource as `--json` prints them."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(resource)
    return found


def print_lines(title: str, lines: Mapping[str, str]) -> None:
    """Print a heading and `name  value` lines below it, the values in one column."""
    click.echo(title)
    width = max(map(len, lines), default=0)
    for name, value in lines.items():
        click.echo(f"  {name:<{width}}  {value}")


def each(texts: Iterable[str], read: Callable[[str], Read], show: Callable[[Read], None]) -> None:
    """Show every text that can be parsed and report the others. Exit with 1 at the end if there were any."""
    failed = False
    for text in texts:
        try:
            value = read(text)
        except IbiError as error:
            click.echo(f"ibi: {error}", err=True)
            failed = True
        else:
            show(value)
    if failed:
        raise SystemExit(1)


def show_identity(minter: MinterIdentity, *, as_json: bool) -> None:
    from ibi.net.address_guard import addresses_of

    addresses = addresses_of(minter.host)
    if as_json:
        print_json({**members_of(minter), "resolves_to": addresses})
        return
    prefixes = (minter.prefixes.rep, minter.prefixes.ibip)
    lines = {
        "host": f"{minter.host}, port {minter.host_port}",
        "address": "none: no IBIp is minted" if minter.ip is None else f"{minter.ip}, port {minter.ip_port}",
        "labels": "  ".join(f"{prefix}/…" for prefix in prefixes if prefix),
        "global": _reach(minter),
        "granularity": minter.granularity,
        "resolves to": _agreement(minter.ip, addresses),
    }
    print_lines("Labels are minted as", lines)


def _reach(minter: MinterIdentity) -> str:
    if minter.sandbox:
        return "no: a sandbox, for trying out"
    return "yes" if minter.is_global else "no: others may mint the same labels"


def _agreement(ip: str | None, addresses: list[str]) -> str:
    """Return the result of the name server, compared with the settings. Behind an address translator the two may
    differ."""
    if not addresses:
        return "nothing that this machine can find"
    found = ", ".join(addresses)
    return found if ip is None or ip in addresses else f"{found}: not the address above"
