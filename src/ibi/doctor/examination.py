"""The checks of `ibi doctor`, in the order of the report. A new check is added to one of these lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.doctor import configuration, databases, emptied, extraction, files, network, records
from ibi.doctor.diagnosis import Check, Diagnosis, ExaminedDirectory, diagnose

_READING: Final[tuple[Check, ...]] = (
    records.check_archive_record,
    files.check_drafts,
    databases.check_databases,
    emptied.check_emptied,
    databases.check_catalogue,
    databases.check_left_out,
    databases.check_items,
    databases.check_strays,
    databases.check_fixity,
    records.check_keys,
    records.check_clock,
    records.check_minter,
    records.check_audit,
    records.check_settings,
    configuration.check_copy_holders,
    configuration.check_clone_guard,
    configuration.check_content_host,
    configuration.check_resolver_trust,
    records.check_second_server,
    records.check_doubt,
    records.check_jobs,
    records.check_copy_holders,
    records.check_open_items,
    databases.check_archives,
    databases.check_subscriptions,
    network.check_address,
    network.check_readiness,
)
"""Checks that open files of the directory."""

_OTHERS: Final[tuple[Check, ...]] = (
    files.check_settings_file,
    files.check_room,
    files.check_dates,
    records.check_lock_directory,
    configuration.check_proxies,
    extraction.check_extraction,
    network.check_resolver,
    network.check_public_clock,
    network.check_certificates,
)


def examine(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield the findings of all checks. An unreadable file is reported once, even if several checks need it."""
    told: set[str] = set()
    for each in _run_checks(directory):
        if each.check != "unreadable" or each.place not in told:
            yield each
        told.update({each.place} if each.check == "unreadable" else ())


def _run_checks(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield the findings. If there is a pipe or a device, no file is opened: its reader could wait for ever."""
    if not directory.is_data_directory:  # its owners and modes do not matter then
        what = "this is no data directory: nothing of `ibi` is in it"
        yield Diagnosis("not-a-data-directory", str(directory.data), what, "Name the right one with --data.")
        return
    found = tuple(diagnose(directory, [files.check_files]))
    yield from found
    yield from diagnose(directory, _OTHERS)
    if not any(each.check == "special-file" for each in found):
        yield from diagnose(directory, _READING)
