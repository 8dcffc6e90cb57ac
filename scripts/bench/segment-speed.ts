import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { callApi } from "./call-api.ts";
import type { Target } from "./measure.ts";
import { percentile } from "./statistics.ts";

/** A segment built through our own machinery and by one bare statement. */
export interface SegmentBuild {
  name: string;
  members: number;
  oursMs: number;
  rawMs: number;
}

export interface SegmentReaction {
  changes: number;
  /** Milliseconds from the answer of a PATCH to the member. */
  p50: number;
  p99: number;
}

const BUILD_LIMIT_MS = 300_000;
const ROUNDS = 3;

const FILTERS = [
  { glue: "and", field: "city", object: "lead", type: "text", operator: "in", filter: ["Paris", "Rome"] },
  { glue: "and", field: "position", object: "lead", type: "text", operator: "like", filter: "engineer" },
  { glue: "and", field: "points", object: "lead", type: "number", operator: "lte", filter: 1_000 },
];
/** The same as somebody who knows the tables would write it. */
const RAW_FILTERS = `lower(city) in ('paris', 'rome') and position ilike '%engineer%' and points <= 1000`;

/** A first build, and one that changes nothing: the best of three rounds of either side, in turn. */
export async function measureSegmentBuilds(target: Target, databaseUrl: string): Promise<SegmentBuild[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("set jit = off");
    await client.query("set search_path = contact, public");
    // The same rules hold in either table: what a reference costs is not our slowness.
    await client.query(`create table bare_members (like segment_contacts including all,
      foreign key (segment_id) references segments on delete cascade,
      foreign key (contact_id) references contacts on delete cascade)`);
    const first = { name: "first build", members: 0, oursMs: Infinity, rawMs: Infinity };
    const again = { name: "nothing changed", members: 0, oursMs: Infinity, rawMs: Infinity };
    for (let round = 1; round <= ROUNDS; round += 1) {
      const name = `Bench build ${round}`;
      const { list } = await callApi(target, "POST", "segments/new", { name, filters: FILTERS });
      const id = Number(list?.id);
      const built = await waitForBuild(target, id);
      first.oursMs = Math.min(first.oursMs, built.milliseconds);
      first.rawMs = Math.min(first.rawMs, await timed(() => client.query(rawBuild(id))));
      for (const isPublished of [false, true])
        await callApi(target, "PATCH", `segments/${id}/edit`, { isPublished });
      again.oursMs = Math.min(again.oursMs, (await waitForBuild(target, id)).milliseconds);
      again.rawMs = Math.min(again.rawMs, await timed(() => client.query(rawBuild(id))));
      first.members = built.added;
      again.members = built.added;
      const { rows } = await client.query(
        "select count(*)::int as count from bare_members where segment_id = $1",
        [id],
      );
      if (rows[0].count !== built.added) throw new Error(`${built.added} members, not ${rows[0].count}`);
      await callApi(target, "DELETE", `segments/${id}/delete`);
    }
    return [first, again];
  } finally {
    await client.query("drop table if exists bare_members");
    await client.end();
  }
}

/** Adds and removes members by one statement over all contacts. */
function rawBuild(id: number): string {
  return `
    with matched as materialized (select id from contact.contacts where ${RAW_FILTERS}),
    added as (
      insert into bare_members (segment_id, contact_id, date_added)
      select ${id}, id, now() from matched
      where not exists (select from bare_members m where m.segment_id = ${id} and m.contact_id = matched.id)
      on conflict do nothing)
    delete from bare_members m where m.segment_id = ${id} and not m.manually_added
      and not exists (select from matched where matched.id = m.contact_id)`;
}

export async function waitForBuild(
  target: Target,
  id: number,
): Promise<{ added: number; milliseconds: number }> {
  const giveUpAt = Date.now() + BUILD_LIMIT_MS;
  for (;;) {
    const build = await callApi(target, "GET", `segments/${id}/build`);
    if (build.state === "done")
      return { added: Number(build.added), milliseconds: Number(build.lastBuiltSeconds) * 1000 };
    if (Date.now() > giveUpAt) throw new Error(`segment ${id} was not built: ${JSON.stringify(build)}`);
    await pause(100);
  }
}

const CHANGES_PER_SECOND = 200;
const REACTION_SECONDS = 10;
const POLL_MS = 10;
const REACTION_LIMIT_MS = 30_000;

/** How long after its PATCH a contact is a member, when 200 contacts a second change. */
export async function measureSegmentReaction(target: Target, databaseUrl: string): Promise<SegmentReaction> {
  const fax = `bench ${Date.now()}`;
  return measureReaction(target, databaseUrl, {
    name: "Bench reaction",
    filters: [{ field: "fax", object: "lead", operator: "=", filter: fax }],
    perSecond: CHANGES_PER_SECOND,
    change: (contactId) => callApi(target, "PATCH", `contacts/${contactId}/edit`, { fax }),
  });
}

export interface Reaction {
  /** A segment that the changes bring contacts into. */
  name: string;
  filters: object[];
  perSecond: number;
  /** Ends when the change is answered. */
  change(contactId: number): Promise<unknown>;
}

/** How long after the answer to a change its contact is a member, while contacts change one after the other at a steady rate. */
export async function measureReaction(
  target: Target,
  databaseUrl: string,
  { name, filters, perSecond, change }: Reaction,
): Promise<SegmentReaction> {
  const { list } = await callApi(target, "POST", "segments/new", { name, filters });
  const id = Number(list?.id);
  await waitForBuild(target, id);
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const waiting = new Map<number, number>();
  const latencies: number[] = [];
  const notice = async () => {
    const text = `select contact_id from contact.segment_contacts
      where segment_id = $1 and contact_id = any($2::integer[])`;
    const { rows } = await client.query(text, [id, [...waiting.keys()]]);
    for (const { contact_id } of rows) {
      latencies.push(Date.now() - (waiting.get(contact_id) ?? Number.NaN));
      waiting.delete(contact_id);
    }
  };
  const changes = perSecond * REACTION_SECONDS;
  const startedAt = Date.now();
  const edits: Promise<void>[] = [];
  try {
    while (edits.length < changes || waiting.size > 0) {
      const due = Math.min(changes, ((Date.now() - startedAt) / 1000) * perSecond);
      while (edits.length < due) {
        const contactId = edits.length + 1;
        edits.push(change(contactId).then(() => void waiting.set(contactId, Date.now())));
      }
      await Promise.all([notice(), pause(POLL_MS)]);
      if (Date.now() - startedAt > REACTION_SECONDS * 1000 + REACTION_LIMIT_MS)
        throw new Error(`${waiting.size} contacts did not become members`);
    }
    await Promise.all(edits);
    while (latencies.length < changes) await notice();
  } finally {
    await client.end();
  }
  latencies.sort((one, other) => one - other);
  return { changes, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
