import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { PortTakenError } from "./server-process.ts";

// Below the range the systems take the ports of outgoing connections from: a server can return to its port.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const ATTEMPTS = 20;

/** One after the other, from a place of this process' own: whoever asks for many gets none twice, and seldom another's. */
let next = randomInt(LOWEST, HIGHEST);

/** A TCP port that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = next;
    next = port + 1 < HIGHEST ? port + 1 : LOWEST;
    if (await isFree(port)) return port;
  }
  throw new Error(`No free TCP port found between ${LOWEST} and ${HIGHEST}`);
}

/** Can a server listen on this port, on every address of the machine? */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  } finally {
    server.close();
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
