"""The cells of the rights: items of every owner and visibility, and what each scope may do with them.

The names of the acts are those of `ibi.items.rules.rights.ItemAct`; the table here is written by hand, to be compared
with what a server answers and what the command does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from ibi.deposits.service.ledger import Depositor
from ibi.items.model.item import Description, Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.items.service.deposits import Deposits
from ibi.people.model.account import Actor, Scope
from ibi.standard.messages.identification import LabelForms
from ibi.standard.networks import network
from tests.support.archive_app import SERVICE
from tests.support.deposit_samples import WHO, CountedLabels, draft, sources
from tests.support.flat_items import replace
from tests.support.records_app import RecordsApp

Owner: TypeAlias = Literal["own", "another's", "archive's", "service"]
"""Of the account that asks, of another one, of none, or the Archive's own item."""

PUBLIC, RESTRICTED = Visibility.PUBLIC, Visibility((network("10.0.0.0/8"),), listing=False)
R, D, E, A, C = Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN, Scope.COPY
ALL = {R, D, E, A, C}

ALLOWED: dict[str, dict[Owner, set[Scope]]] = {
    "read": {"own": ALL, "another's": ALL, "archive's": ALL, "service": ALL},
    "files": {"own": {D, E, A, C}, "another's": {E, A, C}, "archive's": {E, A, C}, "service": {E, A, C}},
    "deposit": {"own": {D, E, A}},
    "draft": {"own": {D, E, A}, "another's": {E, A}, "service": {A}},
    "update": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "narrow": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "open": {"own": {D, E, A}, "another's": {A}, "archive's": {A}, "service": {A}},
    "restore": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "restore withheld": {"own": {D, E, A}, "another's": {A}, "archive's": {A}, "service": {A}},
    "relate": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "answer": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "delete": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}},
    "purge": {"own": {A}, "another's": {A}, "archive's": {A}},
    "give": {"own": {A}, "another's": {A}, "archive's": {A}, "service": {A}},
}
"""The scopes that allow an act. The Archive's own item cannot be deleted, whatever the scope; a new item is one's own,
and a draft always belongs to an account. A file is `withheld` that only the earlier, restricted version has."""
OPENING = {"open", "restore withheld"}
"""Acts that want a restricted item: of another, nothing gets more visible."""
UNCHANGING = {"read", "files", "deposit"}
"""Acts that leave the item as it is."""
OWNERS: dict[Owner, str | None] = {"own": "service:ana", "another's": "service:bia", "archive's": None, "service": None}


class Cell(NamedTuple):
    act: str
    owner: Owner
    scope: Scope
    visibility: Visibility

    @property
    def is_allowed(self) -> bool:
        if self.act == "files" and self.visibility == PUBLIC:
            return True  # for every reader
        return self.scope in ALLOWED[self.act][self.owner]

    def __str__(self) -> str:
        seen = "public" if self.visibility == PUBLIC else "restricted"
        return f"{self.act} {self.owner} {seen} item with {self.scope}"


def cells() -> Iterator[Cell]:
    """Of those that are refused first: they leave the item as it was."""
    for act, owners in ALLOWED.items():
        for owner, scopes in owners.items():
            for visibility in (PUBLIC, RESTRICTED):
                if act in OPENING and visibility == PUBLIC:
                    continue
                for scope in sorted(Scope, key=lambda scope: scope in scopes):
                    yield Cell(act, owner, scope, visibility)


def earlier_version(app: RecordsApp, item: Item) -> int:
    """The number of the version before the current one."""
    return len(app.store.content.read(str(item.rep)).versions) - 1


class _OneLabel:
    def __init__(self, forms: LabelForms) -> None:
        self._forms = forms

    def reserve(self, key: str | None = None) -> LabelForms:
        return self._forms


@dataclass
class RightsWorld:
    """Items as the cells want them. An item is used again until an act has changed it."""

    app: RecordsApp
    owners: Mapping[Owner, str | None] = field(default_factory=lambda: OWNERS)

    def __post_init__(self) -> None:
        self._labels = CountedLabels()
        self._fresh: dict[tuple[Owner, Visibility], Item] = {}

    def item(self, owner: Owner, visibility: Visibility, act: str = "") -> Item:
        if act.startswith("restore"):
            return self.republished(owner, visibility, PUBLIC if act == "restore withheld" else visibility)
        if owner == "service":
            return self._service(visibility, has_files=act == "files")
        known = self._fresh.get((owner, visibility))
        if known is None:
            known = self._fresh[owner, visibility] = self._deposit(owner, visibility)
        return known

    def note_changed(self, cell: Cell) -> None:
        self._fresh.pop((cell.owner, cell.visibility), None)

    def claimant(self, item: Item) -> Item:
        """An item of a third account whose claim on `item` waits."""
        actor = Actor("service:cleo", Scope.DEPOSIT)
        deposits = Deposits(self.app.store, self._labels, self.app.clocks, service=SERVICE, actor=actor)
        said = draft(target_url="http://x.br/", edition_of=item.labels)
        return deposits.deposit(said, {}, WHO, owner=actor.account)

    def draft(self, owner: Owner, visibility: Visibility) -> str:
        """A draft of a new item, or one that changes the Archive's own; with all that it needs to be published."""
        drafts = self.app.drafts
        if owner == "service":
            who = Depositor("service:adm", "adm", Scope.ADMIN, "t", "127.0.0.1")
            return drafts.begin_update(who, self._service(visibility).rep).record.id
        who = Depositor(self.owners[owner] or "", "someone", Scope.DEPOSIT, "t", "127.0.0.1")
        said = Description(metadata=DescriptiveMetadata(title=(Text("x"),)), visibility=visibility)
        begun = drafts.begin(who, said).record.id
        upload = drafts.uploads.begin(who, begun, "a.txt", 7)
        upload.write(b"content")
        upload.finish(None)
        return begun

    def _deposit(self, owner: Owner, visibility: Visibility) -> Item:
        deposits = Deposits(self.app.store, self._labels, self.app.clocks)
        given = sources(a=b"content")
        said = replace(draft(*given), visibility=visibility)
        return deposits.deposit(said, given, WHO, owner=self.owners[owner])

    def republished(self, owner: Owner, before: Visibility, now: Visibility) -> Item:
        """An item of two versions or more: the one before the last has a file that the last has not."""
        deposits = Deposits(self.app.store, self._labels, self.app.clocks)
        item = self._service(before, has_files=True) if owner == "service" else self._deposit(owner, before)
        given = sources(b=b"other content")
        return deposits.update(item.rep, replace(draft(*given), visibility=now), given, WHO).item

    def _service(self, visibility: Visibility, *, has_files: bool = False) -> Item:
        deposits = Deposits(self.app.store, _OneLabel(SERVICE), self.app.clocks)
        found = self.app.store.catalog.find(SERVICE.labels[0])
        given = sources(a=b"content") if has_files else {}
        said = replace(draft(*given, target_url=None if has_files else "http://arq.lab.br/"), visibility=visibility)
        if found is None:
            return deposits.deposit(said, given, WHO)
        if found.owner is not None:
            found = deposits.give(found.rep, None, WHO)
        is_other = [file.path for file in found.files] != list(given) or found.target_url != said.target_url
        if found.visibility != visibility or is_other:
            return deposits.update(found.rep, said, given, WHO).item
        return found
