"""`ibi url`: the parts of a persistent URL.

Short: each command has a module of its name, which alone is imported for it.
"""

from __future__ import annotations

import click

from ibi.cli.output import as_json_option, each, print_json, print_lines
from ibi.persistent_url import PersistentUrl


@click.command()
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@as_json_option
def url(urls: tuple[str, ...], *, as_json: bool) -> None:
    """Take persistent URLs apart, with or without a host: which item, what of it, which file."""
    each(urls, PersistentUrl.parse, _show_json if as_json else _show)


def _show_json(parsed: PersistentUrl) -> None:
    print_json(
        {
            "label": str(parsed.label),
            "modifier": parsed.relation.modifier,
            "verbs": list(parsed.relation.verbs),
            "qualifier": parsed.relation.qualifier,
            "file_path": parsed.file_path,
            "file_list": parsed.file_list,
            "required_original": parsed.required_original,
            "language": parsed.language,
            "query": parsed.query,
        }
    )


def _show(parsed: PersistentUrl) -> None:
    lines = {
        "label": str(parsed.label),
        "modifier": parsed.relation.modifier,
        "verbs": " ".join(parsed.relation.verbs),
        "qualifier": parsed.relation.qualifier,
        "file": parsed.file_path or "",
        "wanted": "the list of files" if parsed.file_list else "",
        "state": "the Original and no Copy" if parsed.required_original else "",
        "language": parsed.language or "",
        "query": parsed.query_string,
    }
    print_lines(str(parsed), {name: value for name, value in lines.items() if value})
