"""Connections, and the fast path of what is answered while a request is read.

Two ways lead to some answers: the fast path, without a task and without the framework, and the application. What
exists twice:

- a redirect of the resolver: `PersistentUrlApp.at_once` and its `__call__`;
- an answer of the Archive to a resolver: `ArchiveService.at_once` and its `__call__`;
- the headers of every answer: `fast_path.Head` and `ibi.web.http.request_middleware`;
- counting: `FastPath` and `ibi.web.http.request_middleware`.

`tests/unit/web/fast/test_fast_path.py` sends each kind of request by both ways to one server and compares the
answers byte for byte. A resolution that was begun on the fast path and has to wait is carried on by the application
(`Handover`).

`fast_path.Dispatcher` chooses the endpoint, for both ways alike. `connection`, `connection_bounds` and `protocol` read
and write within bounds; `server` runs them, with what is done beside requests.
"""
