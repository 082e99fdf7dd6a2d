"""Functions, classes and modules keep the limits, but for the exceptions in `limits.toml`, which only get fewer."""

from __future__ import annotations

from textwrap import dedent
from typing import Final, TypeAlias

import pytest

from tools.limits import LIMITS, LONG_MODULE, find_excess, find_hints, measure_module, read_exceptions

Values: TypeAlias = dict[tuple[str, str], int]
MOST_WORDS: Final = 20


@pytest.fixture(scope="module")
def measured() -> Values:
    return {(limit, name): value for limit, rows in find_excess().items() for name, value in rows.items()}


@pytest.fixture(scope="module")
def listed() -> Values:
    return {(limit, name): row.value for limit, rows in read_exceptions().items() for name, row in rows.items()}


def test_nothing_new_is_above_a_limit(measured: Values, listed: Values) -> None:
    """Split it. Where that is no remedy, list it in `limits.toml` with the reason."""
    assert {key: value for key, value in measured.items() if key not in listed} == {}


def test_no_exception_has_grown(measured: Values, listed: Values) -> None:
    grown = {key: (listed[key], value) for key, value in measured.items() if key in listed and value > listed[key]}
    assert grown == {}


def test_exceptions_that_are_not_needed_are_removed(measured: Values, listed: Values) -> None:
    assert {key: value for key, value in listed.items() if key not in measured} == {}


def test_exceptions_that_have_shrunk_have_the_smaller_value(measured: Values, listed: Values) -> None:
    shrunk = {key: (value, measured[key]) for key, value in listed.items() if key in measured and measured[key] < value}
    assert shrunk == {}


def test_every_exception_has_a_reason() -> None:
    sections = read_exceptions()
    assert list(sections) == list(LIMITS)
    rows = [(name, row.reason) for names in sections.values() for name, row in names.items()]
    assert [name for name, reason in rows if not 3 <= len(reason.split()) <= MOST_WORDS] == []


def test_exceptions_are_sorted_by_name() -> None:
    """Changes of two branches then touch the same line only if they are about the same thing."""
    for names in read_exceptions().values():
        assert list(names) == sorted(names)


def measure(source: str, limit: str) -> dict[str, int]:
    found = measure_module("ibi.sample", dedent(source))
    return {each.name.removeprefix("ibi.sample:"): each.value for each in found if each.limit == limit}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("return 1", 1),
        ("if a: pass", 2),
        ("if a: pass\nelif b: pass\nelse: pass", 3),
        ("if a and b or c: pass", 4),
        ("for each in a: pass\nwhile b: pass", 3),
        ("try: pass\nexcept OSError: pass\nexcept ValueError: pass\nfinally: pass", 3),
        ("match a:\n    case 1: pass\n    case _: pass", 3),
        ("return 1 if a else 2", 2),
        ("return [each for each in a if each if b]", 4),
        ("return {each: 1 for each in a}, {each for each in a}, (each for each in a)", 4),
        ("return lambda: 1 if a else 2", 2),
        ("with a: pass", 1),
    ],
)
def test_complexity_counts_paths(body: str, paths: int) -> None:
    indented = body.replace("\n", "\n    ")
    assert measure(f"def call(a, b, c):\n    {indented}\n", "complexity") == {"call": paths}
    assert measure(f"async def call(a, b, c):\n    {indented}\n", "complexity") == {"call": paths}


def test_complexity_of_nested_functions_and_methods_is_their_own() -> None:
    source = """
        def outer(a):
            def inner():
                if a: pass
            class Local:
                def method(self):
                    if a and a: pass
            return inner

        if True:
            class Thing:
                def method(self):
                    for each in self: pass
    """
    assert measure(source, "complexity") == {
        "outer": 1,
        "outer.inner": 2,
        "outer.Local.method": 3,
        "Thing.method": 2,
    }


def test_parameters_leave_out_self_and_those_that_gather_the_rest() -> None:
    source = """
        def call(a, /, b, *args, c, d=1, **kwargs): pass

        class Thing:
            def method(self, a): pass

            @classmethod
            def of(cls, a, b): pass

            @staticmethod
            def read(a, b, c): pass
    """
    assert measure(source, "parameters") == {"call": 4, "Thing.method": 1, "Thing.of": 2, "Thing.read": 3}


def test_options_of_commands_are_no_parameters() -> None:
    source = """
        @click.command()
        def first(a, b): pass

        @group.command("second")
        def second(a, b): pass

        @as_json_option
        def third(a, b): pass

        @cache
        def function(a, b): pass
    """
    assert measure(source, "parameters") == {"function": 2}


def test_fields_are_declared_or_set_by_methods() -> None:
    source = """
        class Thing:
            declared: int
            also: str = ""
            constant: ClassVar[int] = 1
            plain = 2

            def __init__(self, other):
                self.declared, self.first = 1, 2
                other.unrelated = 3
                if other:
                    self.second += 1

            def method(self):
                return self.read
    """
    assert measure(source, "fields") == {"Thing": 4}
    assert measure(source, "methods") == {"Thing": 2}


def test_own_imports_are_modules_of_the_package_at_the_top() -> None:
    source = """
        import sys, ibi.standard.label
        import ibis
        from ibi import Label
        from ibi.standard.clock import read, write
        from ibi.standard.clock import other
        from msgspec import Struct

        def call():
            from ibi.standard.errors import IbiError
    """
    found = [each for each in measure_module("ibi.sample", dedent(source)) if each.limit == "imports"]
    assert [(each.name, each.value) for each in found] == [("ibi.sample", 3)]


def test_hints_name_long_modules_and_banner_comments() -> None:
    assert list(find_hints("a.py", "x = 1\n" * LONG_MODULE)) == []
    assert list(find_hints("a.py", "x = 1\n" * (LONG_MODULE + 1))) == [f"a.py has {LONG_MODULE + 1} lines"]
    assert list(find_hints("a.py", "x = 1  # ---\n\n# --- one ---\n    # --- two ---\n")) == [
        "a.py has banner comments: line 3, 4"
    ]
