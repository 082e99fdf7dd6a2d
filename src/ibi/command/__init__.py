"""The command `ibi`: it parses arguments, calls services that the `opening` of a capability builds, and prints results.

It has no logic of its own.
"""

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
        # The reader has closed the pipe (`ibi mint -n 1000 | head`). Python must not complain when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    import click

    from ibi.command.root import app
    from ibi.standard.errors import IbiError

    try:
        return int(app(arguments, prog_name="ibi", standalone_mode=False) or 0)
    except click.Abort:
        return 130
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except IbiError as error:
        return _complain(str(error), error.kind.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _complain(_of_the_system(error), 1)
    except Exception as error:
        if os.environ.get("IBI_LOG_LEVEL") == "debug":
            raise
        hint = "IBI_LOG_LEVEL=debug shows where"
        return _complain(f"something unforeseen happened ({type(error).__name__}: {error}); {hint}", 1)


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _complain(message: str, code: int) -> int:
    from ibi.command.acting_user import with_acting_user
    from ibi.standard.safe_text import printable

    line = " ".join(printable(with_acting_user(message)).split())
    print(f"ibi: {line}", file=sys.stderr)
    return code
