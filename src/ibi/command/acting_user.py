"""The user that a command acts as: the owner of the data directory.

If another user left a file in a data directory, its server could not open that file. So root becomes the owner before
anything in the directory is made or changed. Every other user may only read.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from ibi.standard.errors import IbiError

_ROOT: Final = 0
_became: list[str] = []
"""The owner that root has become in this process, and the data directory of that owner."""


class NotTheOwner(IbiError):
    """{data} belongs to {owner}, and this command works in it as that user alone. Run it as {owner} (`sudo -u {owner}
    ibi …`) or as root, or ask the server that runs on it (--server)."""

    code = "not-the-owner"


class OwnerLockedOut(IbiError):
    """{place} cannot be read by {owner}, to whom {data} belongs and as whom this command therefore acts. Let that user
    through all directories on the way (chmod o+x), or give the data directory to another user (chown -R)."""

    code = "owner-locked-out"


def act_as_owner(data: Path, *, reading: bool = False) -> None:
    """Become the owner of the data directory if this process is root's.

    Raise `NotTheOwner` for any other user, unless the command is only `reading`. A missing directory will belong to the
    user who makes it.
    """
    try:
        found = data.stat()
    except OSError:
        return  # the next step on the directory reports the reason
    user = os.geteuid()
    if found.st_uid == user or (user != _ROOT and reading):
        return
    owner = _name_of(found.st_uid)
    if user != _ROOT or not (_become(found) or reading):
        raise NotTheOwner(data=data, owner=owner)
    _became[:] = owner, str(data)
    # Modules not imported yet must be readable too: they may lie in root's home.
    for place in (data, Path(__file__).parent, Path(os.__file__).parent):
        if not os.access(place, os.R_OK | os.X_OK):
            raise OwnerLockedOut(place=place, data=data, owner=owner)


def _become(found: os.stat_result) -> bool:
    """Become that user; return whether the system allows it. Root of a container may lack the right."""
    import pwd

    try:
        entry = pwd.getpwuid(found.st_uid)
    except KeyError:
        group, groups = found.st_gid, [found.st_gid]
    else:
        group, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
    try:
        os.setgroups(groups)
        os.setgid(group)
        os.setuid(found.st_uid)
    except PermissionError:
        return False
    return True


def with_acting_user(message: str) -> str:
    """Return the message of a refusal, with the acting user if another user gave the command."""
    if not _became or os.strerror(errno.EACCES) not in message:
        return message
    owner, data = _became
    return f"{message} (the command acts as {owner}, to whom {data} belongs: that user has to be allowed to)"


def user_name() -> str:
    """Return the name of the user who gave the command, from the environment, or else from the process."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the system knows no such user
        return _name_of(os.geteuid())


def _name_of(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"  # the form that sudo accepts
