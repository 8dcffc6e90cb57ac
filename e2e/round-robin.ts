import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface Target {
  port: number;
  readyUrl: string;
}

export interface RoundRobin {
  /** `host:port` */
  address: string;
  /** From now on connections go to these. */
  balance(targets: Target[]): void;
  stop(): Promise<void>;
}

const PROBE_MS = 20;

/**
 * A load balancer as simple as they come, and as a Service of Kubernetes is one: every connection goes to the next target that is
 * ready, and stays with it. A refused connection took nothing, so that another target is tried; any other failure is the client's.
 */
export async function startRoundRobin(): Promise<RoundRobin> {
  const stopped = new AbortController();
  const sockets = new Set<Socket>();
  const probes: Promise<void>[] = [];
  let states: (Target & { isReady: boolean })[] = [];
  let turn = 0;

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  const forward = (client: Socket) => {
    const ready = states.filter(({ isReady }) => isReady);
    const target = ready[turn++ % ready.length];
    if (!target) return void client.destroy();
    const onward = connect(target.port, "127.0.0.1");
    keep(onward);
    const refused = () => {
      target.isReady = false;
      forward(client);
    };
    onward.once("error", refused);
    onward.once("connect", () => {
      onward.off("error", refused).on("error", () => client.resetAndDestroy());
      client.on("error", () => onward.resetAndDestroy());
      client.pipe(onward);
      onward.pipe(client);
    });
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client);
    client.on("error", () => undefined); // it is gone
    forward(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    balance(targets) {
      states = targets.map((target) => ({ ...target, isReady: true }));
      probes.push(...states.map((state) => probe(state, stopped.signal)));
    },
    stop: async () => {
      stopped.abort();
      server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(probes);
    },
  };
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
