import type { BudgetRequest, Grant } from "@tidings/jobs/rate-budget";
import { isOutage } from "@tidings/rpc/outage";
import { emptySlice, partsOf } from "./slice.ts";

export interface DrawOptions {
  /** The name of the budget, which all replicas share. */
  name: string;
  /** Somebody waits for the mails: no tokens of the budget are spared. */
  isUrgent: boolean;
  /** Mails in a second, as of now; any number when undefined. */
  rate(): number | undefined;
  take(request: BudgetRequest): Promise<Grant>;
}

/** How mails of one kind get tokens of a budget. */
export interface Draw {
  /** Uses a token. Where the slice of the process has none the budget is asked for another slice, also for `waiting` other mails. */
  use(waiting: number): Promise<boolean>;
  giveBack(): void;
  /** Until there may be a token again, by what was found last; 0 when there may be one. */
  emptyForMs(): number;
}

/** While the store of budgets is away nothing goes: it is asked again after so long. */
const STORE_AWAY_MS = 1_000;

export function openDraw({ name, isUrgent, rate, take }: DrawOptions): Draw {
  const slice = emptySlice();
  let emptyUntilMs = 0;
  let refilling: Promise<void> | undefined;

  const refill = async (perSecond: number, waiting: number) => {
    const { sliceMax, burst, spared } = partsOf(perSecond);
    const wanted = slice.wanted(waiting, sliceMax, performance.now());
    const request = { name, wanted, perSecond, burst, spared: isUrgent ? 0 : spared };
    try {
      const { granted, waitSeconds } = await take(request);
      slice.fill(granted, performance.now());
      if (granted < wanted) emptyUntilMs = performance.now() + waitSeconds * 1_000;
    } catch (error) {
      if (!isOutage(error)) throw error;
      emptyUntilMs = performance.now() + STORE_AWAY_MS;
    }
  };
  return {
    async use(waiting) {
      for (;;) {
        const perSecond = rate();
        if (perSecond === undefined || slice.use(performance.now())) return true;
        if (performance.now() < emptyUntilMs) return false;
        refilling ??= refill(perSecond, waiting).finally(() => {
          refilling = undefined;
        });
        await refilling;
      }
    },
    giveBack: () => slice.giveBack(),
    emptyForMs: () => (slice.isEmpty(performance.now()) ? Math.max(0, emptyUntilMs - performance.now()) : 0),
  };
}
