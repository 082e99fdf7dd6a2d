"""Measures functions, classes and modules against limits; `tests/architecture/limits.toml` lists the exceptions.

`python -m tools.limits` prints everything above a limit, and marks what differs from the list. With `--hints` it prints
the long modules and the banner comments instead, which no test refuses.

Complexity counts the paths through a function: 1, and 1 more for each `if`, `elif`, loop, `except`, `case`, conditional
expression, comprehension, `if` of a comprehension, and each further operand of `and` and `or`. A nested function counts
for itself. Parameters leave out `self`, `cls`, `*args` and `**kwargs`. Commands of `click` are not counted by
parameters, which are their options; constructors of dataclasses are not counted either, because nobody wrote them.
Fields are those that a class declares and those that its methods set. Own imports are the modules of the package that
the top of a module imports from.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "ibi"
EXCEPTIONS: Final = ROOT / "tests" / "architecture" / "limits.toml"
LIMITS: Final = {"complexity": 12, "parameters": 8, "fields": 15, "methods": 25, "imports": 20}
LONG_MODULE: Final = 700
"""A module with more lines is a hint that it holds more than one idea."""

_BRANCHES: Final = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Measured(NamedTuple):
    """What one function, class or module measures by one limit."""

    limit: str
    name: str
    """Module, and within it the function or class, as in `ibi.app.web:create_app`."""
    value: int


class ListedException(NamedTuple):
    """A row of the list: the value that is allowed, and the reason."""

    value: int
    reason: str


def measure_module(module: str, source: str) -> Iterator[Measured]:
    """Yield the measures of a module, and of every function and class in it."""
    tree = ast.parse(source)
    yield Measured("imports", module, _count_own_imports(tree))
    yield from _measure_body(f"{module}:", tree)


def find_excess() -> dict[str, dict[str, int]]:
    """Return what the package has above a limit: the values by limit and name."""
    found: dict[str, dict[str, int]] = {limit: {} for limit in LIMITS}
    for path in _list_modules():
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for limit, name, value in measure_module(module, path.read_text(encoding="utf-8")):
            if value > LIMITS[limit]:
                found[limit][name] = max(value, found[limit].get(name, 0))
    return found


def read_exceptions() -> dict[str, dict[str, ListedException]]:
    """Return the listed exceptions by limit and name; the reason is empty if a row has none."""
    sections = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))
    return {
        limit: {name: ListedException(row[0], "".join(row[1:])) for name, row in rows.items()}
        for limit, rows in sections.items()
    }


def find_hints(name: str, source: str) -> Iterator[str]:
    """Yield a line about the length of a module and one about its banner comments, if there is something to say."""
    lines = source.splitlines()
    if len(lines) > LONG_MODULE:
        yield f"{name} has {len(lines)} lines"
    if banners := [str(number) for number, line in enumerate(lines, 1) if line.lstrip().startswith("# ---")]:
        yield f"{name} has banner comments: line {', '.join(banners)}"


def _list_modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _measure_body(prefix: str, node: ast.AST) -> Iterator[Measured]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            name = f"{prefix}{child.name}"
            yield Measured("complexity", name, _count_paths(child))
            if not _is_command(child):
                yield Measured("parameters", name, _count_parameters(child))
            yield from _measure_body(f"{name}.", child)
        elif isinstance(child, ast.ClassDef):
            name = f"{prefix}{child.name}"
            methods = [each for each in child.body if isinstance(each, _Function)]
            yield Measured("methods", name, len(methods))
            yield Measured("fields", name, len(_find_fields(child, methods)))
            yield from _measure_body(f"{name}.", child)
        else:
            yield from _measure_body(prefix, child)


def _count_paths(function: _Function) -> int:
    found = 1
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Function | ast.ClassDef):
            continue
        found += isinstance(node, _BRANCHES)
        if isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            found += len(node.ifs)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _count_parameters(function: _Function) -> int:
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def _is_command(function: _Function) -> bool:
    decorators = " ".join(ast.unparse(each) for each in function.decorator_list)
    return ".command(" in decorators or "click." in decorators or "_option" in decorators


def _find_fields(found: ast.ClassDef, methods: list[_Function]) -> set[str]:
    fields = {
        each.target.id
        for each in found.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and "ClassVar" not in ast.unparse(each.annotation)
    }
    for method in methods:
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                fields.add(node.attr)
    return fields


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _count_own_imports(tree: ast.Module) -> int:
    named = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    named |= {each.name for node in tree.body if isinstance(node, ast.Import) for each in node.names}
    return sum(name is not None and (name == "ibi" or name.startswith("ibi.")) for name in named)


def main() -> None:
    if sys.argv[1:] == ["--hints"]:
        for path in _list_modules():
            for hint in find_hints(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")):
                print(f"hint: {hint}")
        return
    known = read_exceptions()
    for limit, rows in find_excess().items():
        listed = known.get(limit, {})
        for name, value in sorted(rows.items(), key=lambda row: -row[1]):
            mark = "  not listed" if name not in listed else ""
            if name in listed and listed[name].value != value:
                mark = f"  listed with {listed[name].value}"
            print(f"{limit:<11}{value:>4}  {name}{mark}")
        for name in listed.keys() - rows.keys():
            print(f"{limit:<11}      {name}  no longer needed")


if __name__ == "__main__":
    main()
