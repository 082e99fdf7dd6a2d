"""`ibi trace` shows each question of a resolution, each answer and the reason for the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, each, print_json
from ibi.resolver.cli.resolutions import opened_resolutions
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import printable

_OF_THE_ARCHIVE: Final = frozenset({"archiveaddress", "ibi.archiveservice", "ibi.platformsoftware"})


@click.command()
@click.argument("links", metavar="LABEL_OR_URL...", nargs=-1, required=True)
@as_json_option
@setting_options("data", "config", "server", "token")
def trace(links: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Show how each link is resolved: every question, every Archive asked, how long it took and what it said."""
    with opened_resolutions(settings_from(**flags)) as resolutions:
        each(
            links,
            lambda link: resolutions.trace(PersistentUrl.parse(link)),
            print_json if as_json else _show,
        )


def _show(record: Mapping[str, Any]) -> None:
    for line in _lines(record):
        # Text from another server must not move the cursor.
        click.echo(printable(line))


def _lines(record: Mapping[str, Any]) -> list[str]:
    lines = [str(record["persistent_url"])]
    width = max((len(str(one["address"])) for hop in record["hops"] for one in hop["archives"]), default=0)
    for hop in record["hops"]:
        after = "" if hop["parent"] is None else f", after {hop['parent'] + 1}"
        lines.append(f"  {hop['number'] + 1}  {hop['label']}{hop['relation']}  ({hop['reason']}{after})")
        for one in hop["archives"]:
            lines.append(f"     {one['address']:<{width}}  {_took(one):>10}  {_became(one)}")
            lines += [f"       {name} {value}" for name, value in _answer_pairs(one)]
            lines += [f"       ({left['name']} was left out: {left['why']})" for left in one.get("left_out", ())]
    found = record["said"] or record["url"]
    return [*lines, f"  → {found}  in {_milliseconds(record['seconds'])}"]


def _took(one: Mapping[str, Any]) -> str:
    return "–" if one["seconds"] is None else _milliseconds(one["seconds"])


def _answer_pairs(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of an answer without those that name the Archive, which are in every answer."""
    said: Mapping[str, Any] = one["said"] or {}
    return [(name, str(value)) for name, value in sorted(said.items()) if name not in _OF_THE_ARCHIVE]


def _became(one: Mapping[str, Any]) -> str:
    from ibi.web.words import RULES

    rule = one["broken_rule"] and RULES.get(str(one["broken_rule"]), str(one["broken_rule"]))
    reasons = (one["why"], one["failure"], rule or one.get("because"), one.get("stands_in"), one.get("again"))
    return ": ".join(str(each) for each in reasons if each)


def _milliseconds(seconds: float) -> str:
    return f"{float(seconds) * 1000:.1f} ms"
