"""What the commands print: aligned lines for people, JSON for programs, complaints on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, TypeVar

import typer

from ibi.errors import IbiError

__all__ = ["AsJson", "each", "print_json", "print_lines"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each argument.")]

Read = TypeVar("Read")


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_lines(title: str, lines: Mapping[str, str]) -> None:
    """A heading and `name  value` lines below it, the values in one column."""
    typer.echo(title)
    width = max(map(len, lines), default=0)
    for name, value in lines.items():
        typer.echo(f"  {name:<{width}}  {value}")


def each(texts: Iterable[str], read: Callable[[str], Read], show: Callable[[Read], None]) -> None:
    """Show every text that can be read, complain of the others, and fail at the end if there was one."""
    failed = False
    for text in texts:
        try:
            value = read(text)
        except IbiError as error:
            typer.echo(f"ibi: {error}", err=True)
            failed = True
        else:
            show(value)
    if failed:
        raise typer.Exit(1)
