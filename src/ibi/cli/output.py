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
