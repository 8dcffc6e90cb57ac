import type { Log } from "@tidings/runtime/log";
import type { Outbox } from "./outbox.ts";

export interface AfterCommitsOptions {
  outbox: Outbox;
  log: Log;
  /** As the log calls it when it fails; what comes next makes up for it. */
  name: string;
  delayMs: number;
}

/** Does something a while after a commit, once for all that was committed until then; nothing while nobody writes. */
export function afterCommits(
  { outbox, log, name, delayMs }: AfterCommitsOptions,
  work: () => Promise<unknown>,
): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const run = async () => {
    await work().catch((error) => log.warn({ err: error, name }, "upkeep failed, later"));
    timer = undefined;
  };
  outbox.onCommitted(() => {
    timer ??= setTimeout(run, delayMs);
  });
  return { stop: () => clearTimeout(timer) };
}
