"""`ibi list`: all items of an Archive, or those that have what the flags say.

Short: each command has a module of its name; what it does is in `search`.
"""

from __future__ import annotations

from typing import Any

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option
from ibi.cli.search import list_options, print_found


@click.command("list")
@list_options
@as_json_option
@setting_options("data", "config", "server", "token")
def list_items(*, as_json: bool, **given: Any) -> None:
    """List the items of an Archive, newest first; deleted ones are left out."""
    print_found("", given, as_json=as_json)


list = list_items
