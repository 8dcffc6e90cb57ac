import autocannon from "autocannon";
import { Client } from "pg";
import { COPY_CONTACTS } from "./bare-statements.ts";
import { type Target, untilQuiet } from "./measure.ts";
import { nextNumber, SAMPLE_FIELDS, sampleContact } from "./sample-contact.ts";
import { BATCH_SIZE, batchRequest } from "./workloads.ts";

const CONNECTIONS = 4;

/** More than this many are not a matter of our speed: the rest goes straight into the tables. */
export const THROUGH_API_MAX = 100_000;
const SLICE = 10_000;

/** Creates contacts through the API, copies them for the bare server, and waits until all is quiet. Returns seconds. */
export async function loadContacts(target: Target, databaseUrl: string, count: number): Promise<number> {
  const startedAt = performance.now();
  const { errors, timeouts, non2xx } = await autocannon({
    url: target.url,
    connections: CONNECTIONS,
    amount: Math.ceil(Math.min(count, THROUGH_API_MAX) / BATCH_SIZE),
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
    await insertContacts(client, { from: THROUGH_API_MAX + 1, to: count });
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

/** Inserts rows as the contact service writes them, with the ids from `from` to `to`. A trigger adds the texts that are searched. */
export async function insertContacts(
  client: Client,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const columns = SAMPLE_FIELDS.join(", ");
  const record = `json_to_recordset($1::json) as x(id integer, ${SAMPLE_FIELDS.map((name) => `${name} text`).join(", ")})`;
  await client.query("set search_path = contact, public");
  for (let first = from; first <= to; first += SLICE) {
    const ids = Array.from({ length: Math.min(SLICE, to + 1 - first) }, (_, index) => first + index);
    const contacts = JSON.stringify(ids.map((id) => ({ id, ...sampleContact(nextNumber()) })));
    await client.query(
      `insert into contacts (id, date_added, date_identified, created_by, created_by_user, ${columns}) overriding system value
       select id, now(), now(), 1, 'Bench', ${columns} from ${record}`,
      [contacts],
    );
    const identify =
      "insert into contact_identifiers (field, value, contact_id) select 'email', lower(email), id";
    await client.query(`${identify} from ${record}`, [contacts]);
  }
  await client.query("select setval(pg_get_serial_sequence('contacts', 'id'), $1)", [Math.max(to, 1)]);
  await client.query("reset search_path");
}

function jsonHeaders(target: Target): Record<string, string> {
  return { ...target.headers, "content-type": "application/json" };
}
