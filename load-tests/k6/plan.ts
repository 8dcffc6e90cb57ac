import type { Options, Scenario } from "k6/options";
import type { Journey } from "./journey.ts";
import { BATCH, type Limit } from "./limits.ts";
import type { Profile } from "./profiles.ts";
import { STATUSES } from "./statuses.ts";
import { WINDOWS } from "./windows.ts";

/** Journeys by their names, which are those of their scenarios. */
export type Journeys = Record<string, Journey>;

/** An iteration takes about so long where all is well: how many users it takes to begin each when it is due. */
const ITERATION_SECONDS = 5;
/** Journeys that are as frequent as each other do not begin in the same moment. */
const APART_MS = 230;
/** As many users more may be there at once when it is not. */
const USERS_RESERVE = 20;
/** A run that is to find a limit gets so far before it may be ended by one. */
const FIRST_LIMIT_AFTER = "30s";

/** The options of k6: a scenario for each journey, all at once, and the thresholds that make the run fail. */
export function optionsOf(journeys: Journeys, profile: Profile, rate: number): Options {
  return {
    scenarios: Object.fromEntries(
      Object.entries(journeys).map(([name, journey], index) => [
        name,
        { ...scenarioOf(journey, profile, rate), startTime: `${index * APART_MS}ms` },
      ]),
    ),
    thresholds: thresholdsOf(Object.values(journeys), profile),
    summaryTrendStats: ["count", "med", "p(95)", "p(99)", "max"],
    setupTimeout: "15m",
    teardownTimeout: "15m",
    // A gateway in a cluster is found anew: more of them may have come.
    dns: { ttl: "10s", select: "roundRobin", policy: "preferIPv4" },
    userAgent: "tidings-load-tests",
  };
}

/** Iterations begin when they are due, however slow the answers are. */
function scenarioOf(journey: Journey, { stages, seconds, perMinute }: Profile, rate: number): Scenario {
  const expected = journey.isLimited ? journey.perMinute : (perMinute ?? journey.perMinute) * rate;
  const targets = stages.map(({ factor }) =>
    Math.max(1, Math.round(expected * (journey.isLimited ? 1 : factor))),
  );
  const users = Math.ceil((Math.max(...targets) / 60) * ITERATION_SECONDS) + 1;
  const shared = {
    exec: "run",
    timeUnit: "1m",
    preAllocatedVUs: users,
    maxVUs: users * 5 + USERS_RESERVE,
    gracefulStop: "30s",
  } as const;
  const [first = 1] = targets;
  if (stages.length === 1)
    return { ...shared, executor: "constant-arrival-rate", rate: first, duration: `${seconds}s` };
  return {
    ...shared,
    executor: "ramping-arrival-rate",
    startRate: journey.isLimited ? first : 1,
    stages: stages.map(({ share }, index) => ({
      target: targets[index] ?? 1,
      duration: `${Math.round(seconds * share)}s`,
    })),
  };
}

function thresholdsOf(journeys: Journey[], profile: Profile): NonNullable<Options["thresholds"]> {
  const endpoints: Record<string, Limit> = Object.assign({}, ...journeys.map((journey) => journey.endpoints));
  const latencies = journeys.flatMap((journey) => journey.latencies);
  const thresholds: Record<string, string[]> = {
    checks: [`rate>=${1 - profile.failures}`],
    ...(profile.isPunctual && { dropped_iterations: ["count==0"] }),
  };
  for (const [name, limit] of Object.entries(endpoints)) {
    thresholds[`http_req_duration{name:${name}}`] = below(limit, profile);
    thresholds[`http_req_failed{name:${name}}`] = [`rate<=${profile.failures}`];
    // One that was never asked has kept no promise.
    thresholds[`http_reqs{name:${name}}`] = ["count>0"];
  }
  for (const { name, limit } of latencies) thresholds[name] = below(limit, profile);
  for (const status of STATUSES) thresholds[`http_reqs{status:${status}}`] = ["count>=0"]; // counted, for the report
  // Too much is refused; nothing makes the product fail.
  thresholds["http_reqs{status:500}"] = ["count==0"];
  for (let window = 0; window < WINDOWS; window += 1)
    thresholds[`http_req_duration{window:${window}}`] = below(BATCH, profile);
  return Object.fromEntries(
    Object.entries(thresholds).map(([name, expressions]) => [
      name,
      expressions.map((threshold) =>
        // A count that has to be reached some time is no limit.
        profile.endsAtLimit && !threshold.startsWith("count>")
          ? { threshold, abortOnFail: true, delayAbortEval: FIRST_LIMIT_AFTER }
          : threshold,
      ),
    ]),
  );
}

function below({ p95, p99 }: Limit, { slack }: Profile): string[] {
  return [`p(95)<${p95 * slack}`, `p(99)<${p99 * slack}`];
}
