"""Build a release and try it: `python -m tools.dist dist`.

Into that directory go the source distribution, the wheel made from it, the lock of what it needs to run, the notes of
this version from the changelog, and SHA256SUMS over all. Before that the wheel is installed into an empty environment,
at the locked versions, where a server is started from it, an item deposited and its link followed. Both archives are
built twice and have to be the same bytes: the date in them is that of the last commit (or SOURCE_DATE_EPOCH).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

from tools.sbom import Package, bill, locked

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).parent / "uv"
SUMS = "SHA256SUMS"
_PATIENCE = 120.0
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


class ReleaseError(Exception):
    """What is wrong with the release, for the person who makes it."""


def package_version() -> str:
    """The version, from the one place that says it."""
    found = _VERSION.search((ROOT / "src" / "ibi" / "__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise ReleaseError("src/ibi/__init__.py has no __version__")
    return found[1]


def release_notes(changelog: str, version: str) -> str:
    """What the changelog says of that version."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ReleaseError(f"CHANGELOG.md says nothing of {version}, which is __version__ in src/ibi/__init__.py")
    return found[0].rstrip() + "\n"


def build(target: Path) -> list[Path]:
    """The source distribution, and the wheel built from it and from nothing else."""
    environment = {**_plain_environment(), "SOURCE_DATE_EPOCH": _date_of_sources()}
    command = [str(UV), "build", "--quiet", "--no-build-isolation", "--python", sys.executable]
    _run([*command, "--out-dir", str(target), str(ROOT)], environment)
    made = sorted([*target.glob("ibi-*.tar.gz"), *target.glob("ibi-*.whl")])
    if len(made) != 2:
        raise ReleaseError(f"one wheel and one source distribution were to be built, and there are {made}")
    return made


def _date_of_sources() -> str:
    if told := os.environ.get("SOURCE_DATE_EPOCH"):
        return told
    git = shutil.which("git")
    asked = [git or "git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False) if git else None
    if found is None or found.returncode:
        raise ReleaseError("git does not tell the date of the sources: set SOURCE_DATE_EPOCH to a count of seconds")
    return found.stdout.strip()


def check_wheel(wheel: Path) -> None:
    """Everything of the package is in the wheel, and nothing beside it but its metadata."""
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "ibi").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if names != wanted:
        raise ReleaseError(f"the wheel lacks {sorted(wanted - names)}, and has {sorted(names - wanted)} too much")


def _plain_environment() -> dict[str, str]:
    """Without what would lead a new environment to the modules or settings of this one."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IBI_", "PYTHON", "VIRTUAL_ENV", "MAKE"))
    }


def _run(command: list[str], environment: Mapping[str, str], place: Path = ROOT) -> str:
    done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def install(wheel: Path, lock: Path, place: Path) -> Path:
    """The command `ibi` in a new environment that has the wheel and what its metadata asks for, as locked. Where the
    lock lacks one of these, or its hash is another, this fails."""
    environment = _plain_environment()
    _run([str(UV), "venv", "--quiet", "--python", sys.executable, str(place)], environment)
    command = [
        str(UV),
        "pip",
        "install",
        "--quiet",
        "--python",
        str(place / "bin" / "python"),
        "--only-binary",
        ":all:",
    ]
    _run([*command, "--require-hashes", "--compile-bytecode", "--requirement", str(lock)], environment)
    _run([*command, "--no-deps", "--compile-bytecode", str(wheel)], environment)
    _run([str(UV), "pip", "check", "--quiet", "--python", str(place / "bin" / "python")], environment)
    return place / "bin" / "ibi"


@contextmanager
def server_up(command: Path, data: Path) -> Iterator[str]:
    """The URL of a server of that command, started on an empty data directory."""
    environment = {**_plain_environment(), "IBI_LOCK_DIR": str(data.parent / "locks")}
    arguments = [str(command), "up", "--port", "0", "--data", str(data), "--log-level", "error"]
    with subprocess.Popen(arguments, env=environment, cwd=data.parent, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            first = server.stdout.readline()
            found = re.search(r"http://\S+", first)
            if found is None:
                raise ReleaseError(f"ibi up did not start: {first}{server.stdout.read()}")
            yield found[0]
        finally:
            server.terminate()
            server.communicate(timeout=_PATIENCE)
    if server.returncode:
        raise ReleaseError(f"ibi up ended with status {server.returncode}")


def try_command(command: Path, place: Path, version: str) -> None:
    """Start a server, deposit an item beside it, and follow its persistent link to the bytes."""
    environment = {**_plain_environment(), "IBI_LOCK_DIR": str(place / "locks")}
    if (told := _run([str(command), "--version"], environment, place).strip()) != f"ibi {version}":
        raise ReleaseError(f"ibi --version says {told!r}, not {version}")
    (place / "paper.txt").write_text("A paper\n", encoding="utf-8")
    data = place / "data"
    with server_up(command, data) as url:
        deposit = [str(command), "deposit", "paper.txt", "--title", "Tried", "--language", "en", "--data", str(data)]
        made = _run(deposit, environment, place)
        link = re.search(r"persistent url\s+(\S+)", made)
        if link is None:
            raise ReleaseError(f"the deposit tells no persistent URL:\n{made}")
        for address, wanted in ((f"{url}/readyz", b""), (f"{url}/", b"<html"), (link[1], b"A paper\n")):
            with urlopen(address, timeout=_PATIENCE) as answer:  # noqa: S310 - loopback, as the server itself told
                if wanted not in answer.read():
                    raise ReleaseError(f"{address} does not answer with {wanted!r}")


def lock_to_run(version: str) -> str:
    """The lock without what only an installation from the sources needs, as `pip install --require-hashes` reads it."""
    packages = list(locked((ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")))
    direct = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    components = bill(packages, version, direct)["components"]
    needed = {component["name"] for component in components if component["scope"] == "required"}
    return "".join(_locked_text(package) for package in packages if package.name in needed)


def _locked_text(package: Package) -> str:
    marker = f" ; {package.marker}" if package.marker else ""
    return (
        " \\\n    ".join(
            [f"{package.name}=={package.version}{marker}", *(f"--hash=sha256:{digest}" for digest in package.hashes)]
        )
        + "\n"
    )


def write_sums(target: Path) -> None:
    lines = [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(target.iterdir()) if path.is_file()
    ]
    (target / SUMS).write_text("".join(lines), encoding="utf-8")


def make_release(target: Path, work: Path) -> None:
    version = package_version()
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    first, again = build(work / "first"), build(work / "again")
    for one, other in zip(first, again, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise ReleaseError(f"{one.name} is not the same when it is built again")
    wheel = next(path for path in first if path.suffix == ".whl")
    check_wheel(wheel)
    lock = work / f"ibi-{version}-requirements.txt"
    lock.write_text(lock_to_run(version), encoding="utf-8")
    command = install(wheel, lock, work / "environment")
    (work / "tried").mkdir()
    try_command(command, work / "tried", version)
    target.mkdir(parents=True, exist_ok=True)
    for stale in [*target.glob("ibi-*"), *target.glob(SUMS)]:
        stale.unlink()
    for path in (*first, lock):
        shutil.copy(path, target)
    (target / f"ibi-{version}-notes.md").write_text(notes, encoding="utf-8")
    write_sums(target)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ibi-dist-") as work:
        try:
            make_release(target, Path(work))
        except ReleaseError as error:
            raise SystemExit(f"no release was made: {error}") from None
    print((target / SUMS).read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
