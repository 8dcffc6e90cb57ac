import assert from "node:assert/strict";
import type { TestStack } from "./stack.ts";

/** Times that the event loops of these processes were held for longer than `seconds` (a bucket of the histogram), since they were first asked. */
export async function holdUps(
  { lines }: Pick<TestStack, "lines">,
  names: string[],
  seconds: number,
): Promise<number> {
  const counts = await Promise.all(
    names.map(async (name) => {
      const metrics = await fetch(`http://127.0.0.1:${await lines.port(name, "ops")}/metrics`);
      const buckets = (await metrics.text())
        .split("\n")
        .filter((line) => line.startsWith("tidings_event_loop_delay_seconds_bucket{"));
      const countOf = (bucket: string) =>
        Number(
          buckets
            .find((line) => line.includes(`le="${bucket}"`))
            ?.split(" ")
            .at(-1),
        );
      return countOf("+Inf") - countOf(String(seconds));
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

export interface Held {
  names: string[];
  /** A bucket of the histogram. */
  seconds: number;
}

/** Sends what `send` sends and fails when the event loop of one of these processes was held for longer by it. `sent` is shown then, cut. */
export async function assertHoldsNothing(
  stack: Pick<TestStack, "lines">,
  { names, seconds }: Held,
  sent: unknown,
  send: () => Promise<void>,
): Promise<void> {
  const before = await holdUps(stack, names, seconds);
  await send();
  const shown = JSON.stringify(sent).replace(/"([^"]{8})[^"]*"/g, '"$1…"');
  assert.equal(await holdUps(stack, names, seconds), before, shown);
}
