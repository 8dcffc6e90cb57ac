import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { callApi } from "./call-api.ts";
import { CUSTOM_ALIAS, type MainQuery, mainQueries, SEGMENT_ALIAS } from "./main-queries.ts";
import type { Target } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { explainQueries, plansText, type RecordedStatement } from "./query-plans.ts";
import { schemaUrl } from "./schema-url.ts";
import { waitForBuild } from "./segment-speed.ts";
import { percentile } from "./statistics.ts";

export interface ListLatency {
  name: string;
  /** Milliseconds of our API, and of its statements sent to Postgres by themselves, side by side. */
  ours: { p50: number; p95: number };
  raw: { p50: number; p95: number };
}

const REQUESTS = 40;
const WARM_UP = 5;
const PLANS_FILE = join(import.meta.dirname, "../../docs/query-plans.md");

/** How long each of the main lists takes, through the API and as bare SQL; writes down how they are answered, if asked to. */
export async function measureListLatency(
  target: Target,
  databaseUrl: string,
  { contacts, writesPlans }: BenchOptions,
): Promise<ListLatency[]> {
  await prepareData(target, databaseUrl);
  const queries = mainQueries(contacts);
  const plans = await explainQueries(schemaUrl(databaseUrl, "contact"), queries);
  if (writesPlans) writeFileSync(PLANS_FILE, plansText(plans, contacts));
  const latencies: ListLatency[] = [];
  for (const { query, statements } of plans) {
    latencies.push(await measureOne(target, schemaUrl(databaseUrl, "contact"), query, statements));
  }
  return latencies;
}

async function measureOne(
  target: Target,
  databaseUrl: string,
  query: MainQuery,
  statements: RecordedStatement[],
): Promise<ListLatency> {
  const clients = statements.map(() => new Client({ connectionString: databaseUrl }));
  for (const client of clients) await client.connect();
  const raw = () =>
    Promise.all(
      statements.map(({ text, values }, index) => clients[index]?.query({ name: "raw", text, values })),
    );
  const path = query.behind ? await pathBehind(target, query.path, query.behind) : query.path;
  const ours = () => callApi(target, "GET", path);
  const times: { ours: number[]; raw: number[] } = { ours: [], raw: [] };
  for (let turn = -WARM_UP; turn < REQUESTS; turn += 1) {
    const [oursMs, rawMs] = [await timed(ours), await timed(raw)];
    if (turn < 0) continue;
    times.ours.push(oursMs);
    times.raw.push(rawMs);
  }
  for (const client of clients) await client.end();
  const figures = (list: number[]) => {
    const sorted = list.toSorted((one, other) => one - other);
    return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) };
  };
  return { name: query.name, ours: figures(times.ours), raw: figures(times.raw) };
}

const WALKED_PAGE = 10_000;

/** The path of the page by cursor behind so many rows: cursors are good for pages of any size. */
async function pathBehind(target: Target, path: string, rows: number): Promise<string> {
  const url = new URL(path, "http://localhost/api/");
  const size = Math.min(WALKED_PAGE, rows);
  const members = { cursor: "", limit: String(size), count: "none", "select[]": "id" };
  for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value);
  for (let passed = 0; passed < rows; passed += size) {
    const answer = await fetch(`${target.url}${url.pathname}${url.search}`, { headers: target.headers });
    await answer.arrayBuffer();
    const [, next] = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "") ?? [];
    if (next === undefined) throw new Error(`${path} has no page behind ${passed} rows`);
    url.search = new URL(next, url).search;
  }
  for (const name of ["limit", "count", "select[]"]) url.searchParams.delete(name);
  return `${url.pathname}${url.search}`.slice("/api/".length);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** A tenth of the contacts get a value of an added field, a hundredth a tag, and a segment is built. */
async function prepareData(target: Target, databaseUrl: string): Promise<void> {
  const { field } = await callApi(target, "POST", "fields/contact/new", {
    label: CUSTOM_ALIAS,
    alias: CUSTOM_ALIAS,
  });
  const { tag } = await callApi(target, "POST", "tags/new", { tag: "bench" });
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`update contact.contacts set custom = jsonb_build_object('${field?.id}', 'code ' || id % 5000)
      where id % 10 = 0`);
    await client.query(`update contact.contacts set tag_ids = array[${tag?.id}] where id % 100 = 0`);
    const filters = [{ field: "city", object: "lead", operator: "=", filter: "Paris" }];
    const segment = { name: SEGMENT_ALIAS, alias: SEGMENT_ALIAS, filters };
    const { list } = await callApi(target, "POST", "segments/new", segment);
    await waitForBuild(target, Number(list?.id));
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
