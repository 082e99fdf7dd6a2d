"""`ibi up`: every service there is, in one process on one port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.cli.options import setting_options, settings_from

if TYPE_CHECKING:
    from ibi.config import Settings

__all__ = ["up"]


@click.command()
@click.option("--demo", is_flag=True, help="Put a small collection into it, to look around.")
@setting_options("data", "config", "host", "port", "log_level", "log_format")
def up(*, demo: bool, **flags: str | None) -> None:
    """Start every service in one process. In an empty data directory it begins with a sandbox."""
    from ibi.web.server import listen

    settings = settings_from(**flags)
    with listen(settings.host, settings.port) as listener:
        # The port that was bound, not the one asked for: with port 0 each sandbox gets a name of its own.
        if _begin_sandbox(settings, int(listener.getsockname()[1])):
            settings = settings_from(**flags)
        from ibi.cli.server import run_server

        run_server(settings, listener, demo=demo)


def _begin_sandbox(settings: Settings, port: int) -> bool:
    """Write the settings of a sandbox into a directory that has nothing yet, unless an identity is given elsewhere."""
    from ibi.config import FILE_NAME, write_initial_toml
    from ibi.model.identity import Identity

    if settings.identity() is not None or (settings.data.is_dir() and any(settings.data.iterdir())):
        return False
    return write_initial_toml(settings.data / FILE_NAME, Identity.of_sandbox(port), port=port)
