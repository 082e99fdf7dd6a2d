"""Flags that describe an item, for the commands that deposit and update one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from ibi.errors import InvalidInstant
from ibi.instant import Instant
from ibi.languages import LanguageTag
from ibi.model.alternate import parse_alternate
from ibi.model.errors import InvalidMetadata
from ibi.model.item import Draft
from ibi.model.metadata import Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.model.metadata_dates import checked_date
from ibi.model.visibility import Visibility, network

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--title", "titles", metavar="TEXT", multiple=True, help="What it is called; may be repeated."),
    click.option(
        "--creator",
        "creators",
        metavar="NAME",
        multiple=True,
        help="Who made it, as in 'Ana Ávila' or 'Ana Ávila <0000-0002-1825-0097>' with an ORCID iD; may be repeated.",
    ),
    click.option("--language", metavar="TAG", help="The language it is written in, as in pt or pt-BR."),
    click.option("--description", "descriptions", metavar="TEXT", multiple=True, help="An abstract; may be repeated."),
    click.option("--subject", "subjects", metavar="TEXT", multiple=True, help="A keyword; may be repeated."),
    click.option(
        "--date",
        "dates",
        metavar="DATE",
        multiple=True,
        help="A date of its history, as in 2027, 2027-01-31 or 2026/2027; may be repeated.",
    ),
    click.option("--publisher", "publishers", metavar="NAME", multiple=True, help="Who published it; may be repeated."),
    click.option(
        "--type",
        "types",
        metavar="TYPE",
        multiple=True,
        help="What it is: Text, Dataset, Software and so on (DCMI), or any other word; may be repeated.",
    ),
    click.option("--license", "licence", metavar="LICENCE", help="An SPDX identifier such as CC-BY-4.0, or a URL."),
    click.option(
        "--alternate",
        "alternates",
        metavar="SCHEME:VALUE",
        multiple=True,
        help="Another name that leads to it, as in doi:10.1000/182 or ibi:83LX3pFwXQZ5Jpy/Bkjzd; may be repeated.",
    ),
    click.option("--embargo", metavar="DATE", help="Until when the files are withheld, as in 2027-01-31."),
    click.option("--embargo-reason", metavar="TEXT", help="Why they are withheld, for readers."),
    click.option(
        "--allow",
        "allowed",
        metavar="CIDR",
        multiple=True,
        help="The network whose readers alone get the files, as in 150.163.0.0/16; may be repeated.",
    ),
    click.option(
        "--listing/--no-listing",
        default=None,
        help="Let readers see the list of its files, as is usual, or not.",
    ),
    click.option("--target", metavar="FILE", help="The file that a reader gets who names none."),
    click.option("--url", metavar="URL", help="Where readers are sent instead: the item is a Web service."),
    click.option("--hidden", is_flag=True, help="Take hidden files in folders too."),
)


def item_options(command: Command) -> Command:
    """Add all flags of an item to a command; its function passes their values to `described`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def described(draft: Draft, given: dict[str, Any]) -> Draft:
    """Return `draft` with the values of the flags; the rest is unchanged."""
    language = given["language"]
    return replace(
        draft,
        metadata=_metadata(draft.metadata, given),
        language=draft.language if language is None else LanguageTag.parse(language, registered=True),
        visibility=_visibility(draft.visibility, given),
        alternates=tuple(map(parse_alternate, given["alternates"])) or draft.alternates,
    )


def _metadata(metadata: DescriptiveMetadata, given: dict[str, Any]) -> DescriptiveMetadata:
    elements = ("title", "description", "subject", "date", "publisher")
    values: dict[str, Any] = {
        element: tuple(map(Text, given[f"{element}s"])) for element in elements if given[f"{element}s"]
    }
    for date in given["dates"]:
        checked_date(date)
    if given["creators"]:
        values["creator"] = tuple(map(_agent, given["creators"]))
    if given["types"]:
        kinds = {str(kind).lower(): kind for kind in ResourceType}
        known = next((name for name in given["types"] if name.lower() in kinds), None)
        values["resource_type"] = None if known is None else kinds[known.lower()]
        values["type"] = tuple(Text(name) for name in given["types"] if name != known)
    if given["licence"] is not None:
        values["licence"] = Licence(given["licence"])
    return replace(metadata, **values)


def _agent(text: str) -> Agent:
    match = re.fullmatch(r"([^<>]{1,1000})<([^<>]{1,100})>\s*", text)
    if match is not None and match[1].strip():
        return Agent(match[1].strip(), Orcid(match[2]))
    if "<" in text or ">" in text:  # a typing error would stay in the record permanently
        raise InvalidMetadata(text, 0, "a name with an ORCID iD looks like 'Ana Ávila <0000-0002-1825-0097>'")
    return Agent(text)


def _visibility(visibility: Visibility, given: dict[str, Any]) -> Visibility:
    if given["embargo"] is not None:
        visibility = replace(visibility, embargo=_date(given["embargo"]))
    if given["allowed"]:
        visibility = replace(visibility, networks=tuple(map(network, given["allowed"])))
    if given["embargo_reason"] is not None:
        if visibility.embargo is None:
            raise click.UsageError("--embargo-reason needs --embargo")
        visibility = replace(visibility, embargo_reason=given["embargo_reason"])
    if given["listing"] is not None:
        visibility = replace(visibility, listing=given["listing"])
    return visibility


def _date(text: str) -> Instant:
    """Parse a date; a day begins at midnight, universal time."""
    if "T" in text:
        return Instant.parse(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        raise InvalidInstant(text, 0, "a date looks like 2027-01-31 or 2027-01-31T12:00:00-03:00")
    try:
        return Instant.parse(f"{text}T00:00:00Z")
    except InvalidInstant as error:  # the error is about the text as given, not as completed here
        raise InvalidInstant(text, 0, error.reason, **error.details) from None
