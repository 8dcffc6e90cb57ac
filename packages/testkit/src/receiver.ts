import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { eventually, type Patience } from "./eventually.ts";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** As it was sent. */
  body: string;
  /** When it had arrived, in milliseconds since 1970. */
  at: number;
}

export interface Answer {
  /** 200 when absent. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Nothing is sent for this long; Infinity never answers. */
  delayMs?: number;
  /** The body is sent one character at a time, this far apart. */
  dripMs?: number;
  /** Resets the connection instead of an answer. */
  drop?: boolean;
}

export type Respond = (request: ReceivedRequest, index: number) => Answer | Promise<Answer>;

export interface Receiver {
  url: string;
  port: number;
  /** In order of arrival. */
  requests: ReceivedRequest[];
  /** Waits until at least so many requests have arrived; returns all of them. */
  waitFor(count: number, patience?: Patience): Promise<ReceivedRequest[]>;
  stop(): Promise<void>;
}

export interface ReceiverOptions {
  respond?: Respond;
  /** The address it listens on; 127.0.0.1 when absent. */
  host?: string;
}

/** An HTTP server that records what it gets and answers as the test sets it; 200 without a body by default. */
export async function startReceiver({
  respond,
  host = "127.0.0.1",
}: ReceiverOptions = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const stopped = new AbortController();

  const receive = async (message: IncomingMessage, response: ServerResponse) => {
    const body = await text(message);
    const { method = "", url: path = "", headers } = message;
    const request = { method, path, headers, body, at: Date.now() };
    const index = requests.push(request) - 1;
    await send(response, (await respond?.(request, index)) ?? {}, stopped.signal);
  };
  const server = createServer((message, response) => {
    receive(message, response).catch((error) => response.destroy(error)); // the sender went away, or the test ended
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${host}:${port}`,
    port,
    requests,
    waitFor: (count, patience) =>
      eventually(() => {
        if (requests.length >= count) return requests;
        throw new Error(`${requests.length} of ${count} requests received`);
      }, patience),
    async stop() {
      stopped.abort();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const LONGEST_DELAY_MS = 2 ** 31 - 1;

async function send(response: ServerResponse, answer: Answer, signal: AbortSignal): Promise<void> {
  if (answer.delayMs) await pause(Math.min(answer.delayMs, LONGEST_DELAY_MS), undefined, { signal });
  if (answer.drop) return void response.socket?.resetAndDestroy();
  response.writeHead(answer.status ?? 200, answer.headers);
  if (answer.dripMs === undefined) return void response.end(answer.body);
  for (const character of answer.body ?? "") {
    response.write(character);
    await pause(answer.dripMs, undefined, { signal });
  }
  response.end();
}
