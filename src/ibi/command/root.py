"""The commands. The module of a command is imported when it is called, so that `ibi explain` starts quickly."""

from __future__ import annotations

from importlib import import_module

import click

from ibi import __version__

_GROUPS = {
    "Read labels and links": {
        "explain": "Show who named an item and when, from its label alone",
        "url": "Take a persistent URL apart",
        "resolve": "Print the address to which a link leads",
        "trace": "Show how a link is resolved, question by question",
        "check": "Check a server of any make against the standard",
    },
    "Begin, and serve": {
        "up": "Start every service; in an empty directory, a sandbox",
        "init": "Make a data directory for labels that last",
        "archive": "Begin an Archive, see its status, join a resolver",
        "resolver": "Register Archives, list, change and remove them",
    },
    "Mint and keep": {
        "mint": "Mint globally unique labels",
        "deposit": "Keep files, folders or a Web service as an item",
        "update": "Give an item other files or another description",
        "relate": "Say what the next edition or a translation is",
        "claims": "List and answer claims on items of others",
        "review": "List and judge drafts that wait for review",
        "list": "List the items of the Archive",
        "collection": "Named sets of items, by a search or by hand",
        "search": "Find items by words, labels or links",
        "get": "Fetch the files of an item into a folder",
        "show": "Show items: labels, description, relations, files",
        "versions": "List the versions of an item, and what changed",
        "delete": "Delete an item; its label stays taken",
        "copy": "Keep Copies of items of other Archives",
        "refresh": "Bring Copies up to date with their Originals",
        "drop": "Remove a Copy; its Original stays where it is",
        "follow": "Keep Copies of items of other Archives up to date",
        "transfer": "Give Originals to another Archive",
        "transfers": "List transfers; accept, decline, withdraw them",
        "changes": "List the changes of the Archive, in order",
        "dump": "Write all public records to a file, as JSON lines",
        "stats": "Show how often items were resolved and downloaded",
    },
    "Look after it": {
        "person": "Accounts of people who sign in to the pages",
        "webhook": "Tell others of each change of the Archive",
        "token": "Tokens of programs that use the API",
        "key": "Keys with which this place signs its statements",
        "audit": "Who changed which item, token or person",
        "backup": "Copy a data directory, beside a running server",
        "restore": "Put a backup back, or an earlier version of an item",
        "doctor": "Look for problems, and name their remedies",
        "verify": "Read all files again, to find damage",
        "rebuild": "Rebuild the catalogue from the store alone",
    },
}
"""The commands as `ibi --help` shows them. The lines of help stand here, so that no module is imported for them, and
are short enough to be shown whole."""

_PLACES = {
    "archive": "archive.cli",
    "audit": "items.cli.audit",
    "backup": "backup.cli.backup",
    "changes": "harvesting.cli",
    "check": "check.cli",
    "claims": "claims.cli",
    "collection": "collections.cli",
    "copy": "copies.cli.copy",
    "delete": "deposits.cli.delete",
    "deposit": "deposits.cli.deposit",
    "doctor": "doctor.cli.doctor",
    "drop": "copies.cli.copy",
    "dump": "harvesting.cli",
    "explain": "reading.cli.explain",
    "follow": "following.cli.follow",
    "get": "reading.cli.get",
    "init": "app.cli.up",
    "key": "resolver.cli.key",
    "list": "items.cli.search:list_items",
    "mint": "minting.cli",
    "person": "people.cli.accounts",
    "rebuild": "doctor.cli.rebuild",
    "refresh": "copies.cli.copy",
    "relate": "claims.cli",
    "resolve": "resolver.cli.resolutions",
    "resolver": "resolver.cli.resolver",
    "restore": "backup.cli.restore",
    "review": "deposits.cli.review",
    "search": "items.cli.search",
    "show": "reading.cli.show",
    "stats": "usage.cli",
    "token": "people.cli.token",
    "trace": "resolver.cli.trace",
    "transfer": "transfers.cli.transfer",
    "transfers": "transfers.cli.transfers",
    "up": "app.cli.up",
    "update": "deposits.cli.update",
    "url": "reading.cli.explain",
    "verify": "doctor.cli.verify",
    "versions": "reading.cli.versions",
    "webhook": "following.cli.webhook",
}
"""The module of each command below `ibi`, with the function if it has another name. It is imported on use."""

_EXAMPLES = """\
Examples:
  ibi explain 8JMKD3MGP8W/34PGRBS
  ibi up --demo
  ibi deposit report.pdf --title "Annual report" --creator "Silva, Ana"
  ibi init --host HOST --ip ADDRESS --data /srv/ibi

`ibi COMMAND --help` shows the flags of a command.
"""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for commands in _GROUPS.values() for name in commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        module, _, function = _PLACES[name].partition(":")
        command: click.Command = getattr(import_module(f"ibi.{module}"), function or name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.list_commands(ctx)))
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write(_EXAMPLES)


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ibi", message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Internet Based Identifiers: globally unique labels, and links to them that last."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
