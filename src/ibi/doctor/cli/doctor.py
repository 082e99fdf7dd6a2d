"""`ibi doctor`: finds problems of a data directory and its server, and changes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibi.command.options import enter_data, require_data, setting_options
from ibi.command.output import as_json_option, print_json

if TYPE_CHECKING:
    from ibi.doctor.diagnosis import Diagnosis
    from ibi.settings import Settings


@click.command()
@click.option("--full", is_flag=True, help="Look at every file, and read all that is kept, as `ibi verify` does.")
@click.option("--offline", is_flag=True, help="Ask no server: neither the public address nor the resolver.")
@as_json_option
@setting_options("data", "config")
def doctor(*, full: bool, offline: bool, as_json: bool, **flags: str | None) -> None:
    """Look for problems of a data directory and its server, and name their remedies. Nothing is changed."""
    from ibi.doctor.diagnosis import ExaminedDirectory, Level
    from ibi.doctor.examination import examine
    from ibi.doctor.extraction import describe_extraction
    from ibi.standard.safe_text import printable

    settings, found = _read_settings(flags)
    enter_data(settings, reading=True)
    require_data(settings)
    numbers = dict.fromkeys(Level, 0)
    for each in (*found, *examine(ExaminedDirectory(settings, is_full=full, is_offline=offline))):
        numbers[each.level] += 1
        if as_json:
            words = {"check": each.check, "level": each.level, "place": each.place}
            print_json({**words, "what": each.what, "remedy": each.remedy})
        else:
            click.echo(" ".join(printable(f"{each.level:<7}  {each.check}  {each}").split(" ")))
    if not as_json:
        click.echo(describe_extraction(), err=True)
    errors, warnings, advice = (numbers[level] for level in Level)
    if as_json:
        print_json({"errors": errors, "warnings": warnings, "advice": advice})
    elif errors or warnings:
        click.echo(f"{errors} errors and {warnings} warnings in {settings.data}{_count_advice(advice)}.")
    else:
        click.echo(f"Nothing is wrong with {settings.data}{_count_advice(advice)}.")
    if errors or warnings:
        raise SystemExit(1)


def _count_advice(number: int) -> str:
    return f"; {number} {'piece' if number == 1 else 'pieces'} of advice" if number else ""


def _read_settings(flags: dict[str, str | None]) -> tuple[Settings, list[Diagnosis]]:
    """Return the settings. If they cannot be used, return basic ones for the examination, and the reason."""
    from ibi.doctor.diagnosis import Diagnosis, from_error
    from ibi.settings import load_settings
    from ibi.settings.errors import SettingsError

    odd = next(_odd_files(flags), None)
    if odd is not None:
        found = Diagnosis("settings", str(odd), "it is not a plain file", "Put the settings back from a backup.")
        return _bare_settings(flags), [found]
    try:
        return load_settings(flags, os.environ), []
    except SettingsError as error:
        bare = _bare_settings(flags)
        return bare, [from_error("settings", str(bare.data), error, "Correct it: docs/settings.md lists all settings.")]


def _bare_settings(flags: dict[str, str | None]) -> Settings:
    from ibi.settings import load_settings

    kept = {name: os.environ[name] for name in ("IBI_DATA", "IBI_LOCK_DIR") if name in os.environ}
    return load_settings({"data": flags["data"], "config": os.devnull}, kept)


def _odd_files(flags: dict[str, str | None]) -> Iterator[Path]:
    """Yield a settings file that is no plain file: reading it might never end."""
    from ibi.settings import FILE_NAME

    if flags["config"] or os.environ.get("IBI_CONFIG"):
        return  # a named file may be a pipe
    file = _bare_settings(flags).data / FILE_NAME
    if file.exists() and not stat.S_ISREG(file.stat().st_mode):
        yield file
