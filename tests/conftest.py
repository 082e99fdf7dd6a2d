"""How every test here is run: the same examples each time, or many more of them (`make soak`).

Tests leave `max_examples` to the profile, so that a soak multiplies them all.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_EXAMPLES = 100
_SOAK_FACTOR = 100

settings.register_profile("default", derandomize=True, deadline=None, max_examples=_EXAMPLES, print_blob=True)
settings.register_profile(
    "soak",
    derandomize=False,
    deadline=None,
    max_examples=_EXAMPLES * _SOAK_FACTOR,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")

# A shell that runs these in the background has them ignore Ctrl-C, and so would every server that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have tests that share a fixture of their module run in one process, where it is made once: it may be a server."""
    for item in items:
        definitions = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
        if any(each.scope == "module" for defined in definitions.values() for each in defined):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session", autouse=True)
def _working_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run all tests where the default data directory is a trap: one that reads it by mistake is refused by name.

    The path has a space in it, because the path of a clone may have one. A test that needs a working directory of its
    own changes to its `tmp_path`.
    """
    place = tmp_path_factory.mktemp("working directory")
    (place / "ibi-data").mkdir()
    (place / "ibi-data" / "ibi.toml").write_text('a_test_depends_on_the_working_directory = "use tmp_path"\n')
    before = Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(before)


@pytest.fixture(autouse=True)
def _working_directory_is_left_alone(_working_directory: Path) -> Iterator[None]:
    """Fail the test that wrote into the working directory, or left it for another."""
    yield
    where, found = Path.cwd(), sorted(path.name for path in _working_directory.iterdir())
    os.chdir(_working_directory)
    for name in set(found) - {"ibi-data"}:  # so that the next test is not blamed for it
        _remove(_working_directory / name)
    assert where == _working_directory, "the test changed the working directory for the tests after it"
    assert found == ["ibi-data"], "the test wrote into the working directory: use tmp_path"


@pytest.fixture(autouse=True)
def _umask_is_put_back() -> Iterator[None]:
    """Give every test the umask most systems have: a command run in this process narrows it for the process."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
