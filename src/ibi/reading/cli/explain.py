"""`ibi explain` reads the creator, place and time of a label from the label itself. `ibi url` shows the parts of a
persistent URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from ibi.command.output import as_json_option, each, print_json, print_lines
from ibi.standard.errors import InvalidLabel, InvalidPersistentUrl
from ibi.standard.label import Ibip, Label, RepositoryName, parse_any
from ibi.standard.label.generate import mount_suffix_of_ibip, mount_suffix_of_repository_name

if TYPE_CHECKING:
    from ibi.standard.persistent_url import PersistentUrl


@click.command()
@click.argument("labels", metavar="LABEL_OR_URL...", nargs=-1, required=True)
@as_json_option
def explain(labels: tuple[str, ...], *, as_json: bool) -> None:
    """Say who named an item and when, from its label alone. Given a link, explain the label in the link."""
    each(labels, _read, _show_json if as_json else _show)


def _read(text: str) -> Label:
    """Return `text` as a label, or the label in it if it is a persistent URL."""
    try:
        return parse_any(text)
    except InvalidLabel as reason:
        from ibi.standard.persistent_url import PersistentUrl

        try:
            return PersistentUrl.parse(text).label
        except InvalidPersistentUrl:
            if "://" in text:
                raise
            raise reason from None


_LEGACY: Final = "named before 2008; says nothing about who and when"


def _show_json(label: Label) -> None:
    if not label.is_dated:
        print_json({"form": label.form, "label": str(label), "says": _LEGACY})
        return
    print_json(
        {
            "form": label.form,
            "label": str(label),
            "prefix": label.prefix,
            "suffix": label.suffix,
            "host": label.host if isinstance(label, RepositoryName) else None,
            "ip": label.ip if isinstance(label, Ibip) else None,
            "port": label.port,
            "instant": str(label.instant),
            "is_global": label.is_global,
            "other_suffix": _other_suffix(label),
        }
    )


def _show(label: Label) -> None:
    if not label.is_dated:
        print_lines(str(label), {"form": _LEGACY})
        return
    place = label.host if isinstance(label, RepositoryName) else label.ip if isinstance(label, Ibip) else label.prefix
    other = "an IBIp" if isinstance(label, RepositoryName) else "a repository name"
    print_lines(
        str(label),
        {
            "form": "repository name" if isinstance(label, RepositoryName) else "IBIp",
            "named by": f"{place}, port {label.port}",
            "named at": str(label.instant),
            "global": "yes" if label.is_global else "no: others may have minted the same label",
            "same instant": f"{_other_suffix(label) or 'too early'}, as the suffix of {other}",
        },
    )


def _other_suffix(label: Label) -> str | None:
    """Return the suffix of the same instant in the other form; None if an IBIp cannot express the instant."""
    if isinstance(label, Ibip):
        return mount_suffix_of_repository_name(label.instant)
    try:
        return mount_suffix_of_ibip(label.instant)
    except InvalidLabel:
        return None


@click.command()
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@as_json_option
def url(urls: tuple[str, ...], *, as_json: bool) -> None:
    """Show the parts of persistent URLs, with or without a host: the label of the item, the relation, the file."""
    from ibi.standard.persistent_url import PersistentUrl

    each(urls, PersistentUrl.parse, _show_url_json if as_json else _show_url)


def _show_url_json(parsed: PersistentUrl) -> None:
    print_json(
        {
            "label": str(parsed.label),
            "modifier": parsed.relation.modifier,
            "verbs": list(parsed.relation.verbs),
            "qualifier": parsed.relation.qualifier,
            "file_path": parsed.shown_path,
            "file_list": parsed.file_list,
            "required_original": parsed.required_original,
            "language": parsed.language,
            "query": parsed.query,
        }
    )


def _show_url(parsed: PersistentUrl) -> None:
    lines = {
        "label": str(parsed.label),
        "modifier": parsed.relation.modifier,
        "verbs": " ".join(parsed.relation.verbs),
        "qualifier": parsed.relation.qualifier,
        "file": parsed.shown_path or "",
        "wanted": "the list of files" if parsed.file_list else "",
        "state": "the Original and no Copy" if parsed.required_original else "",
        "language": parsed.language or "",
        "query": parsed.query_string,
    }
    print_lines(str(parsed), {name: value for name, value in lines.items() if value})
