import { bulkLane } from "@tidings/content/send/send-queue";
import { openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import type { Client } from "pg";
import { schemaUrl } from "../schema-url.ts";
import { percentile } from "../statistics.ts";
import type { SendingBench } from "./sending-bench.ts";

/** Claims of due sends from a ledger of so many rows. */
export interface Claims {
  rows: number;
  /** Milliseconds of a claim of 200. */
  p50: number;
  p95: number;
}

const FEW = 10_000;
const CLAIM = 200;
/** Rows that are chosen at once have one due time. */
const SLICE = 2_000;
const SCHEMA = "bench_ledger";

/** From a ledger of ten thousand rows and of `sends`, made by SQL, half of them sent and half of them waiting. */
export async function measureClaims({ client, databaseUrl, options }: SendingBench): Promise<Claims[]> {
  await client.query(`create schema ${SCHEMA}`);
  try {
    for (const table of ["sends", "broadcasts"])
      await client.query(
        `create table ${SCHEMA}.${table} (like content.${table} including all) with (fillfactor = 80)`,
      );
    const measured: Claims[] = [];
    for (const rows of [FEW, FEW, options.sends]) {
      await loadLedger(client, rows);
      measured.push({ rows, ...(await claimAll(databaseUrl, FEW / 2 / CLAIM)) });
    }
    // The first round warms up.
    return measured.slice(1);
  } finally {
    await client.query(`drop schema ${SCHEMA} cascade`);
  }
}

async function loadLedger(client: Client, rows: number): Promise<void> {
  await client.query(`truncate ${SCHEMA}.sends`);
  await client.query(
    `insert into ${SCHEMA}.sends (hash, email_id, email_version, family_id, broadcast_id, contact_id, chosen_contact_id, occasion, lane, address,
       list_id, source, source_id, state, due_at, date_sent)
     select gen_random_uuid(), 1, 1, 1, md5('bench')::uuid, n, n, 'list', 1, 'reader.' || n || '@example.com', 1, 'broadcast', 1,
       case when is_sent then 'sent' else 'waiting' end, now() - ($1 - n / ${SLICE}) * interval '1 millisecond', case when is_sent then now() end
     from (select n, n <= $1::integer / 2 as is_sent from generate_series(1, $1::integer) n) x`,
    [rows],
  );
  await client.query(`vacuum analyze ${SCHEMA}.sends`);
  await client.query("checkpoint");
}

/** Claims as a process of ours does that has nothing in flight. */
async function claimAll(databaseUrl: string, claims: number): Promise<{ p50: number; p95: number }> {
  const database = openDatabase({
    url: schemaUrl(databaseUrl, `${SCHEMA},content`),
    log: createLog("bench", "warn"),
  });
  const latencies: number[] = [];
  try {
    let after = 0;
    for (let number = 0; number < claims; number += 1) {
      const startedAt = performance.now();
      const claimed = await bulkLane.queue.claim(database, {
        ...{ shares: new Map(), size: CLAIM, after, limit: CLAIM },
      });
      latencies.push(performance.now() - startedAt);
      if (claimed.length !== CLAIM) throw new Error(`${claimed.length} sends claimed, not ${CLAIM}`);
      after = claimed.at(-1)?.group ?? 0;
    }
  } finally {
    await database.close();
  }
  latencies.sort((one, other) => one - other);
  return { p50: percentile(latencies, 0.5), p95: percentile(latencies, 0.95) };
}
