"""Checks of the confinement of processes that read the files of strangers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.doctor.diagnosis import Diagnosis, ExaminedDirectory, Level
from ibi.items.store.confinement import offered_confinement
from ibi.items.store.text_extraction import MOST_MEMORY, MOST_SECONDS
from ibi.items.store.text_process import MOST_RENDERING

_REMEDY: Final = "Run the server on Linux 5.13 or later, in a container that does not refuse Landlock and seccomp"


def check_extraction(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a kernel that cannot confine the processes that read files of strangers."""
    offered = offered_confinement()
    place = "the text of files, and previews"
    if offered.seccomp:  # it refuses everything that Landlock refuses
        return
    if offered.is_any:
        what = "Landlock keeps the processes that read files from opening, making and removing files and from TCP, but"
        what += (
            " not from asking about files, changing their modes and times, starting processes and sending datagrams:"
        )
        what += " this kernel offers no seccomp"
        yield Diagnosis("extraction", place, what, f"{_REMEDY}.", level=Level.WARNING)
    elif directory.settings.archive.extract_unconfined:
        what = "the processes that read files of strangers may open every file that the server may, and use the network"
        what += ": this kernel offers neither Landlock nor seccomp, and `archive.extract_unconfined` is true"
        yield Diagnosis("extraction", place, what, f"{_REMEDY}.", level=Level.WARNING)
    else:
        what = "they are not made: this kernel offers neither Landlock nor seccomp to confine the process"
        remedy = f"{_REMEDY}; or set `archive.extract_unconfined = true` if you trust all who deposit."
        yield Diagnosis("extraction", place, what, remedy, level=Level.ADVICE)


def describe_extraction() -> str:
    """Return the limits of a process that reads a file, and the missing ones, in one line."""
    offered = offered_confinement()
    landlock = f"Landlock (version {offered.landlock})" if offered.landlock else ""
    holds = [each for each in (landlock, "seccomp" if offered.seccomp else "") if each]
    holds += [
        f"{MOST_MEMORY >> 20} MiB of memory",
        f"{MOST_SECONDS} s of a processor ({MOST_RENDERING} s for Markdown)",
    ]
    lacks = [name for name, is_there in (("Landlock", landlock), ("seccomp", offered.seccomp)) if not is_there]
    without = f"; not: {', '.join(lacks)}" if lacks else ""
    return f"Processes that read the text of files are held by: {', '.join(holds)}{without}."
