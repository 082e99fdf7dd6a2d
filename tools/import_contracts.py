"""The contract of the order of capabilities, which import-linter checks.

`pyproject.toml` lists the packages of `ibi` in groups:

- bases: each imports those before it, and nothing else of `ibi`;
- capabilities, lowest first, with floors inside. A capability imports lower ones: their public floors, and from a face
  or a floor of the same name the others, too;
- shells: what all faces share. A shell imports no face of a capability, and below the faces nothing imports a shell;
- the top, which imports everything and which nothing else imports.

Each exception names one import, and stands with its reason in `pyproject.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT: Final = "ibi"
Import: TypeAlias = tuple[str, str]


class Place(NamedTuple):
    """The package of a module below `ibi`, and its floor inside the package."""

    package: str
    floor: str


def place_of(module: str) -> Place:
    parts = module.split(".")
    return Place(*[*parts[1:3], "", ""][:2])


class Order(NamedTuple):
    """The groups of packages, and the kinds of floors."""

    bases: Sequence[str]
    capabilities: Sequence[str]
    shells: Sequence[str]
    top: Sequence[str]
    public: Sequence[str]
    faces: Sequence[str]

    def reason(self, importer: str, imported: str) -> str:
        """Return why an import is wrong, or nothing if it is right."""
        one, other = place_of(importer), place_of(imported)
        if one.package in {"", other.package} or one.package in self.top:
            return ""
        for package in (one.package, other.package):
            if package not in {*self.bases, *self.capabilities, *self.shells, *self.top}:
                return f"`{package}` is in no group of the contract"
        if other.package in self.top:
            return "nothing imports the composition"
        if one.package in self.bases:
            is_before = other.package in self.bases[: self.bases.index(one.package)]
            return "" if is_before else "a base imports bases before it alone"
        return "" if other.package in self.bases else self._reason_above_bases(one, other)

    def _reason_above_bases(self, one: Place, other: Place) -> str:
        is_face = one.floor in self.faces
        if other.package in self.shells:
            return "" if is_face or one.package in self.shells else "below the faces nothing imports a shell"
        if one.package in self.shells:
            return "a shell imports no face of a capability" if other.floor in self.faces else ""
        if self.capabilities.index(one.package) < self.capabilities.index(other.package):
            return f"`{one.package}` stands below `{other.package}`"
        if is_face or other.floor in {one.floor, *self.public}:
            return ""
        return f"the floor `{other.floor}` is not for other capabilities"


class OrderContract(Contract):
    """The contract of the type `capabilities`."""

    type_name = "capabilities"

    bases = fields.ListField(subfield=fields.StringField())
    capabilities = fields.ListField(subfield=fields.StringField())
    shells = fields.ListField(subfield=fields.StringField())
    top = fields.ListField(subfield=fields.StringField())
    public = fields.ListField(subfield=fields.StringField())
    faces = fields.ListField(subfield=fields.StringField())
    exceptions = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        order = Order(*(cast(Sequence[str], getattr(self, name)) for name in Order._fields))
        excepted = {each.partition(" -> ")[::2] for each in cast(Sequence[str] | None, self.exceptions) or ()}
        broken = {(one, other): reason for one, other, reason in _violations(graph, order)}
        stale = sorted(excepted - set(broken))
        told = {each: reason for each, reason in broken.items() if each not in excepted}
        told |= dict.fromkeys(stale, "the exception is not needed any more")
        return ContractCheck(kept=not told, metadata={"told": told})

    def render_broken_contract(self, check: ContractCheck) -> None:
        told = cast(dict[Import, str], check.metadata["told"])
        for (importer, imported), reason in told.items():
            output.print_error(f"- {importer} -> {imported}: {reason}")


def _violations(graph: ImportGraph, order: Order) -> Iterator[tuple[str, str, str]]:
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            if imported.startswith(f"{ROOT}.") and (reason := order.reason(importer, imported)):
                yield importer, imported, reason
