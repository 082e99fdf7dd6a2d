"""A software bill of materials in CycloneDX 1.6 (JSON): `python tools/sbom.py requirements/run.txt dist/ibi.cdx.json`.

What the lock names is what an installation gets, so the lock is what is listed: names, versions, hashes of the files
that are accepted, and the markers of packages that only some platforms have. Licences and the graph of dependencies
come from the metadata of what is installed in this environment. Nothing of the machine or of the registry that the
packages came from is in it, and the same lock gives the same file.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
_LOCKED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$")
_HASH = re.compile(r"\s+--hash=sha256:(?P<hash>[0-9a-f]{64})")
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
_CITATION_STYLES: Final = {
    "type": "data",
    "bom-ref": "ibi/citation/csl",
    "name": "Styles of the Citation Style Language (citationstyles.org)",
    "licenses": [{"license": {"id": "CC-BY-SA-3.0"}}],
}
"""Files of others that the package itself carries."""


@dataclass(frozen=True)
class Package:
    """One package of the lock."""

    name: str
    version: str
    marker: str | None
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(text: str) -> Iterator[Package]:
    """The packages of a lock, in its order; `ValueError` for a line that is none of them nor a hash of one."""
    found: re.Match[str] | None = None
    hashes: list[str] = []
    for line in text.splitlines():
        if digest := _HASH.match(line):
            hashes.append(digest["hash"])
            continue
        if found is not None:
            yield Package(found["name"], found["version"], found["marker"], tuple(hashes))
        found, hashes = _LOCKED.match(line), []
        if found is None:
            raise ValueError(f"not a line of a lock: {line}")
    if found is not None:
        yield Package(found["name"], found["version"], found["marker"], tuple(hashes))


def bill(packages: list[Package], version: str, requires: list[str]) -> dict[str, Any]:
    """The document for the package ibi of that version, which requires these packages to run."""
    known = {package.name: package for package in packages}
    graph = {name: sorted(_required(_installed(package)) & known.keys()) for name, package in known.items()}
    direct = sorted(set(map(_canonical, requires)) & known.keys())
    needed = _reached(direct, graph)
    own = f"pkg:pypi/ibi@{version}"
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "ibi",
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
                "purl": own,
                "components": [_CITATION_STYLES],
            }
        },
        "components": [_component(package, is_needed=package.name in needed) for package in packages],
        "dependencies": [
            {"ref": own, "dependsOn": [known[name].purl for name in direct]},
            *({"ref": known[name].purl, "dependsOn": [known[each].purl for each in graph[name]]} for name in known),
        ],
    }
    return {**document, "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(document, sort_keys=True))}"}


def _component(package: Package, *, is_needed: bool) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        # What only the installation itself needs does not run with the rest.
        "scope": "required" if is_needed else "excluded",
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
        "purl": package.purl,
    }
    if licences := _licences(_installed(package)):
        component["licenses"] = licences
    if package.marker:
        component["properties"] = [{"name": "ibi:marker", "value": package.marker}]
    return component


def _licences(installed: Distribution | None) -> list[dict[str, Any]]:
    """As the package says it: an SPDX expression, or the names of its classifiers."""
    if installed is None:
        return []
    if expressions := installed.metadata.get_all("License-Expression"):
        return [{"expression": expressions[0]}]
    classifiers = installed.metadata.get_all("Classifier") or []
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: OSI Approved ::")]
    return [{"license": {"name": name}} for name in sorted(set(names))]


def _installed(package: Package) -> Distribution | None:
    try:
        found = distribution(package.name)
    except PackageNotFoundError:
        return None
    return found if found.version == package.version else None


def _required(installed: Distribution | None) -> set[str]:
    """The names that it requires, without those of extras."""
    texts = [] if installed is None else installed.requires or []
    return {_canonical(text) for text in texts if "extra ==" not in text}


def _canonical(requirement: str) -> str:
    match = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _reached(direct: list[str], graph: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(direct)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def main(lock: Path, target: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    document = bill(
        list(locked(lock.read_text(encoding="utf-8"))), distribution("ibi").version, project["dependencies"]
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
