import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Something between a client and a server on this machine that can go deaf. */
export interface Proxy {
  /** The URL of the server, with the proxy in its place. */
  url: string;
  /** From now on every byte is swallowed, and every new connection accepted and left without an answer. */
  goDeaf(): void;
  /** From now on the answer to a COMMIT, and all that follows it on the same connection, is swallowed. */
  swallowCommits(): void;
  /** From now on connections end, and new ones at once: the server is down. */
  goDown(): void;
  /** New connections work again; those that were deafened stay so. */
  recover(): void;
  stop(): Promise<void>;
}

/** As it stands in a query of Postgres' protocol. */
const COMMIT = Buffer.from("commit\0");

/** A TCP proxy before the server of a URL. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isDeaf = false;
  let isDown = false;
  let swallowsCommits = false;
  const server = createServer((client) => {
    keep(client);
    if (isDown) return void client.destroy();
    if (isDeaf) return void client.resume();
    const upstream = connect(Number(port), hostname);
    keep(upstream);
    client.on("data", (chunk: Buffer) => {
      if (swallowsCommits && chunk.includes(COMMIT)) upstream.unpipe(client).resume();
    });
    client.pipe(upstream);
    upstream.pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined); // either side may reset
    socket.on("close", () => sockets.delete(socket));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    goDeaf() {
      isDeaf = true;
      for (const socket of sockets) socket.unpipe().removeAllListeners("close").resume();
    },
    swallowCommits() {
      swallowsCommits = true;
    },
    goDown() {
      isDown = true;
      for (const socket of sockets) socket.destroy();
    },
    recover() {
      isDown = false;
      isDeaf = false;
      swallowsCommits = false;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
