"""The command `ibi`: the composition root. It builds everything from settings and owns no logic."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit: 0 done, 1 refused or failed (one line on stderr says why), 2 wrong usage."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (`ibi mint -n 1000 | head`). Python must not complain when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    import typer

    from ibi.cli.app import app
    from ibi.errors import IbiError

    try:
        return int(app(arguments, prog_name="ibi", standalone_mode=False) or 0)
    except typer.Abort:
        return 130
    except typer.TyperException as error:
        return _complain(error.format_message() if hasattr(error, "format_message") else str(error), 2)
    except IbiError as error:
        return _complain(str(error), 1)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        return _complain(_of_the_system(error), 1)


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    print(f"ibi: {line}", file=sys.stderr)
    return code
