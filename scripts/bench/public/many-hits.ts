import { Client } from "pg";
import { medianRound } from "../compare.ts";
import { measure, type Round, type Target } from "../measure.ts";
import { percentile } from "../statistics.ts";
import { CONNECTIONS } from "../workloads.ts";
import { hitOf } from "./workloads.ts";

/** A hit, and a page of a contact's hits, among so many. */
export interface AmongHits {
  hits: number;
  devices: number;
  hit: Round;
  /** Milliseconds of the statement that reads the latest ten of a contact. */
  p50: number;
  p95: number;
}

/** A tenth as many devices as hits. */
const HITS_OF_A_DEVICE = 10;
const FEW = 10_000;
const ROUNDS = 3;
const PAGES = 1_000;
const DAYS = 60;
const SLICE = 1_000_000;

const ID = `(lpad(to_hex((extract(epoch from date_hit) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
  || 'a' || substr(md5(n::text), 4, 15))::uuid`;
/** The time of a hit by its number: evenly over the days, in whole milliseconds, which its id begins with (RFC 9562, 5.7). */
const TIME = `date_trunc('milliseconds', now() - make_interval(secs => ($2::integer - n) * ${DAYS} * 86400.0 / $2::integer))`;
const LATEST = `select id, date_hit, date_left, url, url_title, page_id, redirect_id, code, referer
  from content.page_hits where contact_id = $1 order by date_hit desc, id desc limit 10`;

/** The same with ten thousand hits and with `hits`: tables are emptied, so this comes last. */
export async function measureManyHits(
  target: Target,
  databaseUrl: string,
  options: { hits: number; contacts: number; seconds: number; drained: () => Promise<void> },
): Promise<AmongHits[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const results: AmongHits[] = [];
    for (const hits of [FEW, options.hits]) results.push(await measureAmong(target, client, hits, options));
    return results;
  } finally {
    await client.end();
  }
}

async function measureAmong(
  target: Target,
  client: Client,
  hits: number,
  { contacts, seconds, drained }: { contacts: number; seconds: number; drained: () => Promise<void> },
): Promise<AmongHits> {
  const devices = Math.ceil(hits / HITS_OF_A_DEVICE);
  await loadHits(client, { hits, devices, contacts });
  const latencies: number[] = [];
  for (let number = 0; number < PAGES; number += 1) {
    const contactId = 1 + Math.floor(Math.random() * Math.min(devices, contacts));
    const startedAt = performance.now();
    await client.query({ name: "latest", text: LATEST, values: [contactId] });
    latencies.push(performance.now() - startedAt);
  }
  const round = (seconds: number) =>
    measure(target, {
      connections: CONNECTIONS,
      seconds,
      settled: drained,
      request: () => hitOf({ devices }),
    });
  await round(1);
  const rounds: Round[] = [];
  for (let number = 1; number <= ROUNDS; number += 1) rounds.push(await round(seconds));
  latencies.sort((one, other) => one - other);
  const [p50, p95] = [percentile(latencies, 0.5), percentile(latencies, 0.95)];
  return { hits, devices, hit: medianRound(rounds), p50, p95 };
}

/** Rows as a hit leaves them in both services, written by Postgres itself. */
async function loadHits(
  client: Client,
  { hits, devices, contacts }: { hits: number; devices: number; contacts: number },
): Promise<void> {
  await client.query(
    "truncate content.page_hits, content.first_visits, content.visitor_devices, contact.page_hits",
  );
  for (let first = 1; first <= hits; first += SLICE) {
    const last = Math.min(hits, first + SLICE - 1);
    await client.query(
      `insert into content.page_hits (id, version, contact_id, date_hit, ip, code, url, url_title, user_agent, page_language,
         browser_languages, tracking_id, query, is_unique, verdict)
       select ${ID}, 1, 1 + (n - 1) % $3::integer % $4::integer, date_hit, '127.0.0.1', 200,
         'https://shop.example/products/' || n % 1000, 'A product', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'en',
         '["en-GB", "en"]', 'bench' || lpad((1 + (n - 1) % $3::integer)::text, 18, '0'), '{"counter": "3"}', false, 'human'
       from (select n, ${TIME} as date_hit from generate_series($1::integer, $5::integer) n) x`,
      [first, hits, devices, contacts, last],
    );
  }
  await client.query(
    `insert into contact.page_hits (id, version, contact_id, date_hit, url, url_title)
     select id, version, contact_id, date_hit, url, url_title from content.page_hits`,
  );
  await client.query(
    `insert into content.first_visits (contact_id, target)
     select 1 + (n - 1) % $2::integer, 'page:' || (n - 1) / $2::integer from generate_series(1, $1::integer) n`,
    [devices, contacts],
  );
  // The latest hit of each browser is among the last of all.
  await client.query(
    `insert into content.visitor_devices (id, contact_id, shown_contact_id, last_seen, last_hit_id)
     select tracking_id, contact_id, contact_id, date_hit, id from (
       select * from content.page_hits order by date_hit desc limit $1::integer) latest on conflict do nothing`,
    [devices],
  );
  await client.query("vacuum analyze");
  await client.query("checkpoint");
}
