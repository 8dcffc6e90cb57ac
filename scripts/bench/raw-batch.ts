import { Pool } from "pg";
import { insertBatchSilently } from "./bare-statements.ts";
import { medianRound } from "./compare.ts";
import { cpuMicroseconds } from "./cpu-time.ts";
import type { Round } from "./measure.ts";
import { percentile } from "./statistics.ts";
import { BATCH_CONNECTIONS, batchBody } from "./workloads.ts";

const ROUNDS = 3;

/** The batch as one SQL statement that nothing comes back from, sent by this process: no server, no answer to write. */
export async function measureRawBatch(databaseUrl: string, pids: number[], seconds: number): Promise<Round> {
  const pool = new Pool({ connectionString: databaseUrl, max: BATCH_CONNECTIONS });
  try {
    const rounds: Round[] = [];
    for (let number = 1; number <= ROUNDS; number += 1) rounds.push(await rawRound(pool, pids, seconds));
    return medianRound(rounds);
  } finally {
    await pool.end();
  }
}

async function rawRound(pool: Pool, pids: number[], seconds: number): Promise<Round> {
  const latencies: number[] = [];
  const cpuBefore = cpuMicroseconds(pids);
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const insertUntilEnd = async () => {
    while (performance.now() < endAt) {
      const contacts = batchBody();
      const sentAt = performance.now();
      const payloads = contacts.map((contact) => Buffer.from(JSON.stringify(contact)));
      await pool.query({ ...insertBatchSilently, values: [JSON.stringify(contacts), payloads] });
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: BATCH_CONNECTIONS }, insertUntilEnd));
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    requestsPerSecond: latencies.length / ((performance.now() - startedAt) / 1000),
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    cpu: (cpuMicroseconds(pids) - cpuBefore) / latencies.length,
  };
}
