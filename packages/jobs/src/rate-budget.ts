import { type Database, prepared } from "@tidings/database/database";

/** SQL of a migration: the budgets that all replicas of a process share. */
export const RATE_BUDGETS = [
  `create table rate_budgets (
    name text primary key,
    per_second float8 not null,
    -- The most that may be saved up, and taken at once.
    burst float8 not null,
    tokens float8 not null,
    refilled_at timestamptz not null,
    -- As the latest call wanted and was granted.
    wanted float8 not null,
    granted float8 not null
  )`,
];

/** Tokens that a caller wants of the budget `name`: for mails, one token each. */
export interface BudgetRequest {
  name: string;
  wanted: number;
  perSecond: number;
  burst: number;
  /** Tokens that are left to callers who spare fewer; none when absent. */
  spared?: number;
}

export interface Grant {
  /** A whole number, at most what was wanted. */
  granted: number;
  /** Seconds until the next token, when less was granted than wanted. */
  waitSeconds: number;
}

/** The row is the lock: replicas that take from one budget do so one after the other. */
const takeStatement = prepared(
  "rate_budgets_take",
  `insert into rate_budgets as b (name, per_second, burst, wanted, granted, tokens, refilled_at)
   select x.name, x.per_second, x.burst, x.wanted, first.granted, x.burst - first.granted, clock_timestamp()
   from json_to_recordset($1::json) as x (name text, per_second float8, burst float8, wanted float8, spared float8)
   cross join lateral (select greatest(0, floor(least(x.wanted, x.burst - x.spared))) as granted) as first
   order by x.name
   on conflict (name) do update set
     (per_second, burst, wanted, granted, tokens, refilled_at) = (
       select excluded.per_second, excluded.burst, excluded.wanted, taken.granted, saved.tokens - taken.granted, clock_timestamp()
       from (select least(excluded.burst, b.tokens + excluded.per_second
           * greatest(0, extract(epoch from clock_timestamp() - b.refilled_at))) as tokens) as saved,
         lateral (select greatest(0, floor(least(excluded.wanted, saved.tokens - asked.spared))) as granted
           from json_to_recordset($1::json) as asked (name text, spared float8) where asked.name = b.name) as taken)
   returning b.name, b.granted, b.tokens`,
);

/**
 * Takes tokens from budgets of rate that all replicas share, each named once: a token bucket (Turner, "New directions in
 * communications", 1986) that refills with `perSecond` and holds `burst` at most. The database's clock counts.
 */
export async function takeTokens(
  database: Database,
  requests: BudgetRequest[],
  deadlineMs: number,
): Promise<Map<string, Grant>> {
  const values = requests.map(({ name, wanted, perSecond, burst, spared = 0 }) => ({
    ...{ name, wanted, burst, spared },
    per_second: perSecond,
  }));
  const rows = await database.query(takeStatement, [JSON.stringify(values)], deadlineMs);
  const asked = new Map(requests.map((request) => [request.name, request]));
  return new Map(
    rows.map(({ name, granted, tokens }) => {
      const { perSecond = 1, spared = 0 } = asked.get(name ?? "") ?? {};
      const waitSeconds = Math.max(0, (1 + spared - Number(tokens)) / perSecond);
      return [name ?? "", { granted: Number(granted), waitSeconds }];
    }),
  );
}
