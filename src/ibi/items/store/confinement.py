"""Take files, network and new processes away from the calling process, for good (Linux).

Landlock refuses file access and TCP. Seccomp refuses every system call except those that work on open descriptors.
Resource limits would not stop root from forking, so seccomp refuses that as well. The module calls the C library
directly, so that no package has to be installed for it.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP, _FILTER_MODE = 22, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""System calls of Landlock, with the same numbers on every architecture."""
_ASK_VERSION: Final = 1

_FILE_RIGHTS: Final = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 5: 0xFFFF}
"""Rights by the Landlock version that added the last of them. The kernel rejects rights that it does not know."""
_TCP_SINCE, _TCP_RIGHTS = 4, 0x3
_SCOPES_SINCE, _SCOPES = 6, 0x3
"""Connections to the abstract Unix sockets of other processes, and signals to them."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """The confinement of a process, in force or available."""

    landlock: int
    """Version of Landlock; 0 if there is none."""
    seccomp: bool

    @property
    def is_any(self) -> bool:
        return self.seccomp or self.landlock > 0

    @property
    def is_whole(self) -> bool:
        return self.seccomp and self.landlock > 0


NOTHING: Final = Confinement(0, seccomp=False)


def offered_confinement() -> Confinement:
    """Return the confinement that the kernel offers. Nothing is changed."""
    if sys.platform != "linux":
        return NOTHING
    library = ctypes.CDLL(None, use_errno=True)
    version = max(library.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION), 0)
    # Without a filter nothing is set: a kernel with seccomp filters reports that it cannot read this one.
    library.prctl(_SET_SECCOMP, _FILTER_MODE, None, 0, 0)
    knows_filters = ctypes.get_errno() == errno.EFAULT
    return Confinement(version, seccomp=knows_filters and platform.machine() in _ARCHITECTURES)


def confine_process() -> Confinement:
    """Confine this process, which must have one thread, as far as the kernel can. Return the confinement now in force.
    Open files stay open; modules that are not yet imported cannot be imported any more."""
    offered = offered_confinement()
    if not offered.is_any:
        return NOTHING
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return NOTHING
    held_by_landlock = offered.landlock > 0 and _refuse_files(library, offered.landlock)
    held_by_seccomp = offered.seccomp and install_filter(library, allowing_filter(platform.machine()))
    return Confinement(offered.landlock if held_by_landlock else 0, held_by_seccomp)


def _refuse_files(library: ctypes.CDLL, version: int) -> bool:
    files = next(rights for since, rights in sorted(_FILE_RIGHTS.items(), reverse=True) if since <= version)
    attributes = struct.pack("<Q", files)
    if version >= _TCP_SINCE:
        attributes += struct.pack("<Q", _TCP_RIGHTS)
    if version >= _SCOPES_SINCE:
        attributes += struct.pack("<Q", _SCOPES)
    rules = library.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    return bool(rules >= 0 and library.syscall(_RESTRICT_SELF, rules, 0) == 0)


# Classic BPF over `struct seccomp_data`: the number of the call, the architecture, the address, six arguments.
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_KILL: Final = 0x8000_0000
_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000 | errno.EPERM

_X86_64, _AARCH64 = 0, 1
_ARCHITECTURES: Final = {"x86_64": (_X86_64, 0xC000_003E), "aarch64": (_AARCH64, 0xC000_00B7)}
_ALLOWED: Final = {
    "read": (0, 63),
    "pread64": (17, 67),
    "lseek": (8, 62),
    "close": (3, 57),
    "fstat": (5, 80),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "futex": (202, 98),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "clock_gettime": (228, 113),
    "gettimeofday": (96, 169),
    "getrandom": (318, 278),
    "sysinfo": (99, 179),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
"""System calls that only reach open descriptors, by their numbers on either architecture."""
_WRITE: Final = (1, 64)
_Step = tuple[int, int, int, int]


def allowing_filter(machine: str) -> list[_Step]:
    """Return the filter for an architecture. It refuses every unlisted call with EPERM, and allows writing only to
    standard output and standard error.

    `newfstatat`, by which newer C libraries query a descriptor, is refused entirely. A filter cannot read its path, and
    Landlock does not stop a process from querying files.
    """
    column, architecture = _ARCHITECTURES[machine]
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *(step for numbers in _ALLOWED.values() for step in _allow(numbers[column])),
        (_EQUAL, 0, 4, _WRITE[column]),
        (_LOAD, 0, 0, _ARGUMENTS),
        (_EQUAL, 1, 0, 1),
        (_EQUAL, 0, 1, 2),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]


def _allow(number: int) -> Iterator[_Step]:
    yield _EQUAL, 0, 1, number
    yield _RETURN, 0, 0, _ALLOW


def install_filter(library: ctypes.CDLL, steps: list[_Step]) -> bool:
    """Install the filter, which the kernel applies to every system call from now on."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    described = struct.pack("@HxxxxxxQ", len(steps), ctypes.addressof(program))
    return bool(library.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(described), 0, 0) == 0)
