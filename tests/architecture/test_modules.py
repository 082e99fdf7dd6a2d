"""One of each: a class name means one thing, packages alone list what is public, two clients ask other servers."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from tests.docs.tables import ROOT

CONNECTING = re.compile(r"http\.client|urllib\.request|\.create_connection\(|\bopen_connection\(")
MODULES = sorted((ROOT / "src" / "ibi").rglob("*.py"))


def test_no_public_class_name_means_two_things() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_what_is_public_is_said_in_packages_alone() -> None:
    named = [path for path in MODULES if "__all__ =" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(ROOT)) for path in named if path.name != "__init__.py"] == []


def test_two_clients_alone_connect_to_other_servers() -> None:
    """Bounds, strict reading and pinned addresses hold for every request, because no other module sends one."""
    found = [path for path in MODULES if CONNECTING.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in found] == ["blocking_http.py", "http_connection.py"]
