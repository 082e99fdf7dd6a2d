"""`[notify]`: whether claims are exchanged with other Archives. Read at run time, as `settings` is.

Short: a section of its own, because all sections together would be too long for one module.
"""

from dataclasses import dataclass
from typing import Annotated

from ibi.config.declaration import Setting
from ibi.config.kinds import Boolean, Networks


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """`[notify]`: notifications between this Archive and others."""

    inbox: Annotated[
        Boolean,
        Setting(
            "Whether items here tell other Archives of the claims they make there, and other Archives and services may"
            " tell this one of theirs (`/inbox`, COAR Notify).",
            default="true",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks in which other Archives and services may be asked and told of claims, though they are not public;"
            " a sandbox always asks those of its own machine."
        ),
    ]
