import { account } from "./accounts.ts";
import { type Failure, startLoad } from "./load.ts";
import { say } from "./progress.ts";
import type { Outcome, World } from "./step.ts";

/** Requests that are answered before something happens, and after it. */
const AROUND = 150;

export interface UnderLoadOptions {
  /** For people. */
  what: string;
  /** May requests fail meanwhile? What was answered well is never lost nor done twice, whatever happens. */
  mayFail?: boolean;
  clients?: number;
  pauseMs?: number;
  /** A text that it answers with is a note for the summary. */
  act(): Promise<unknown>;
}

let loads = 0;

/** Does something while the product is used, and settles what was written against what is there. */
export async function underLoad(
  world: World,
  { what, mayFail = false, act, ...pace }: UnderLoadOptions,
): Promise<Outcome> {
  loads += 1;
  const load = startLoad({ name: `load-${loads}`, baseUrl: world.baseUrl, ...pace });
  let seconds = 0;
  let note: string | undefined;
  let problem: unknown;
  try {
    await load.more(AROUND);
    const startedAt = performance.now();
    const said = await act();
    if (typeof said === "string") note = said;
    seconds = (performance.now() - startedAt) / 1000;
    await load.more(AROUND);
  } catch (error) {
    problem = error;
  }
  const { requests, failures, p99Ms, longestMs, ledger } = await load.stop();
  const { kept, lost, doubled, untold, toldTwice, repeated } = await account(
    world.api,
    ledger,
    world.listener,
  );
  const notes = [
    note,
    problem instanceof Error && problem.message,
    ...summaryOf(failures),
    `p99 ${p99Ms} ms, longest ${longestMs} ms`,
    untold > 0 && `${untold} deliveries lost`,
    toldTwice > 0 && `${toldTwice} deliveries doubled`,
    repeated > 0 && `${repeated} deliveries repeated under their id`,
  ];
  const whole = lost + doubled + untold + toldTwice === 0;
  const outcome = {
    ok: problem === undefined && whole && (mayFail || failures.length === 0),
    what,
    seconds,
    requests,
    failed: failures.length,
    kept,
    lost: lost + untold,
    doubled: doubled + toldTwice,
    note: notes.filter(Boolean).join("; "),
  };
  say(
    `${outcome.ok ? "ok    " : "FAILED"}  ${what}: ${failures.length} of ${requests} requests failed; ${outcome.note}`,
  );
  return outcome;
}

/** The kinds of failures, the most frequent first. */
function summaryOf(failures: Failure[]): string[] {
  const kinds = Map.groupBy(failures, ({ what, answer }) => `${what}: ${answer}`);
  return [...kinds]
    .map(([kind, some]) => ({ kind, count: some.length }))
    .sort((one, other) => other.count - one.count)
    .slice(0, 3)
    .map(({ kind, count }) => `${count} × ${kind}`);
}
