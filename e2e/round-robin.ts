import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface Target {
  url: string;
  readyUrl: string;
}

export interface RoundRobin {
  url: string;
  stop(): Promise<void>;
}

const PROBE_MS = 20;

/**
 * A load balancer as simple as they come: every request goes to the next target that is ready, on a connection of its
 * own. A refused connection took nothing, so that another target is tried; any other failure is the client's.
 */
export async function startRoundRobin(targets: Target[]): Promise<RoundRobin> {
  const stopped = new AbortController();
  const states = targets.map((target) => ({ ...target, isReady: true }));
  const probing = Promise.all(states.map((state) => probe(state, stopped.signal)));
  let turn = 0;

  const forward = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const ready = states.filter(({ isReady }) => isReady);
    const target = ready[turn++ % ready.length];
    if (!target) return void outgoing.writeHead(502).end();
    const { method = "GET", url = "/" } = incoming;
    const onward = request(target.url + url, { method, headers: passedOn(incoming), agent: false });
    onward.once("socket", (socket) => socket.once("connect", () => incoming.pipe(onward)));
    onward.once("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, passedOn(answer));
      answer.pipe(outgoing);
    });
    onward.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNREFUSED") return outgoing.destroy(error);
      target.isReady = false;
      forward(incoming, outgoing);
    });
  };
  const server = createServer((incoming, outgoing) => forward(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      stopped.abort();
      server.close();
      server.closeAllConnections();
      await probing;
    },
  };
}

/** Headers without those that concern one connection only (RFC 9110, 7.6.1). */
function passedOn({ headers }: IncomingMessage): IncomingHttpHeaders {
  const { connection, "keep-alive": keepAlive, ...others } = headers;
  return others;
}

async function probe(state: Target & { isReady: boolean }, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    state.isReady = await fetch(state.readyUrl).then(
      ({ ok }) => ok,
      () => false,
    );
    await pause(PROBE_MS, undefined, { signal }).catch(() => undefined); // the balancer is stopped
  }
}
