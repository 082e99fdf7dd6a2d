"""A setting is declared once, by a field; whatever else is known of it is derived from there."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import pytest

from ibi.settings import SETTINGS, Settings, kinds
from ibi.settings.declaration import NamedSetting, Setting, ValueKind, declared_sections, declared_settings
from ibi.settings.kinds import Port, Url, seconds
from ibi.standard.label import Label
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.networks import IpNetwork
from ibi.standard.relation import Relation
from tests.docs.tables import ROOT, rows

KINDS = {name: one for name, one in vars(kinds).items() if hasattr(one, "__metadata__")}
NO_SETTINGS = {"file", "sources", "hints"}
"""Fields of `Settings` that say where the values come from."""


@dataclass(frozen=True)
class Tea:
    sort: Annotated[Literal["green", "black"], Setting("Which.", default="green")]
    steep: Annotated[Fraction, seconds("1", "600"), Setting("How long.", default="90", in_file=False)]


@dataclass(frozen=True)
class Kitchen:
    gas_port: Annotated[Port, Setting("Where the gas comes in.", default="80", metavar="N")]
    shop: Annotated[Url | None, Setting("Where tea is bought.")]
    tea: Tea
    opened: Path | None


@dataclass(frozen=True)
class Unkind:
    cups: Annotated[int, Setting("How many.")]


def field_names(of: type, prefix: str = "") -> Iterator[str]:
    for field in fields(of):
        if isinstance(field.type, type) and is_dataclass(field.type):
            yield from field_names(field.type, f"{field.name}.")
        else:
            yield f"{prefix}{field.name}"


def test_every_documented_setting_is_a_field_and_the_other_way_round() -> None:
    page = ROOT / "docs" / "settings.md"
    documented = rows(page, ["Setting", "Variable", "Flag", "Value", "Default", "Meaning"])
    declared = [name for name in field_names(Settings) if name not in NO_SETTINGS]
    assert [row["Setting"].strip("`") for row in documented] == declared == [one.name for one in SETTINGS]


def test_variables_are_written_nowhere_in_the_package_of_the_settings() -> None:
    variables = [one.variable for one in SETTINGS]
    for module in (ROOT / "src" / "ibi" / "config").glob("*.py"):
        text = module.read_text(encoding="utf-8")
        assert not [variable for variable in variables if variable in text], module


def test_a_field_is_enough_for_a_setting() -> None:
    gas_port, shop, sort, steep = declared_settings(Kitchen)
    assert (gas_port.name, gas_port.variable, gas_port.flag) == ("gas_port", "IBI_GAS_PORT", "--gas-port")
    assert (gas_port.metavar, gas_port.default, gas_port.in_file) == ("N", "80", True)
    assert gas_port.option_help == "Where the gas comes in. [IBI_GAS_PORT, default 80]"
    assert (shop.flag, shop.default, shop.kind) == (None, None, Url.__metadata__[0])  # type: ignore[attr-defined]
    assert (sort.name, sort.variable, sort.kind.expected) == ("tea.sort", "IBI_TEA_SORT", "one of green, black")
    assert (steep.kind.read("90"), steep.in_file) == (Fraction(90), False)


def test_a_field_whose_type_is_a_dataclass_is_a_section() -> None:
    assert declared_sections(Kitchen) == {"tea": Tea}


def test_a_type_without_a_kind_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"int.* ValueKind"):
        list(declared_settings(Unkind))


@pytest.mark.parametrize("one", SETTINGS, ids=lambda one: one.name)
def test_a_setting_without_a_default_may_be_none(one: NamedSetting) -> None:
    section, _, name = one.name.rpartition(".")
    owner = declared_sections(Settings).get(section, Settings)
    annotation = next(field.type for field in fields(owner) if field.name == name)
    assert (type(None) in get_args(get_args(annotation)[0])) is (one.default in (None, "auto", "off"))


@pytest.mark.parametrize("alias", KINDS.values(), ids=KINDS)
def test_the_reader_of_a_kind_returns_its_type(alias: Any) -> None:
    (kind,) = alias.__metadata__
    assert isinstance(kind, ValueKind)
    names = {"IpNetwork": IpNetwork, "IPv4Network": IPv4Network, "IPv6Network": IPv6Network, "Label": Label}
    names["CopyHolder"] = CopyHolder
    names["Relation"] = Relation

    def holder() -> None: ...

    holder.__annotations__ = {"return": alias.__origin__}
    assert get_type_hints(kind.read, vars(kinds), names) == get_type_hints(holder, vars(kinds), names) | {"text": str}
