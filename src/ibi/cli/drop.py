"""`ibi drop`: a Copy goes, and leaves nothing.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.labels import read_label
from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import each


@click.command()
@click.argument("labels", metavar="IBI|URL...", nargs=-1, required=True)
@setting_options("data", "config", "server", "token")
def drop(labels: tuple[str, ...], **flags: str | None) -> None:
    """Remove Copies, bytes and all. The Originals stay where they are; an Original here is refused."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_copies import drop_remotely

        each(labels, lambda text: drop_remotely(settings, read_label(text)), _tell)
        return
    from ibi.cli.archive_store import opened_store, who
    from ibi.composition.copies import copying_here
    from ibi.storage.archive_state import ArchiveRecordFile
    from ibi.storage.machine import MachineClocks

    with opened_store(settings, changing=True) as store:
        copying = copying_here(settings, store, ArchiveRecordFile(settings.data).read(), MachineClocks())

        def drop_one(text: str) -> str:
            label = read_label(text)
            copying.drop(label, who())
            return label.spelling

        each(labels, drop_one, _tell)


def _tell(label: str) -> None:
    click.echo(f"{label} is dropped: no Copy of it is here any more")
