import { join } from "node:path";
import { freePort } from "@tidings/embedded/free-port";

export interface HeldLoops {
  /** The environment of each measured process. */
  env: Record<string, Record<string, string>>;
  /** Milliseconds of processor time that each event loop was held for at most since it was last asked. */
  longest(): Promise<{ name: string; milliseconds: number }[]>;
}

const PROBE = join(import.meta.dirname, "loop-probe.ts");

/** Measures the event loops of processes that are started with `env`. */
export async function heldLoops(names: string[]): Promise<HeldLoops> {
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  return {
    env: Object.fromEntries(
      [...ports].map(([name, port]) => [
        name,
        { NODE_OPTIONS: `--import=${PROBE}`, LOOP_PROBE_PORT: String(port) },
      ]),
    ),
    longest: () =>
      Promise.all(
        [...ports].map(async ([name, port]) => {
          const answer = await fetch(`http://127.0.0.1:${port}/`);
          return { name, milliseconds: Number(await answer.text()) / 1_000 };
        }),
      ),
  };
}
