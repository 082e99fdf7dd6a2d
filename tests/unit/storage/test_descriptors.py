"""Descriptors: how many connections may take, and what is said when none is left."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ibi.storage.errors import TooManyOpenFiles
from ibi.storage.machine import (
    is_exhaustion,
    most_connections,
    pending_connections,
    raise_if_exhausted,
)

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("limit", [16, 64, 256, 1024, 4096, 20_000, 1 << 20])
def test_connections_with_a_file_each_leave_something_for_the_rest(limit: int) -> None:
    connections = most_connections(limit)
    assert connections >= 1
    assert 2 * connections <= max(2, limit - min(max(64, limit // 4), 4096))
    assert pending_connections(limit) >= 16


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_running_out_is_told_apart_from_everything_else(number: int) -> None:
    with pytest.raises(TooManyOpenFiles) as refusal:
        raise_if_exhausted(OSError(number, os.strerror(number)))
    assert "too many files open" in str(refusal.value)
    assert is_exhaustion(OSError(number, ""))


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, ""), OSError(0, ""), ValueError("x")])
def test_other_errors_are_left_to_those_who_know_them(error: Exception) -> None:
    raise_if_exhausted(error)
    assert not is_exhaustion(error)


PROGRAM = """
import json, os, resource, sys
from ibi.standard.instant import Instant
from ibi.items.model.content import Bytes, Change
from ibi.storage.machine import are_exhausted, raise_limit
from ibi.standard.storage_errors import StorageError
from ibi.items.store.ocfl.store import OcflStore
from ibi.people.store.tokens import SqliteTokens
from pathlib import Path

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
limits = raise_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
place = Path(sys.argv[1])
store, name = OcflStore(place / "content"), "sid.inpe.br/mtc-m18/2026/01.02.03.04"
store.create(name, {"doc/a": Bytes(b"a")}, Change("test", "deposit", Instant(1_800_000_000)))
before, taken = are_exhausted(), []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
said = []
for left in range(6):  # whichever of the files on the way cannot be opened
    try:
        store.open(name, "doc/a").close()
        said.append("opened")
    except Exception as error:
        said.append(getattr(error, "code", repr(error)))
    if left == 0:
        now = are_exhausted()
        try:
            SqliteTokens(place / "tokens")
            database = "opened"
        except StorageError as error:
            database = error.code
    os.close(taken.pop())
print(json.dumps({"limits": limits, "before": before, "now": now, "said": said, "database": database}))
"""


def test_a_file_that_cannot_be_opened_for_want_of_descriptors_is_not_damaged(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["limits"] == [128, 128]
    assert (told["before"], told["now"]) == (False, True)
    assert told["said"][0] == "too-many-open-files"
    assert set(told["said"]) <= {"too-many-open-files", "opened"}
    assert told["said"][-1] == "opened"
    assert told["database"] == "too-many-open-files"
