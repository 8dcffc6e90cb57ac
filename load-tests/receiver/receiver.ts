import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceiverServer {
  port: number;
  stop(): Promise<void>;
}

const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** The most marks of deliveries that no client has asked for; the oldest go first. */
const MARKS_MAX = 100_000;
const WAIT_MS_MAX = 60_000;
/** The mark that journeys write, so that a webhook is known again. */
const MARK = /\bload[a-z0-9]+-[a-z-]+-\d+\b/g;
const PATH = /^\/deliveries\/(load[a-z0-9]+-[a-z-]+-\d+)$/;

/**
 * Takes webhooks under any path, and answers whether one had a mark in its body: `GET /deliveries/MARK?withinMs=1000` answers 200 as
 * soon as it has come, 404 when it has not within that time. `GET /healthz` answers 200.
 */
export async function startReceiverServer(address: { port: number; host: string }): Promise<ReceiverServer> {
  const seen = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();

  const note = (mark: string) => {
    seen.add(mark);
    const [oldest = ""] = seen;
    if (seen.size > MARKS_MAX) seen.delete(oldest);
    for (const tell of waiting.get(mark) ?? []) tell();
  };
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    for (const [mark] of body?.matchAll(MARK) ?? []) note(mark);
    answer(response, body === undefined ? 413 : 200);
  };
  const tell = (mark: string, withinMs: number, response: ServerResponse) => {
    if (seen.has(mark)) return answer(response, 200);
    const others = waiting.get(mark) ?? new Set();
    waiting.set(mark, others);
    const end = (status: number) => {
      clearTimeout(patience);
      others.delete(found);
      if (others.size === 0) waiting.delete(mark);
      answer(response, status);
    };
    const found = () => end(200);
    const patience = setTimeout(() => end(404), withinMs);
    others.add(found);
    response.once("close", () => !response.writableEnded && end(404));
  };

  const server = createServer((request, response) => {
    const [path = "", query] = (request.url ?? "").split("?");
    const [, mark] = PATH.exec(path) ?? [];
    if (request.method === "POST")
      void take(request, response).catch(() => response.destroy()); // the sender went away
    else if (mark) tell(mark, waitOf(new URLSearchParams(query).get("withinMs")), response);
    else answer(response, path === "/healthz" ? 200 : 404);
  });
  server.listen(address);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function answer(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status).end();
}

function waitOf(sent: string | null): number {
  const wanted = Number(sent);
  return Number.isFinite(wanted) ? Math.min(Math.max(0, wanted), WAIT_MS_MAX) : 0;
}

/** Undefined when there is too much of it. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size > BODY_BYTES_MAX ? undefined : Buffer.concat(chunks).toString("utf8");
}
