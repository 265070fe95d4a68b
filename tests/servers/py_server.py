"""A server on the Python SDK 2.x, both eras, for the system tests."""
import asyncio
import os
import time

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer('oz0-py-test')


def note(word):
    path = os.environ.get('OZ0_TEST_LEDGER')
    if path:
        with open(path, 'a') as f:
            f.write(word + '\n')


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def key(ctx: Context) -> str:
    """The key this call came with."""
    return (ctx.request_context.meta or {}).get('oz0/idempotency_key', 'none')


@server.tool()
async def nap(seconds: float) -> str:
    """Sleeps where a cancel ends it."""
    note('nap begins')
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note('nap cancelled')
        raise
    return 'rested'


@server.tool()
def block(seconds: float) -> str:
    """Sleeps where no cancel reaches it."""
    note('block begins')
    time.sleep(seconds)
    note('block done')
    return 'blocked'


server.run()
