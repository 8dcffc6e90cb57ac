import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { PortTakenError } from "./server-process.ts";

// Below the range the systems take the ports of outgoing connections from: a server can return to its port.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const BLOCK = 50;
const ATTEMPTS = 100;

/** Ports of the blocks that this process has claimed, each of which it gives away once. */
const claimed: number[] = [];
let claiming: Promise<void> | undefined;

/** A TCP port that nobody listens on, and that no other process is given while this one runs. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = claimed.shift();
    if (port !== undefined && (await isFree(port))) return port;
    if (claimed.length > 0) continue;
    claiming ??= claimBlock().finally(() => {
      claiming = undefined;
    });
    await claiming;
  }
  throw new Error(`No free TCP port found between ${LOWEST} and ${HIGHEST}`);
}

/** A process that listens on the first port of a block owns the whole block until it ends. */
async function claimBlock(): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const first = LOWEST + BLOCK * randomInt((HIGHEST - LOWEST) / BLOCK);
    const claim = await listen(first);
    if (!claim) continue;
    claim.unref();
    for (let port = first + 1; port < first + BLOCK; port += 1) claimed.push(port);
    return;
  }
}

/** Can a server listen on this port, on every address of the machine? */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  server?.close();
  return server !== undefined;
}

/** Undefined when another process does. Connections are closed at once. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen(port);
  try {
    await once(server, "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
}

/** Starts a server on the wanted port, or on a free one; tries another when somebody was faster. */
export async function onPort<T>(wanted: number | undefined, start: (port: number) => Promise<T>): Promise<T> {
  if (wanted) return start(wanted);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === ATTEMPTS) throw error;
    }
  }
}
