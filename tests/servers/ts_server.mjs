// A server on the TypeScript SDK v2 for the system tests: both eras, stdio.
// Run from a folder whose node_modules has what package.json beside it names.
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { appendFileSync } from 'node:fs';

const note = s => { if (process.env.OZ0_TSLOG) appendFileSync(process.env.OZ0_TSLOG, JSON.stringify(s) + '\n'); };
const seen = new Map(); // idempotency key -> result, process-wide

const build = ctx0 => {
  const server = new McpServer({ name: 'oz0-ts-test', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, logging: {} }, instructions: 'bench server' });

  server.registerTool('read_thing', {
    description: 'read-only', inputSchema: z.object({ path: z.string() }),
    annotations: { readOnlyHint: true, openWorldHint: false }
  }, async ({ path }, ctx) => {
    note({ tool: 'read_thing', meta: ctx.mcpReq._meta, envelope: ctx.mcpReq.envelope, id: ctx.mcpReq.id });
    return { content: [{ type: 'text', text: 'contents of ' + path }], structuredContent: { path, era: ctx0?.era ?? 'unknown' },
      _meta: { echoed: ctx.mcpReq._meta ?? null, idType: typeof ctx.mcpReq.id } };
  });

  server.registerTool('write_once', {
    description: 'a write made once per oz0/idempotency_key', inputSchema: z.object({ value: z.number() }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    _meta: { 'oz0/idempotency_key': true }
  }, async ({ value }, ctx) => {
    const key = ctx.mcpReq._meta?.['oz0/idempotency_key'];
    note({ tool: 'write_once', key, value });
    if (key && seen.has(key)) return seen.get(key);
    const r = { content: [{ type: 'text', text: `wrote ${value} (negzero ${Object.is(value, -0)})` }] };
    if (key) seen.set(key, r);
    return r;
  });

  server.registerTool('fail', {
    description: 'busy result, or a thrown error', inputSchema: z.object({ how: z.enum(['result', 'throw']) })
  }, async ({ how }, ctx) => {
    if (how === 'throw') throw new Error('boom');
    return { isError: true, content: [{ type: 'text', text: 'failed on purpose' }],
      _meta: { 'oz0/retryable': true, 'oz0/retry_after': 0.25 } };
  });

  server.registerTool('slow', {
    description: 'n steps of ms each; cancellable; progress carries a resume token', inputSchema: z.object({ steps: z.number().int(), ms: z.number().int() }),
    annotations: { readOnlyHint: true }, _meta: { 'oz0/resume': true }
  }, async ({ steps, ms }, ctx) => {
    const tok = ctx.mcpReq._meta?.progressToken;
    const from = Number((ctx.mcpReq._meta?.['oz0/resume']?.token ?? 'step-0').slice(5)) || 0;
    ctx.mcpReq.signal.addEventListener('abort', () => note({ tool: 'slow', aborted: String(ctx.mcpReq.signal.reason) }));
    for (let i = from + 1; i <= steps; i++) {
      await new Promise(r => setTimeout(r, ms));
      if (ctx.mcpReq.signal.aborted) { note({ tool: 'slow', stopped_at: i }); break; }
      if (tok !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress',
        params: { progressToken: tok, progress: i, total: steps, message: `step ${i}`, _meta: { 'oz0/resume': `step-${i}` } } });
    }
    return { content: [{ type: 'text', text: `slow done, from ${from}` }] };
  });

  server.registerTool('spin', {
    description: 'blocks the event loop (uncancellable)', inputSchema: z.object({ ms: z.number().int() })
  }, async ({ ms }) => {
    const end = Date.now() + ms; while (Date.now() < end);
    return { content: [{ type: 'text', text: 'spun' }] };
  });
  return server;
};

const i = process.argv.indexOf('--http');
if (i < 0) { serveStdio(build); console.error('oz0-ts-test on stdio'); }
else {
  const { createServer } = await import('node:http');
  const { toNodeHandler } = await import('@modelcontextprotocol/node');
  const h = createMcpHandler(build);
  const node = toNodeHandler(h);
  createServer((q, s) => node(q, s)).listen(+process.argv[i + 1], '127.0.0.1', () => console.error('oz0-ts-test http ready'));
}
