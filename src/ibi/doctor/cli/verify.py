"""`ibi verify` checks that deposited content is unchanged, and that Originals are where their chains say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from ibi.command.options import jobs_option, setting_options, settings_to_read
from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.items.model.content import Problem
    from ibi.transfers.service.provenance_check import CheckedProvenance

_DAY: Final = 86_400


@click.command()
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--provenance", is_flag=True, help="Check instead the signatures by which Originals came and went.")
@click.option(
    "--older-than",
    metavar="DAYS",
    type=click.FloatRange(0, 1_000_000),
    help="Pass over items that were found whole within so many days: a run that was stopped is gone on with like this.",
)
@jobs_option
@as_json_option
@setting_options("data", "config", "server", "token")
def verify(
    labels: tuple[str, ...],
    *,
    provenance: bool,
    older_than: float | None,
    jobs: int | None,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Read again everything that is kept of these items, or of all, and say what is damaged."""
    if labels and older_than is not None:
        raise click.UsageError("--older-than is for all items: those that are named are always read")
    if provenance:
        _verify_provenance(labels, flags, as_json=as_json)
        return
    from ibi.command.archive_store import local_settings, opened_store
    from ibi.command.item_output import progress
    from ibi.command.options import read_label
    from ibi.items.opening.store_workers import verification_workers

    items = damaged = 0
    settings = local_settings(flags, settings_to_read)
    before = None if older_than is None else int(time.time() - older_than * _DAY)
    with (
        verification_workers(settings.data, 1 if labels else jobs) as verify_all,
        opened_store(settings) as store,
        progress("verifying", None) as on_bytes,
    ):
        for verified in store.verify(map(read_label, labels), on_bytes, before=before, verify_all=verify_all):
            items, damaged = items + (verified.name is not None), damaged + bool(verified.problems)
            for problem in verified.problems:
                _print_problem(verified.name, problem, as_json=as_json)
    if as_json:
        print_json({"items": items, "damaged": damaged})
    else:
        click.echo(f"{items} items read, {damaged} damaged." if damaged else f"{items} items read, all whole.")
    if damaged:
        raise SystemExit(1)


def _print_problem(name: str | None, problem: Problem, *, as_json: bool) -> None:
    """Print a problem of the item `name`, or of the store itself."""
    if as_json:
        fields = {"kind": problem.kind, "code": problem.code, "path": problem.path}
        print_json({"rep": name, **fields, "reason": problem.reason})
        return
    place = problem.path if name is None else f"{name}: {problem.path}"
    click.echo(printable(f"{place}: {problem.kind} ({problem.code}): {problem.reason}"))


def _verify_provenance(labels: tuple[str, ...], flags: dict[str, str | None], *, as_json: bool) -> None:
    from ibi.command.archive_store import local_settings, opened_store
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.membership.store.key_files import KeyFiles
    from ibi.standard.label import parse
    from ibi.transfers.opening.transfers import RegisterReader, known_resolver_keys
    from ibi.transfers.service.provenance_check import ProvenanceCheck, provenance_document

    settings = local_settings(flags)
    record, keys = ArchiveRecordFile(settings.data).read(), KeyFiles(settings.data)
    own = (keys.signing_key().public, *keys.former())
    items = wrong = unproven = 0
    with opened_store(settings) as store:
        elsewhere = (settings.resolver or "").rstrip("/") or None
        known, register = known_resolver_keys(settings, elsewhere), RegisterReader(settings, elsewhere).read()
        service = None if record is None else record.service
        check = ProvenanceCheck(store, service, own, resolver_keys=known(), register=register)
        for found in check.check_all(map(parse, labels)):
            items, wrong = items + 1, wrong + bool(found.problems)
            unproven += bool(found.unproven and not found.problems)
            if as_json:
                print_json(provenance_document(found))
            else:
                _print_chain(found, has_register=register is not None)
    if not as_json:
        bad = [f"{count} {what}" for count, what in ((wrong, "wrong"), (unproven, "not proven")) if count]
        click.echo(f"{items} chains checked, {', '.join(bad) or 'all sound'}.")
    if wrong:
        raise SystemExit(1)


def _print_chain(found: CheckedProvenance, *, has_register: bool) -> None:
    click.echo(printable(f"{found.item.rep}  {' -> '.join(found.way) or 'never moved'}"))
    for problem in found.problems:
        click.echo(printable(f"  {problem}"))
    if found.unproven:
        links = ", ".join(map(str, found.unproven))
        why = "is not known to the register" if has_register else "is not known here; the resolver knows"
        click.echo(f"  NOT PROVEN: whose keys signed links {links} {why}")
