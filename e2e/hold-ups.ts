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
