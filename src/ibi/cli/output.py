"""What the commands print: aligned lines for people, JSON for programs, complaints on stderr."""

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
    except UnicodeEncodeError:  # the name of a file that is no text: JSON is UTF-8, and escapes what is not
        text = json.dumps(value)
    click.echo(text)


def shown(text: str) -> str:
    """On one line, without anything that could move a cursor: names and titles are whatever somebody made them."""
    return "".join(each if each.isprintable() else " " for each in text)


def print_lines(title: str, lines: Mapping[str, str]) -> None:
    """A heading and `name  value` lines below it, the values in one column."""
    click.echo(title)
    width = max(map(len, lines), default=0)
    for name, value in lines.items():
        click.echo(f"  {name:<{width}}  {value}")


def each(texts: Iterable[str], read: Callable[[str], Read], show: Callable[[Read], None]) -> None:
    """Show every text that can be read, complain of the others, and fail at the end if there was one."""
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
