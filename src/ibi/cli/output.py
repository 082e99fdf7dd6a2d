"""Output of the commands: aligned lines for people, JSON for programs, errors on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import click

from ibi.errors import IbiError

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")

Read = TypeVar("Read")


def print_json(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # the name of a file that is not valid text: JSON is UTF-8, other bytes are escaped
        text = json.dumps(value)
    click.echo(text)


def print_lines(title: str, lines: Mapping[str, str]) -> None:
    """Print a heading and `name  value` lines below it, the values in one column."""
    click.echo(title)
    width = max(map(len, lines), default=0)
    for name, value in lines.items():
        click.echo(f"  {name:<{width}}  {value}")


def each(texts: Iterable[str], read: Callable[[str], Read], show: Callable[[Read], None]) -> None:
    """Show every text that can be parsed, report the others, and exit with 1 at the end if there were any."""
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
