import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";
import { afterRefusal, IS_WELL, isWell, type LearnedRate, rateAt } from "./learned-rate.ts";

/** SQL of a migration: rates that were learned from refusals, by domain; that of the server has the name `*`. */
export const LEARNED_RATES = [
  `create table learned_rates (
    domain text primary key, usual float8 not null, per_second float8 not null,
    halved_at timestamptz not null, refused_at timestamptz not null)`,
];

/** SQL: domains that get fewer mails than usual. */
export const HELD_BACK = `learned_rates where domain <> '*' and not (${IS_WELL})`;

interface RefusedDomain {
  domain: string;
  /** Mails in a second that it got from this process. */
  usual: number;
  /** It gets as many, however often it refuses. */
  floor: number;
}

export interface LearnedRates {
  /** Mails in a second that a domain gets now; any number when undefined. */
  rateOf(domain: string): number | undefined;
  /** Records a refusal, for all replicas. */
  refused(refused: RefusedDomain): void;
  stop(): void;
}

const POLL_MS = 5_000;
const RATES_MAX = 10_000;
/** More refusals of a domain within this time say nothing new. */
const NOTED_MS = 1_000;

const COLUMNS = `domain, usual, per_second, extract(epoch from halved_at) * 1000 as halved_ms, extract(epoch from refused_at) * 1000 as refused_ms`;
const lockStatement = prepared(
  "learned_rates_lock",
  `select ${COLUMNS} from learned_rates where domain = any ($1::text[]) order by domain for update`,
);
const timeStatement = prepared(
  "learned_rates_time",
  "select extract(epoch from clock_timestamp()) * 1000 as now_ms",
);
const keepStatement = prepared(
  "learned_rates_keep",
  `insert into learned_rates (domain, usual, per_second, halved_at, refused_at)
   select domain, usual, per_second, to_timestamp(halved_ms / 1000), to_timestamp(refused_ms / 1000)
   from unnest($1::text[], $2::float8[], $3::float8[], $4::float8[], $5::float8[]) as l (domain, usual, per_second, halved_ms, refused_ms)
   order by domain
   on conflict (domain) do update set usual = excluded.usual, per_second = excluded.per_second, halved_at = excluded.halved_at,
     refused_at = excluded.refused_at`,
);
const readStatement = prepared(
  "learned_rates_read",
  `with forgotten as (
     delete from learned_rates where domain = any (array(
       select domain from learned_rates where ${IS_WELL} order by domain limit 1000 for update skip locked))
   ), unused as (
     delete from rate_budgets where name = any (array(
       select name from rate_budgets where name like 'mail %' and refilled_at < now() - interval '1 day'
       order by name limit 1000 for update skip locked)))
   select ${COLUMNS} from learned_rates where not (${IS_WELL}) order by refused_at desc limit ${RATES_MAX}`,
);

/** Rates that the replicas learn from refusals. Each of them reads what the others learned every 5 seconds. */
export function openLearnedRates(database: Database, log: Log): LearnedRates {
  let rates = new Map<string, LearnedRate>();

  const record = coalesce(async (refusals: RefusedDomain[]) => {
    const kept = await keepRefusals(database, refusals);
    for (const [domain, learned] of kept) rates.set(domain, learned);
  });
  const poll = async () => {
    try {
      const rows = await database.query(readStatement, [], backgroundDeadline());
      rates = new Map(rows.map(learnedOf));
    } catch (error) {
      log.warn({ err: error }, "rates that were learned could not be read, trying again");
    }
  };
  const { stop } = atEachTick(POLL_MS, poll, { atOnce: true });
  return {
    rateOf(domain) {
      const learned = rates.get(domain);
      const nowMs = database.now();
      return learned && !isWell(learned, nowMs) ? rateAt(learned, nowMs) : undefined;
    },
    refused(refusal) {
      const known = rates.get(refusal.domain);
      if (known && database.now() - known.refusedAtMs < NOTED_MS) return;
      record("refused", refusal).catch((error) =>
        log.warn({ err: error }, "a rate that was learned could not be kept"),
      );
    },
    stop,
  };
}

async function keepRefusals(
  database: Database,
  refusals: RefusedDomain[],
): Promise<Map<string, LearnedRate>> {
  const byDomain = new Map(refusals.map((refusal) => [refusal.domain, refusal]));
  return database.transaction(backgroundDeadline(), async ({ query }) => {
    const locked = new Map((await query(lockStatement, [[...byDomain.keys()]])).map(learnedOf));
    const [time] = await query(timeStatement, []);
    const kept = new Map(
      [...byDomain].map(([domain, limits]) => [
        domain,
        afterRefusal(locked.get(domain), limits, Number(time?.now_ms)),
      ]),
    );
    const column = (name: keyof LearnedRate) => [...kept.values()].map((learned) => learned[name]);
    await query(keepStatement, [
      [...kept.keys()],
      ...(["usual", "perSecond", "halvedAtMs", "refusedAtMs"] as const).map(column),
    ]);
    return kept;
  });
}

function learnedOf(row: Row): [string, LearnedRate] {
  return [
    row.domain ?? "",
    {
      usual: Number(row.usual),
      perSecond: Number(row.per_second),
      halvedAtMs: Number(row.halved_ms),
      refusedAtMs: Number(row.refused_ms),
    },
  ];
}
