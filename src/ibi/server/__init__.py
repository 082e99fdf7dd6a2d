"""Connections, and the fast path: answers that are given while a request is read.

Two ways lead to some answers: the fast path, without a task and without the framework, and the application. These parts
exist twice:

- a redirect of the resolver: `PersistentUrlApp.at_once` and its `__call__`;
- an answer of the Archive to a resolver: `ArchiveService.at_once` and its `__call__`;
- the headers of every answer: `fast_path.Head` and `ibi.web.request_middleware`;
- counting: `FastPath` and `ibi.web.request_middleware`.

`tests/unit/server/test_fast_path.py` sends each kind of request by both ways to one server and compares the answers
byte for byte. If a resolution has to wait, the fast path begins it and the application continues it (`Handover`).

`fast_path.Dispatcher` chooses the endpoint for both ways. `connection`, `connection_bounds` and `protocol` read and
write within bounds. `server` runs them, with the regular tasks of a process.
"""
