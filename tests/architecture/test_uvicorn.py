"""What `ibi.server` relies on inside uvicorn, member by member.

`GuardedProtocol`, `ReadingFlow` and `Server` override parts of classes that uvicorn does not promise to keep, and count
on the order in which those call each other. So the version is capped, and each member is known by a digest of its
source: in another version a test fails under the name of the member that changed, and says where to look here.

To take up another version: read the change of each member that fails, mend what its message names, run the tests of
`tests/unit/web` and `tests/scenarios`, and then enter the new digests and the new cap.
"""

from __future__ import annotations

import ast
import inspect
import re
import signal
import textwrap
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import HANDLED_SIGNALS, ServerState

from ibi.server.connection import ReadingFlow
from ibi.server.protocol import GuardedProtocol
from ibi.server.server import Server
from tests.docs.tables import ROOT

PROTOCOL = "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol"
CYCLE = "uvicorn.protocols.http.httptools_impl.RequestResponseCycle"
FLOW = "uvicorn.protocols.http.flow_control.FlowControl"
UTILS = "uvicorn.protocols.utils"
STATE = "uvicorn.server.ServerState"
SERVER = "uvicorn.server.Server"

RELIED_ON: dict[str, tuple[str, str]] = {
    f"{PROTOCOL}.__init__": (
        "4f08999410347141",
        "GuardedProtocol.__init__: takes the same arguments, and its own attributes have names that are free",
    ),
    f"{PROTOCOL}.connection_made": (
        "6efb565ff3d36b91",
        "GuardedProtocol.connection_made: replaces the flow that is made here, and reads the client",
    ),
    f"{PROTOCOL}.connection_lost": (
        "c91a4c9bf2e29c55",
        "GuardedProtocol.connection_lost: clears the pipeline and the keep-alive timer that may be left",
    ),
    f"{PROTOCOL}.eof_received": ("5652627579a02369", "GuardedProtocol.eof_received: replaces it, without calling it"),
    f"{PROTOCOL}._unset_keepalive_if_required": (
        "00a6a4e47214e68e",
        "GuardedProtocol.connection_lost calls it; claim and _close_if_idle read timeout_keep_alive_task",
    ),
    f"{PROTOCOL}._get_upgrade": ("7b1305aac7b87064", "GuardedProtocol._unsupported_upgrade_warning: when it is called"),
    f"{PROTOCOL}._should_upgrade_to_ws": (
        "d580849b4df878c3",
        'ibi.server.server: with ws="none" nothing is ever upgraded',
    ),
    f"{PROTOCOL}._unsupported_upgrade_warning": (
        "55bbd2762b189d9a",
        "GuardedProtocol._unsupported_upgrade_warning: replaces it, and makes the answer the last one",
    ),
    f"{PROTOCOL}._should_upgrade": (
        "8fcad1ab8e096739",
        "GuardedProtocol._unsupported_upgrade_warning: when it is called",
    ),
    f"{PROTOCOL}.data_received": (
        "010a7ae59a5d3b1a",
        "GuardedProtocol.data_received and _feed: the parser calls on_… in it, an error there becomes a 400",
    ),
    f"{PROTOCOL}.send_400_response": (
        "ae5a4a3782b646fd",
        "GuardedProtocol.send_400_response: called for what the parser or an on_… refuses; _say_400 calls it",
    ),
    f"{PROTOCOL}.on_message_begin": (
        "96d377fdc7c2baef",
        "GuardedProtocol.on_message_begin and _answer_at_once: url, headers and scope are new for each request",
    ),
    f"{PROTOCOL}.on_url": ("37be44e962b04ca8", "GuardedProtocol._answer_at_once: self.url is the whole target, raw"),
    f"{PROTOCOL}.on_header": (
        "65d62c044f61fdbd",
        "GuardedProtocol.on_header: does the same by itself for all but a few names",
    ),
    f"{PROTOCOL}.on_headers_complete": (
        "1ea8589acfad92d8",
        "GuardedProtocol.on_headers_complete and _answer_at_once: fills the same scope, makes the cycle and its task",
    ),
    f"{PROTOCOL}._start_asgi_task": (
        "9c08c2571ae9b038",
        "GuardedProtocol.on_headers_complete: a request that is not answered at once has a task from here on",
    ),
    f"{PROTOCOL}.on_body": (
        "dba9c32aeba35b6a",
        "GuardedProtocol.on_body and _count_waiting: the body waits in cycle.body, and reading pauses",
    ),
    f"{PROTOCOL}.on_message_complete": (
        "1fbad42dc31fc01f",
        "GuardedProtocol.on_message_complete: not called for what was answered at once, which has no cycle",
    ),
    f"{PROTOCOL}.on_response_complete": (
        "64e254f28e389e76",
        "GuardedProtocol.on_response_complete: resumes reading, starts the keep-alive timer, then held requests go on",
    ),
    f"{PROTOCOL}.shutdown": ("d7351fa33f00d430", "GuardedProtocol.shutdown: watches a connection that is closing"),
    f"{PROTOCOL}.pause_writing": ("17a8fd215d96a13c", "GuardedProtocol.pause_writing: the flow is told first"),
    f"{PROTOCOL}.resume_writing": ("7844bbaa8cceb1ef", "GuardedProtocol.resume_writing: the flow is told first"),
    f"{PROTOCOL}.timeout_keep_alive_handler": (
        "8b53bf5f2e202970",
        "GuardedProtocol.timeout_keep_alive_handler: replaces it; _close_if_idle calls it too",
    ),
    f"{CYCLE}.__init__": (
        "4d2f220910c33c12",
        "GuardedProtocol: reads and sets body, more_body, keep_alive, disconnected, response_started and _complete",
    ),
    f"{CYCLE}.run_asgi": (
        "0f33f2449a444bc2",
        "ibi.web.request_middleware: what becomes of an error that reaches the server",
    ),
    f"{CYCLE}.send_500_response": ("37c64da40eedaeaf", "ibi.web.request_middleware: the answer of last resort"),
    f"{CYCLE}.send": (
        "abdd8601b326a8da",
        "GuardedProtocol._is_sent: writes the same bytes; pause_writing: nothing is added while writing is paused",
    ),
    f"{CYCLE}.receive": ("8124ae006be71184", "ReadingFlow.resume_reading: called when the application wants more"),
    f"{FLOW}.__init__": ("0152d94a040758b5", "ReadingFlow: uses _transport, read_paused and write_paused"),
    f"{FLOW}.drain": ("4bda6b61c277ae87", "GuardedProtocol.pause_writing: an answer waits here until it is taken"),
    f"{FLOW}.pause_reading": ("7c27388bb984e9ed", "ReadingFlow.pause_reading: replaces it"),
    f"{FLOW}.resume_reading": ("a0429d30857e8488", "ReadingFlow.resume_reading: replaces it"),
    f"{FLOW}.pause_writing": ("93d4a08a9f2da9d6", "GuardedProtocol._has_to_wait and claim read write_paused"),
    f"{FLOW}.resume_writing": ("a343e8b0baf08901", "GuardedProtocol._has_to_wait and claim read write_paused"),
    f"{UTILS}.get_remote_addr": (
        "5cb127377672c133",
        "GuardedProtocol.connection_made: None for a client that is gone already",
    ),
    f"{STATE}.__init__": (
        "8daf3a9b4e4e4245",
        "GuardedProtocol._answer_at_once and _is_sent: count total_requests, send default_headers",
    ),
    f"{SERVER}.__init__": ("c150b55284f7511e", "ibi.server.server.Server.__init__: its attributes have free names"),
    f"{SERVER}.run": ("239e0133d4307e38", "ibi.server.server.serve: runs until a signal, on uvloop where it is"),
    f"{SERVER}.serve": ("112ef41af52167e3", "Server.capture_signals: is entered around all of it"),
    f"{SERVER}._serve": ("4575b7a50adfede8", "Server.startup, on_tick, shutdown: the order, and when each is called"),
    f"{SERVER}.startup": (
        "2aa1d70a244bfcf2",
        "Server.startup: one server for each socket, self.started only if all went well",
    ),
    f"{SERVER}.main_loop": ("afccb353a119333f", "Server.on_tick: called ten times a second (_TICKS)"),
    f"{SERVER}.on_tick": ("60ea49b06ccf68c1", "Server.on_tick: renews the Date header, tells whether to stop"),
    f"{SERVER}.shutdown": (
        "9b33c50562992b1e",
        "Server.shutdown: closes the sockets it is given, then waits for what is under way",
    ),
    f"{SERVER}._wait_tasks_to_complete": ("17209be1e991445d", "Server.shutdown: what is waited for, and for how long"),
    f"{SERVER}.capture_signals": ("e1bbcd4770d1c887", "Server.capture_signals: replaces it, without raising again"),
    f"{SERVER}.handle_exit": ("553276efa26e09ea", "Server.capture_signals: the handler of every signal"),
}

NOT_USED = {
    f"{PROTOCOL}.handle_websocket_upgrade": "there are no WebSockets",
    f"{SERVER}._log_started_message": "the sockets are given, and nothing is logged",
    f"{SERVER}.limit_max_requests": "there is no such limit",
}

CLASSES = {PROTOCOL: HttpToolsProtocol, CYCLE: RequestResponseCycle, FLOW: FlowControl, STATE: ServerState}
CLASSES[SERVER] = uvicorn.Server


def source_of(name: str) -> str | None:
    owner, _, member = name.rpartition(".")
    found = getattr(CLASSES[owner] if owner in CLASSES else import_module(owner), member, None)
    return None if found is None else inspect.getsource(inspect.unwrap(found))


@pytest.mark.parametrize("member", RELIED_ON)
def test_what_the_server_relies_on_is_as_it_was(member: str) -> None:
    known, where = RELIED_ON[member]
    source = source_of(member)
    assert source is not None, f"uvicorn {version('uvicorn')} has no {member} any more. Look at {where}."
    digest = sha256(source.encode()).hexdigest()[:16]
    assert digest == known, (
        f"{member} is not the one that our server was tested with (uvicorn {version('uvicorn')}, digest {digest})."
        f" Read what changed, and look at {where}."
    )


@pytest.mark.parametrize("owner", CLASSES)
def test_every_member_of_the_classes_is_judged(owner: str) -> None:
    members = {f"{owner}.{name}" for name in vars(CLASSES[owner]) if name == "__init__" or not name.startswith("__")}
    listed = {name for name in (*RELIED_ON, *NOT_USED) if name.startswith(f"{owner}.")}
    assert members - listed == set(), "new in uvicorn: does one of our classes have a member of the same name?"
    assert listed - members == set(), "gone from uvicorn: which of our members were written for it?"


# --- attributes ------------------------------------------------------------------------------------------------------


def attributes(of: type, path: str) -> Iterator[str]:
    """Names that the source of a class looks up on `path`, such as `self.cycle`."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(of)))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == path:
            yield node.attr


def has(of: type, name: str) -> bool:
    return hasattr(of, name) or name in attributes(of, "self")


USED: list[tuple[type, str]] = [
    *((HttpToolsProtocol, name) for name in attributes(GuardedProtocol, "self") if not name.startswith("_")),
    *((RequestResponseCycle, name) for name in attributes(GuardedProtocol, "self.cycle")),
    *((ServerState, name) for name in attributes(GuardedProtocol, "self.server_state")),
    *((FlowControl, name) for name in ("read_paused", "write_paused", "_transport")),
    *((uvicorn.Server, name) for name in ("config", "started", "should_exit", "handle_exit")),
]


OVERRIDDEN = {(HttpToolsProtocol, name) for name in vars(GuardedProtocol)}


@pytest.mark.parametrize(("of", "name"), sorted({*USED} - OVERRIDDEN, key=str))
def test_an_attribute_that_is_used_is_there(of: type, name: str) -> None:
    assert has(of, name), f"uvicorn {version('uvicorn')}: {of.__name__} has no attribute {name} any more"


@pytest.mark.parametrize(
    ("ours", "theirs"), [(GuardedProtocol, HttpToolsProtocol), (ReadingFlow, FlowControl), (Server, uvicorn.Server)]
)
def test_no_name_of_ours_is_taken_by_chance(ours: type, theirs: type) -> None:
    """What our `__init__` sets must not be an attribute of uvicorn's already."""
    (own,) = [node for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(ours)))) if is_init(node)]
    stored = {
        node.attr
        for node in ast.walk(own)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    assert stored
    assert {name for name in stored if has(theirs, name)} == set()


def is_init(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


# --- values, and the cap ---------------------------------------------------------------------------------------------


def test_a_status_line_is_whole() -> None:
    assert STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"
    assert STATUS_LINE[431] == b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    assert set(range(200, 600)) <= STATUS_LINE.keys()


def test_the_signals_are_those_that_stop_a_server() -> None:
    assert {signal.SIGINT, signal.SIGTERM} <= set(HANDLED_SIGNALS)


def test_the_version_is_capped_to_what_was_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (declared,) = [each for each in project["dependencies"] if each.startswith("uvicorn")]
    (locked,) = re.findall(r"^uvicorn==(\d+)\.(\d+)\.", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    major, minor = map(int, locked)
    assert declared == f"uvicorn>={major}.{minor},<{major}.{minor + 1}"
