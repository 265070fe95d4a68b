#!/usr/bin/env node
// A plugin server for oz0 on the MCP TypeScript SDK v2, as oz0-plugin(7) asks.
// The Python one beside it does the same; see there what to look at.
//
//   billing.mjs                on stdin and stdout, as a plugin of the node
//   billing.mjs --http PORT    as a remote server, on 127.0.0.1
//
// State is a journal, billing.db, in the working directory (in the node's
// sandbox that is /state, which is kept) or where BILLING_DB says: one line
// for each thing done, with its key, on disk before it is answered.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync,
  writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const path = process.env.BILLING_DB ?? 'billing.db';

// What was done.  A line that a killed server left half was never answered:
// it is not there.
class Journal {
  done = new Map(); // key -> answer
  charges = [];
  orders = new Map();

  constructor() {
    let text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    for (const line of text.split('\n')) {
      try {
        this.#take(JSON.parse(line));
      } catch { /* half a line, or the empty one at the end */ }
    }
    this.fd = openSync(path, 'a');
    if (text !== '' && !text.endsWith('\n')) writeSync(this.fd, '\n');
  }

  #take({ key, answer, charge, order }) {
    if (charge) this.charges.push(charge);
    if (order) this.orders.set(...order);
    if (key !== undefined) this.done.set(key, answer);
  }

  // The effect and its key are one line: neither is kept without the other.
  once(key, act) {
    if (key !== undefined && this.done.has(key)) return this.done.get(key);
    const entry = act();
    const line = { key, ...entry };
    writeSync(this.fd, JSON.stringify(line) + '\n');
    fsyncSync(this.fd);
    this.#take(line);
    return entry.answer;
  }

  close() {
    closeSync(this.fd);
  }
}

class Busy extends Error {
  constructor(wait) {
    super('busy');
    this.wait = wait;
  }
}

// The limit of the service behind: so many charges, then a pause.
class Quota {
  constructor(burst, pause) {
    Object.assign(this, { burst, pause, used: 0, since: -Infinity });
  }

  // Goes on, or throws Busy with the seconds that the service asks to wait.
  take() {
    const now = performance.now() / 1000;
    if (now - this.since >= this.pause) {
      this.used = 0;
      this.since = now;
    }
    if (this.used++ >= this.burst) throw new Busy(this.since + this.pause - now);
  }
}

const journal = new Journal();
const quota = new Quota(Number(process.env.BILLING_BURST ?? 5),
  Number(process.env.BILLING_PAUSE ?? 1));

const said = text => ({ content: [{ type: 'text', text }] });
const keyOf = ctx => ctx.mcpReq._meta?.['oz0/idempotency_key'];

// What the node reads as: nothing was made, try again then.  It must be
// returned: a thrown error carries no _meta.
const busy = retryAfter => ({
  ...said('The billing API is busy (429); try again later (retryable)'),
  isError: true,
  _meta: {
    'oz0/retryable': true,
    ...(retryAfter === undefined ? {} : { 'oz0/retry_after': retryAfter }),
  },
});

const writesOnce = {
  annotations: { readOnlyHint: false, destructiveHint: false,
    idempotentHint: true, openWorldHint: false },
  _meta: { 'oz0/idempotency_key': true },
};
const reads = { annotations: { readOnlyHint: true, openWorldHint: false } };
const shelves = ['2023', '2024', '2025', '2026'];

const build = () => {
  const server = new McpServer({ name: 'billing', version: '1.0.0' });

  server.registerTool('charge', {
    description: 'Charge an order, in cents.',
    inputSchema: z.object({ order_id: z.string(), amount: z.int() }),
    ...writesOnce,
  }, async ({ order_id, amount }, ctx) => {
    try {
      return said(journal.once(keyOf(ctx), () => {
        // Only for a key that is new: busy says that nothing was made.
        quota.take();
        return { charge: [order_id, amount],
          answer: `charged ${amount} for ${order_id}` };
      }));
    } catch (e) {
      // No retry in here: the node's is the only one.
      if (e instanceof Busy) return busy(e.wait);
      throw e;
    }
  });

  server.registerTool('set_status', {
    description: 'Set the status of an order.',
    inputSchema: z.object({ order_id: z.string(), status: z.string() }),
    ...writesOnce,
  }, async ({ order_id, status }, ctx) => said(journal.once(keyOf(ctx), () => ({
    order: [order_id, status], answer: `${order_id} is ${status}`,
  }))));

  server.registerTool('charges', {
    description: 'Every charge made, and the status of every order.',
    ...reads,
  }, async () => {
    const all = { charges: journal.charges,
      orders: [...journal.orders].sort() };
    return { ...said(JSON.stringify(all)), structuredContent: all };
  });

  server.registerTool('wait', {
    description: 'Wait some seconds; a cancel ends it at once.',
    inputSchema: z.object({ seconds: z.number().min(0) }),
    ...reads,
  }, async ({ seconds }, ctx) => {
    await sleep(seconds * 1000, undefined, { signal: ctx.mcpReq.signal });
    return said(`waited ${seconds} s`);
  });

  server.registerTool('reindex', {
    description: 'Work some seconds without awaiting: no cancel can stop it.',
    inputSchema: z.object({ seconds: z.number().min(0) }),
    ...reads,
  }, async ({ seconds }) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0,
      seconds * 1000);
    return said(`reindexed in ${seconds} s`);
  });

  server.registerTool('search', {
    description: 'Search the invoices, a year at a time.',
    inputSchema: z.object({ q: z.string(),
      pause: z.number().min(0).default(0) }),
    ...reads,
    _meta: { 'oz0/resume': true },
  }, async ({ q, pause }, ctx) => {
    const meta = ctx.mcpReq._meta ?? {};
    // Where an attempt before this one got to; the node sends it to a remote
    // server only.  A token that is not ours starts over.
    const token = String(meta['oz0/resume']?.token ?? '');
    const first = shelves.indexOf(token.replace(/^after-/, '')) + 1;
    for (let i = first; i < shelves.length; i++) {
      await sleep(pause * 1000, undefined, { signal: ctx.mcpReq.signal });
      if (meta.progressToken === undefined) continue;
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: {
        progressToken: meta.progressToken, progress: i + 1,
        total: shelves.length,
        _meta: { 'oz0/resume': `after-${shelves[i]}` },
      } });
    }
    return said(`searched ${shelves.slice(first).join(', ')} for ${q}`);
  });

  return server;
};

const at = process.argv.indexOf('--http');
if (at < 0) {
  serveStdio(build);
} else {
  const { createServer } = await import('node:http');
  const { toNodeHandler } = await import('@modelcontextprotocol/node');
  const handler = toNodeHandler(createMcpHandler(build));
  createServer(handler).listen(Number(process.argv[at + 1]), '127.0.0.1');
}
process.on('exit', () => journal.close());
