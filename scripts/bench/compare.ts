import { measure, type Round, type Target } from "./measure.ts";
import { median } from "./statistics.ts";
import type { Workload } from "./workloads.ts";

export interface Comparison {
  ours: Round;
  bare: Round;
  /** Our requests per second as a share of the bare server's. */
  ratio: number;
  /** CPU of a request as a multiple of the bare server's, round by round. */
  costs: number[];
}

const ROUNDS = 3;
const WARM_UP_SECONDS = 1;

/** Rounds of ours and the bare server in turn, after a warm-up of each; the median of every figure. */
export async function compare(
  workload: Workload,
  targets: { ours: Target; bare: Target },
  { contacts, seconds }: { contacts: number; seconds: number },
): Promise<Comparison> {
  const { connections, settled, isCountedSettled } = workload;
  const request = () => workload.request(contacts);
  const round = (target: Target, seconds: number) =>
    measure(target, {
      ...{ connections, seconds, request },
      // Nothing follows from what the bare server answers.
      ...(target === targets.ours && { settled, isCountedSettled }),
    });
  await round(targets.ours, WARM_UP_SECONDS);
  await round(targets.bare, WARM_UP_SECONDS);
  const ours: Round[] = [];
  const bare: Round[] = [];
  for (let number = 1; number <= ROUNDS; number += 1) {
    ours.push(await round(targets.ours, seconds));
    bare.push(await round(targets.bare, seconds));
  }
  const result = { ours: medianRound(ours), bare: medianRound(bare) };
  const costs = ours.map(({ cpu }, index) => cpu / (bare[index]?.cpu ?? 0));
  return { ...result, costs, ratio: result.ours.requestsPerSecond / result.bare.requestsPerSecond };
}

export function medianRound(rounds: Round[]): Round {
  const middle = (name: keyof Round) => median(rounds.map((round) => round[name]));
  return {
    requestsPerSecond: middle("requestsPerSecond"),
    p50: middle("p50"),
    p99: middle("p99"),
    cpu: middle("cpu"),
  };
}
