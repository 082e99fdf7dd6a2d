"""`ibi verify`: check that deposited content is unchanged.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.options import setting_options
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable


@click.command()
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@as_json_option
@setting_options("data", "config", "server", "token")
def verify(labels: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Read again everything that is kept of these items, or of all, and say what is damaged."""
    from ibi.cli.archive_store import local_settings, opened_store
    from ibi.cli.item_output import progress
    from ibi.cli.labels import read_label

    items = damaged = 0
    with opened_store(local_settings(flags)) as store, progress("verifying", None) as on_bytes:
        for verified in store.verify(map(read_label, labels), on_bytes):
            items, damaged = items + (verified.name is not None), damaged + bool(verified.problems)
            for problem in verified.problems:
                if as_json:
                    fields = {"kind": problem.kind, "code": problem.code, "path": problem.path}
                    print_json({"rep": verified.name, **fields, "reason": problem.reason})
                else:
                    place = problem.path if verified.name is None else f"{verified.name}: {problem.path}"
                    click.echo(printable(f"{place}: {problem.kind} ({problem.code}): {problem.reason}"))
    if as_json:
        print_json({"items": items, "damaged": damaged})
    else:
        click.echo(f"{items} items read, {damaged} damaged." if damaged else f"{items} items read, all whole.")
    if damaged:
        raise SystemExit(1)
