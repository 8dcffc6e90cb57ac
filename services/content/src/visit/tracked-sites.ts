import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { TrackedSiteService } from "@tidings/proto/tidings/content/v1/tracked_site";
import type { Handlers } from "@tidings/rpc/definition";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";
import type { VisitFact } from "./visit-fact.ts";

/** Counts of the sites whose pages report their views. */
export interface TrackedSites {
  /** Counts a hit that was recorded. */
  noteHit(host: string, hit: VisitFact): void;
  /** Counts what was refused, or left out of a hit. */
  noteRefused(host: string, reasons: Iterable<string>): void;
  /** Ends the work that stores the counts, and stores those that are left. */
  stop(): Promise<void>;
}

/** SQL of a migration. Counts are added up for good. */
export const TRACKED_SITES = [
  "alter table tracked_sites alter hits type bigint, alter machine_hits type bigint",
  `alter table tracked_sites add column unconsented_hits bigint not null default 0,
     add column date_modified timestamptz not null default now()`,
];

/** Anybody can name a host: so many are kept. */
const SITES_MAX = 1_000;
/** A site that was not seen for so long makes room for another one. */
const FORGOTTEN_AFTER = "interval '30 days'";
const OTHERS = "others";
const UNKNOWN = "unknown";
const HOST_LENGTH_MAX = 255;
/** Counts are stored this often: a page that is viewed a thousand times a second costs no more writes than one that is viewed twice. */
const STORE_MS = 2_000;

interface Counts {
  lastHit: number;
  hits: number;
  unconsented: number;
  machine: number;
  refused: Map<string, number>;
}

/** Counts hits and refusals by site in memory, and adds them to the stored ones. What a process counted in the two seconds before it was killed is lost. */
export function trackedSites(database: Database, log: Log): TrackedSites {
  let counted = new Map<string, Counts>();
  const countsOf = (host: string): Counts => {
    const name = counted.has(host) || counted.size < SITES_MAX ? host || UNKNOWN : OTHERS;
    const counts = counted.get(name) ?? noCounts();
    counted.set(name, counts);
    return counts;
  };
  const store = async () => {
    if (counted.size === 0) return;
    const sent = counted;
    counted = new Map();
    try {
      await database.transaction(backgroundDeadline(), (transaction) => addCounts(transaction, sent));
    } catch (error) {
      for (const [host, counts] of sent) addTo(countsOf(host), counts);
      if (!isOutage(error)) log.warn({ err: error }, "counts of tracked sites could not be stored");
    }
  };
  const storing = atEachTick(STORE_MS, store);
  return {
    noteHit(host, { verdict, device, at }) {
      const counts = countsOf(host);
      counts.lastHit = Math.max(counts.lastHit, at);
      if (verdict === "machine") counts.machine += 1;
      else if (device) counts.hits += 1;
      else counts.unconsented += 1;
    },
    noteRefused(host, reasons) {
      for (const reason of reasons) {
        const { refused } = countsOf(host);
        refused.set(reason, (refused.get(reason) ?? 0) + 1);
      }
    },
    async stop() {
      await storing.stop();
      await store();
    },
  };
}

/** The host of an address, with its port where it has one; empty where it is no address of the web. */
export function hostOf(address: string): string {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return "";
  return new URL(address).host.slice(0, HOST_LENGTH_MAX);
}

function noCounts(): Counts {
  return { lastHit: 0, hits: 0, unconsented: 0, machine: 0, refused: new Map() };
}

function addTo(counts: Counts, added: Counts): void {
  counts.lastHit = Math.max(counts.lastHit, added.lastHit);
  counts.hits += added.hits;
  counts.unconsented += added.unconsented;
  counts.machine += added.machine;
  for (const [reason, count] of added.refused)
    counts.refused.set(reason, (counts.refused.get(reason) ?? 0) + count);
}

/** One replica after the other, so that all of them together keep to the number of sites. */
const lock = advisoryLock("tracked_sites");
const knownStatement = prepared("tracked_sites_known", "select host from tracked_sites");
const forgetStatement = prepared(
  "tracked_sites_forget",
  `delete from tracked_sites where date_modified < now() - ${FORGOTTEN_AFTER} returning host`,
);
const addStatement = prepared(
  "tracked_sites_add",
  `insert into tracked_sites as t (host, last_hit, hits, unconsented_hits, machine_hits, refused)
   select x.host, x.last_hit, x.hits, x.unconsented, x.machine, x.refused from json_to_recordset($1::json)
     as x (host text, last_hit timestamptz, hits bigint, unconsented bigint, machine bigint, refused jsonb)
   on conflict (host) do update set last_hit = greatest(t.last_hit, excluded.last_hit), hits = t.hits + excluded.hits,
     unconsented_hits = t.unconsented_hits + excluded.unconsented_hits, machine_hits = t.machine_hits + excluded.machine_hits,
     date_modified = now(), refused = (
       select coalesce(jsonb_object_agg(name, count), '{}') from (
         select name, sum(value::bigint) as count
         from (select * from jsonb_each_text(t.refused) union all select * from jsonb_each_text(excluded.refused)) as both_ (name, value)
         group by name) summed)`,
);

/** Adds counts to those of the database. Sites beyond the limit are counted together. */
async function addCounts(transaction: Transaction, counted: ReadonlyMap<string, Counts>): Promise<void> {
  lock.exclusive(transaction);
  const known = new Set((await transaction.query(knownStatement)).map(({ host }) => host));
  if (known.size >= SITES_MAX)
    for (const { host } of await transaction.query(forgetStatement)) known.delete(host);
  const placed = new Map<string, Counts>();
  for (const [host, counts] of counted) {
    const hasRoom = known.has(host) || known.size < SITES_MAX;
    const name = hasRoom ? host : OTHERS;
    known.add(name);
    const sum = placed.get(name) ?? noCounts();
    addTo(sum, counts);
    placed.set(name, sum);
  }
  const rows = [...placed].map(([host, { lastHit, hits, unconsented, machine, refused }]) => ({
    ...{ host, hits, unconsented, machine },
    last_hit: lastHit > 0 ? new Date(lastHit).toISOString() : null,
    refused: Object.fromEntries(refused),
  }));
  transaction.execute(addStatement, [JSON.stringify(rows)]);
}

const listStatement = prepared(
  "tracked_sites_list",
  `select host, last_hit, hits, unconsented_hits, machine_hits, refused from tracked_sites
   order by last_hit desc nulls last, host limit ${SITES_MAX + 1}`,
);

export function trackedSiteHandlers(database: Database): Handlers<typeof TrackedSiteService> {
  return {
    async listTrackedSites(_request, { deadlineMs }) {
      const rows = await database.query(listStatement, [], deadlineMs);
      const sites = rows.map((row) => ({
        host: row.host ?? "",
        ...(row.last_hit && { lastHit: timestampFromText(row.last_hit) }),
        hits: Number(row.hits),
        refused: Buffer.from(row.refused ?? "{}"),
        consent: Number(row.unconsented_hits),
        machine: Number(row.machine_hits),
      }));
      return { sites };
    },
  };
}
