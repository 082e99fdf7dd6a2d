"""`ibi search` and, without words, `ibi list`: the items of an Archive, in one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibi.command.options import setting_options, settings_to_read
from ibi.command.output import as_json_option, print_json
from ibi.standard.errors import InvalidInput
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.command.api_clients import RecordsClient
    from ibi.items.model.item import Item
    from ibi.items.model.search import SearchQuery
    from ibi.items.ports.catalog import Search
    from ibi.items.service.archive_store import ArchiveStore
    from ibi.settings import Settings
    from ibi.standard.label import Label

Command = TypeVar("Command", bound=Callable[..., Any])

_FACETS = ("year", "creator", "type", "language", "prefix", "subject", "licence", "access", "file")
_KINDS = tuple("pdf document spreadsheet presentation web text image audio video data package other".split())
_OPTIONS = (
    click.option(
        "--year",
        metavar="YEAR",
        multiple=True,
        help="Only items of this year of publication, or of a span, as in 2001..2010.",
    ),
    click.option("--creator", metavar="NAME", multiple=True, help="Only items of this creator."),
    click.option("--type", metavar="TYPE", multiple=True, help="Only items of this kind."),
    click.option("--language", metavar="TAG", multiple=True, help="Only items in this language."),
    click.option("--prefix", metavar="PREFIX", multiple=True, help="Only items whose repository name begins so."),
    click.option("--subject", metavar="SUBJECT", multiple=True, help="Only items with this subject."),
    click.option("--licence", metavar="LICENCE", multiple=True, help="Only items under this licence, as in CC-BY-4.0."),
    click.option(
        "--access",
        type=click.Choice(["open", "embargo", "restricted"]),
        multiple=True,
        help="Only items read so today.",
    ),
    click.option("--file", type=click.Choice(_KINDS), multiple=True, help="Only items with files of this kind."),
    click.option("--sort", type=click.Choice(["relevance", "newest", "oldest", "title"]), help="The order."),
    click.option("-n", "--most", metavar="N", type=click.IntRange(min=1), help="At most so many; without it, all."),
)


def list_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@list_options
@as_json_option
@setting_options("data", "config", "server", "token")
def search(words: tuple[str, ...], *, as_json: bool, **given: Any) -> None:
    """Find items by words, phrases in quotes, labels or links, as the search of the pages does. `title:`, `creator:`,
    `subject:` and `type:` before a word say where it stands, `year:2001..2010` when it was published; `one OR other`
    finds either, `-word` what is without it. Put `--` before a text that begins with a hyphen. What is found in the
    text of files comes last, with a line of it."""
    print_found(" ".join(words), given, as_json=as_json)


def print_found(text: str, given: dict[str, Any], *, as_json: bool) -> None:
    """Print the items found for `text`, or all items if it is empty."""
    settings = settings_to_read(**{name: given.pop(name) for name in ("data", "config", "server", "token")})
    with _remote(settings, text, given) if settings.is_remote else _local(settings, text, given) as found:
        for each in islice(_once(found), given["most"]):
            print_json(each) if as_json else click.echo(_line(each))


def _once(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each item once: a match in the text of files is skipped if the description matched before."""
    described: set[str] = set()
    for each in found:
        if each["in_text"] is None:
            described.add(each["rep"])
            yield each
        elif each["rep"] not in described:
            yield each


def _line(each: dict[str, Any]) -> str:
    title = printable(each["title"]) if each["title"] else "(without a title)"
    creators = f" ({printable('; '.join(each['creators']))})" if each["creators"] else ""
    in_text = "" if each["in_text"] is None else f"\n    in the text: {printable(each['in_text'])}"
    return f"{each['ibip'] or each['rep']}  {title}{creators}{in_text}"


def _item_document(item: Item, persistent_url: str | None, in_text: str | None = None) -> dict[str, Any]:
    creators = [str(creator) for creator in item.metadata.creator]
    return {
        "rep": item.rep.spelling,
        "ibip": None if item.labels.ibip is None else item.labels.ibip.spelling,
        "persistent_url": persistent_url,
        "title": "; ".join(item.metadata.titles(item.language)),
        "creators": creators,
        "state": item.state.value,
        "updated": str(item.updated),
        "in_text": in_text,
    }


@contextmanager
def _remote(settings: Settings, text: str, given: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
    from ibi.command.remote_items import item_of, links_of, records_client

    pairs = [("q", text)] if text else []
    pairs += [(facet, value) for facet in _FACETS for value in given[facet]]
    pairs += [("sort", given["sort"])] if given["sort"] else []
    client = records_client(settings)
    records = client.search([*pairs, ("size", str(min(given["most"] or 50, 50)))])
    whole = ((_whole(client, record, settings), record.pop("in_text")) for record in records)
    items = ((record, item_of(record, settings), in_text) for record, in_text in whole)
    yield (_item_document(item, links_of(record, item)["persistent_url"], in_text) for record, item, in_text in items)


def _whole(client: RecordsClient, record: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the whole record. A record that is too long for a list is requested separately."""
    return client.record(_name(record, settings)) if record.get("in_short") else record


def _name(record: dict[str, Any], settings: Settings) -> Label:
    from ibi.net.errors import UnexpectedAnswer
    from ibi.standard.label import parse

    try:
        return parse(record["labels"]["rep"])
    except (InvalidInput, KeyError, TypeError):
        raise UnexpectedAnswer(server=settings.server, reason="it lists what has no name") from None


@contextmanager
def _local(settings: Settings, text: str, given: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
    from ibi.command.archive_store import opened_store
    from ibi.command.item_output import links
    from ibi.items.model.search import Facet, Order, SearchQuery

    order = Order(given["sort"]) if given["sort"] else Order.RELEVANCE if text else Order.NEWEST
    filters = tuple((Facet(name), value) for name in _FACETS for value in given[name])
    size = min(given["most"] or 100, 100)
    with opened_store(settings) as store:
        query = SearchQuery(text=text, filters=filters, order=order, size=size)
        found = chain(((item, None) for item in walk(store.search, query)), _in_text(settings, store, query))
        yield (_item_document(item, links(item, settings)["persistent_url"], in_text) for item, in_text in found)


def _in_text(settings: Settings, store: ArchiveStore, query: SearchQuery) -> Iterator[tuple[Item, str]]:
    """Yield matches in the text of files, as far as a server has extracted it."""
    from ibi.items.opening.archive_store import is_read_only
    from ibi.items.service.full_text import FullTextSearch
    from ibi.items.store.catalogue.texts import SqliteTexts
    from ibi.standard.storage_errors import StorageError
    from ibi.storage.machine import MachineClocks

    if not query.text or not settings.archive.full_text or is_read_only(settings.data):
        return
    with suppress(StorageError), closing(SqliteTexts(settings.data)) as index:
        texts = FullTextSearch(store.catalog, index, lambda: MachineClocks().read().wall)
        yield from ((match.item, match.text) for match in texts.find_now(query))


def walk(search: Search, query: SearchQuery | None) -> Iterator[Item]:
    while query is not None:
        page = search.search(query)
        yield from page.items
        query = query.next_page(page, by_number=False)


@click.command("list")
@list_options
@as_json_option
@setting_options("data", "config", "server", "token")
def list_items(*, as_json: bool, **given: Any) -> None:
    """List the items of an Archive, newest first; deleted ones are left out."""
    print_found("", given, as_json=as_json)
