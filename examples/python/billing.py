#!/usr/bin/env python3
"""A plugin server for oz0 on the Python MCP SDK 2.x, as oz0-plugin(7) asks.

What to look at:
  charge      a write that keeps its idempotency key with what it did
  set_status  the same, where the same arguments come back later on purpose
  wait        an async function: a cancel stops it where it awaits
  reindex     a synchronous function: a cancel does not stop it
  search      progress, and a retry that resumes (as a remote server only)

  billing.py                on stdin and stdout, as a plugin of the node
  billing.py --http PORT    as a remote server, on 127.0.0.1

State is one SQLite file, billing.db, in the working directory (in the node's
sandbox that is /state, which is kept) or where BILLING_DB says.
"""
import argparse
import contextlib
import os
import sqlite3
import threading
import time

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (CallToolResult, ProgressNotification,
                       ProgressNotificationParams, TextContent,
                       ToolAnnotations)

server = MCPServer("billing", version="1.0.0")

SCHEMA = """
CREATE TABLE IF NOT EXISTS charges (
    id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS orders (
    order_id TEXT PRIMARY KEY, status TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS done (
    key TEXT PRIMARY KEY, answer TEXT NOT NULL);
"""

WRITES_ONCE = ToolAnnotations(read_only_hint=False, destructive_hint=False,
                              idempotent_hint=True, open_world_hint=False)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
HONOURS_KEY = {"oz0/idempotency_key": True}


@contextlib.contextmanager
def transaction():
    """All of it or nothing, also when the process is killed in the middle."""
    db = sqlite3.connect(os.environ.get("BILLING_DB", "billing.db"),
                         timeout=10, isolation_level=None)
    try:
        db.executescript(SCHEMA)
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    finally:
        db.close()  # rolls back what was not committed


def meta_of(ctx: Context) -> dict:
    return dict(ctx.request_context.meta or {})


def once(ctx: Context, act) -> str:
    """Does act(db) under the call's key, or says what it answered before.

    The key and the effect are one transaction: there is no moment at which
    one is kept and the other is not.
    """
    key = meta_of(ctx).get("oz0/idempotency_key")
    with transaction() as db:
        if key is not None:
            row = db.execute("SELECT answer FROM done WHERE key = ?",
                             (key,)).fetchone()
            if row is not None:
                return row[0]
        answer = act(db)
        if key is not None:
            db.execute("INSERT INTO done VALUES (?, ?)", (key, answer))
        return answer


class Busy(Exception):
    """The service behind has no room; wait: seconds, or None."""

    def __init__(self, wait: float | None):
        super().__init__(wait)
        self.wait = wait


class Quota:
    """The limit of the service behind: so many charges, then a pause."""

    def __init__(self, burst: int, pause: float):
        self.burst, self.pause = burst, pause
        self.used, self.since = 0, 0.0
        self.lock = threading.Lock()

    def take(self) -> None:
        """Goes on, or raises Busy with what the service asks to wait."""
        with self.lock:
            now = time.monotonic()
            if now - self.since >= self.pause:
                self.used, self.since = 0, now
            if self.used < self.burst:
                self.used += 1
                return
            raise Busy(self.since + self.pause - now)


quota = Quota(int(os.environ.get("BILLING_BURST", "5")),
              float(os.environ.get("BILLING_PAUSE", "1")))


def busy(retry_after: float | None) -> CallToolResult:
    """What the node reads as: nothing was made, try again then."""
    meta = {"oz0/retryable": True}
    if retry_after is not None:
        meta["oz0/retry_after"] = retry_after
    return CallToolResult(
        content=[TextContent(type="text", text="The billing API is busy "
                             "(429); try again later (retryable)")],
        is_error=True,
        _meta=meta,
    )


def said(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


@server.tool(annotations=WRITES_ONCE, meta=HONOURS_KEY)
def charge(order_id: str, amount: int, ctx: Context) -> CallToolResult:
    """Charge an order, in cents."""
    def act(db) -> str:
        # Only for a key that is new: busy says that nothing was made.
        quota.take()
        db.execute("INSERT INTO charges (order_id, amount) VALUES (?, ?)",
                   (order_id, amount))
        return f"charged {amount} for {order_id}"

    try:
        return said(once(ctx, act))
    except Busy as e:
        return busy(e.wait)  # no retry in here: the node's is the only one


@server.tool(annotations=WRITES_ONCE, meta=HONOURS_KEY)
def set_status(order_id: str, status: str, ctx: Context) -> str:
    """Set the status of an order."""
    def act(db) -> str:
        db.execute("INSERT INTO orders VALUES (?, ?) ON CONFLICT (order_id) "
                   "DO UPDATE SET status = excluded.status",
                   (order_id, status))
        return f"{order_id} is {status}"

    return once(ctx, act)


@server.tool(annotations=READS)
def charges(ctx: Context) -> dict[str, list]:
    """Every charge made, and the status of every order."""
    with transaction() as db:
        return {
            "charges": [list(r) for r in db.execute(
                "SELECT order_id, amount FROM charges ORDER BY id")],
            "orders": [list(r) for r in db.execute(
                "SELECT order_id, status FROM orders ORDER BY order_id")],
        }


@server.tool(annotations=READS)
async def wait(seconds: float) -> str:
    """Wait some seconds; a cancel ends it at once."""
    await anyio.sleep(seconds)
    return f"waited {seconds:g} s"


@server.tool(annotations=READS)
def reindex(seconds: float) -> str:
    """Work some seconds without awaiting: no cancel can stop it."""
    time.sleep(seconds)
    return f"reindexed in {seconds:g} s"


async def report(ctx: Context, progress: float, total: float,
                 token: str) -> None:
    """Progress with a resume token, which ctx.report_progress() cannot take.

    meta has the SDK's own spelling of the one key it knows: progress_token.
    """
    progress_token = meta_of(ctx).get("progress_token")
    if progress_token is None:
        return
    await ctx.request_context.session.send_notification(
        ProgressNotification(params=ProgressNotificationParams(
            progress_token=progress_token, progress=progress, total=total,
            _meta={"oz0/resume": token})),
        related_request_id=ctx.request_id)


SHELVES = ["2023", "2024", "2025", "2026"]


@server.tool(annotations=READS, meta={"oz0/resume": True})
async def search(q: str, ctx: Context, pause: float = 0.0) -> str:
    """Search the invoices, a year at a time."""
    # Where an attempt before this one got to; the node sends it to a remote
    # server only.  A token that is not ours starts over.
    token = (meta_of(ctx).get("oz0/resume") or {}).get("token")
    year = token.removeprefix("after-") if token else None
    first = SHELVES.index(year) + 1 if year in SHELVES else 0
    for i in range(first, len(SHELVES)):
        await anyio.sleep(pause)
        await report(ctx, i + 1, len(SHELVES), f"after-{SHELVES[i]}")
    return f"searched {', '.join(SHELVES[first:])} for {q}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--http", type=int, metavar="PORT")
    args = parser.parse_args()
    if args.http is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=args.http)


if __name__ == "__main__":
    main()
