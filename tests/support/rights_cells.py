"""The cells of the rights: items of every owner and visibility, and what each scope may do with them.

The names of the acts are those of `ibi.accounts.rights.ItemAct`; the table here is written by hand, to be compared with
what a server answers and what the command does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from ibi.messages.label_forms import LabelForms
from ibi.model.account import Scope
from ibi.model.item import Item
from ibi.model.visibility import Visibility, network
from ibi.services.items.deposits import Deposits
from tests.support.archive_app import SERVICE
from tests.support.deposit_samples import WHO, CountedLabels, draft, sources
from tests.support.records_app import RecordsApp

Owner: TypeAlias = Literal["own", "another's", "archive's", "service"]
"""Of the account that asks, of another one, of none, or the Archive's own item."""

PUBLIC, RESTRICTED = Visibility.PUBLIC, Visibility((network("10.0.0.0/8"),), listing=False)
R, D, E, A, C = Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN, Scope.COPY
ALL = {R, D, E, A, C}

ALLOWED: dict[str, dict[Owner, set[Scope]]] = {
    "read": {"own": ALL, "another's": ALL, "archive's": ALL, "service": ALL},
    "files": {"own": {D, E, A, C}, "another's": {E, A, C}, "archive's": {E, A, C}},
    "update": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "narrow": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "open": {"own": {D, E, A}, "another's": {A}, "archive's": {A}, "service": {A}},
    "relate": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}, "service": {A}},
    "delete": {"own": {D, E, A}, "another's": {E, A}, "archive's": {E, A}},
    "purge": {"own": {A}, "another's": {A}, "archive's": {A}},
}
"""The scopes that allow an act. The Archive's own item has no files, and cannot be deleted,
whatever the scope."""
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
                if act == "open" and visibility == PUBLIC:
                    continue  # nothing is more visible
                for scope in sorted(Scope, key=lambda scope: scope in scopes):
                    yield Cell(act, owner, scope, visibility)


class _OneLabel:
    def __init__(self, forms: LabelForms) -> None:
        self._forms = forms

    def reserve(self, key: str | None = None) -> LabelForms:
        return self._forms


@dataclass
class RightsWorld:
    """Items as the cells want them. An item is used again until an act has changed it."""

    app: RecordsApp

    def __post_init__(self) -> None:
        self._labels = CountedLabels()
        self._fresh: dict[tuple[Owner, Visibility], Item] = {}

    def item(self, owner: Owner, visibility: Visibility) -> Item:
        if owner == "service":
            return self._service(visibility)
        known = self._fresh.get((owner, visibility))
        if known is None:
            known = self._fresh[owner, visibility] = self._deposit(owner, visibility)
        return known

    def note_changed(self, cell: Cell) -> None:
        self._fresh.pop((cell.owner, cell.visibility), None)

    def _deposit(self, owner: Owner, visibility: Visibility) -> Item:
        deposits = Deposits(self.app.store, self._labels, self.app.clocks)
        given = sources(a=b"content")
        said = replace(draft(*given), visibility=visibility)
        return deposits.deposit(said, given, WHO, owner=OWNERS[owner])

    def _service(self, visibility: Visibility) -> Item:
        deposits = Deposits(self.app.store, _OneLabel(SERVICE), self.app.clocks)
        found = self.app.store.catalog.find(SERVICE.labels[0])
        said = replace(draft(target_url="http://arq.lab.br/"), visibility=visibility)
        if found is None:
            return deposits.deposit(said, {}, WHO)
        if found.visibility != visibility or found.target_url != said.target_url:
            return deposits.update(found.rep, said, {}, WHO).item
        return found
