"""What a refusal of the disk advises: room, where that is what is missing, and a look at the path otherwise."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals


@pytest.mark.parametrize(
    ("number", "is_full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False), (errno.ENOTDIR, False), (errno.EROFS, False)],
)
def test_space_is_to_be_freed_only_where_there_is_none(number: int, *, is_full: bool) -> None:
    with pytest.raises(DiskRefused) as refused, refusals(DiskRefused, Path("/data/x")):
        raise OSError(number, os.strerror(number))
    assert ("Free some space" in str(refused.value)) is is_full
    assert ("See whether the path is right" in str(refused.value)) is not is_full
    assert f"/data/x could not be written: {os.strerror(number)}" in str(refused.value)
