import autocannon from "autocannon";
import { Client } from "pg";
import { COPY_CONTACTS } from "./bare-statements.ts";
import { type Target, untilQuiet } from "./measure.ts";
import { BATCH_SIZE, batchRequest } from "./workloads.ts";

const CONNECTIONS = 4;

/** Creates contacts through the API, copies them for the bare server, and waits until all is quiet. Returns seconds. */
export async function loadContacts(target: Target, databaseUrl: string, count: number): Promise<number> {
  const startedAt = performance.now();
  const { errors, timeouts, non2xx } = await autocannon({
    url: target.url,
    connections: CONNECTIONS,
    amount: Math.ceil(count / BATCH_SIZE),
    timeout: 60,
    requests: [{ setupRequest: () => ({ ...batchRequest(), headers: jsonHeaders(target) }) }],
  });
  const seconds = (performance.now() - startedAt) / 1000;
  if (errors + timeouts + non2xx > 0) {
    throw new Error(`loading failed: ${errors} errors, ${timeouts} time-outs, ${non2xx} answers not 2xx`);
  }
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select count(*)::int as count, max(id) as max from contact.contacts",
    );
    const { count: stored, max } = rows[0];
    if (stored < count || max !== stored) throw new Error(`${stored} contacts stored, the last id is ${max}`);
    await client.query(COPY_CONTACTS);
    await untilQuiet(target.pids);
    await client.query("vacuum analyze");
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  return seconds;
}

function jsonHeaders(target: Target): Record<string, string> {
  return { ...target.headers, "content-type": "application/json" };
}
