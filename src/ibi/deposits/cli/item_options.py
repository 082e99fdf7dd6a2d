"""Flags that describe an item, for the commands that deposit and update one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibi.items.model.description_values import parse_alternate
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Orcid, Text, checked_date
from ibi.items.model.visibility import Visibility
from ibi.items.rules.licences import read_licence
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.networks import network

if TYPE_CHECKING:
    from ibi.items.model.item import Description, Draft

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
    click.option(
        "--contributor",
        "contributors",
        metavar="NAME",
        multiple=True,
        help="Who helped to make it, written as a creator is; may be repeated.",
    ),
    click.option(
        "--identifier",
        "identifiers",
        metavar="TEXT",
        multiple=True,
        help="Another identifier of it, such as a DOI or an ISBN; may be repeated.",
    ),
    click.option("--source", "sources", metavar="TEXT", multiple=True, help="What it is part of; may be repeated."),
    click.option(
        "--relation", "relations", metavar="TEXT", multiple=True, help="Something related to it; may be repeated."
    ),
    click.option(
        "--coverage", "coverages", metavar="TEXT", multiple=True, help="Place or time it is about; may be repeated."
    ),
    click.option("--format", "formats", metavar="TEXT", multiple=True, help="Its format or extent; may be repeated."),
    click.option("--rights", metavar="TEXT", multiple=True, help="Rights in it, in words; may be repeated."),
    click.option(
        "--metadata",
        "metadata_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A JSON file that describes it, as a draft is described over HTTP; other flags outrank it.",
    ),
    click.option(
        "--from",
        "record_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A record of it in BibTeX, RIS, CSL-JSON, or the JSON of a DOI; other flags outrank it.",
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


_TEXTS = {
    "title": "titles",
    "description": "descriptions",
    "subject": "subjects",
    "date": "dates",
    "publisher": "publishers",
    "identifier": "identifiers",
    "source": "sources",
    "relation": "relations",
    "coverage": "coverages",
    "format": "formats",
    "rights": "rights",
}
_AGENTS = {"creator": "creators", "contributor": "contributors"}


def item_options(command: Command) -> Command:
    """Add all flags of an item to a command. Its function passes their values to `apply_flags`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def described(draft: Draft, given: dict[str, Any]) -> Draft:
    """Return `draft` with the values of the flags. The rest is unchanged."""
    return replace(draft, description=apply_flags(draft.description, given))


def apply_flags(before: Description, given: dict[str, Any]) -> Description:
    """Return the description with the values of the flags. The rest is unchanged."""
    if given["metadata_file"] is not None:
        from ibi.deposits.cli.metadata_file import described_by_file

        before = described_by_file(before, given["metadata_file"])
    if given["record_file"] is not None:
        from ibi.deposits.cli.metadata_file import described_by_record

        before = described_by_record(before, given["record_file"])
    language = given["language"]
    return replace(
        before,
        metadata=_metadata(before.metadata, given),
        language=before.language if language is None else LanguageTag.parse(language, registered=True),
        visibility=_visibility(before.visibility, given),
        alternates=tuple(map(parse_alternate, given["alternates"])) or before.alternates,
    )


def _metadata(metadata: DescriptiveMetadata, given: dict[str, Any]) -> DescriptiveMetadata:
    for date in given["dates"]:
        checked_date(date)
    values: dict[str, Any] = {element: tuple(map(Text, given[flag])) for element, flag in _TEXTS.items() if given[flag]}
    values |= {element: tuple(map(_agent, given[flag])) for element, flag in _AGENTS.items() if given[flag]}
    if given["types"]:
        values |= {"type": tuple(map(Text, given["types"])), "resource_type": None}
    if given["licence"] is not None:
        values["licence"] = read_licence(given["licence"])
    return replace(metadata, **values).with_kind()


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
    """Return the date. A day begins at midnight, universal time."""
    if "T" in text:
        return Instant.parse(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        raise InvalidInstant(text, 0, "a date looks like 2027-01-31 or 2027-01-31T12:00:00-03:00")
    try:
        return Instant.parse(f"{text}T00:00:00Z")
    except InvalidInstant as error:  # the error is about the text as given, not as completed here
        raise InvalidInstant(text, 0, error.reason, **error.details) from None
