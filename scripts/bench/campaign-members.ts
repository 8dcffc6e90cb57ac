import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { callApi } from "./call-api.ts";
import { type Target, untilQuiet } from "./measure.ts";
import { waitForBuild } from "./segment-speed.ts";

/** All members of a segment come into a campaign, or leave it. */
export interface CampaignMembers {
  name: string;
  count: number;
  oursMs: number;
  rawMs: number;
}

const POLL_MS = 200;
const LIMIT_MS = 300_000;

/** A segment of all contacts becomes the source of a campaign, and then is none any more; beside one bare statement for each. */
export async function measureCampaignMembers(
  target: Target,
  databaseUrl: string,
): Promise<CampaignMembers[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const filters = [{ field: "email", object: "lead", operator: "!empty" }];
    const { list } = await callApi(target, "POST", "segments/new", { name: "Bench members", filters });
    const { added: count } = await waitForBuild(target, list.id);
    const known = `select count(*)::int as count from campaign.segment_contacts where segment_id = ${list.id}`;
    await until(client, known, count);
    await untilQuiet(target.pids);
    const body = { name: "Bench members", lists: [{ id: list.id }] };
    const enteringAt = performance.now();
    const { campaign } = await callApi(target, "POST", "campaigns/new", body);
    const members = `select count(*)::int as count from campaign.campaign_contacts
      where campaign_id = ${campaign.id} and not manually_removed`;
    await until(client, members, count);
    const entered = performance.now() - enteringAt;
    await untilQuiet(target.pids);
    const leavingAt = performance.now();
    await callApi(target, "PUT", `campaigns/${campaign.id}/edit`, { name: body.name, isPublished: true });
    await until(client, members, 0);
    const left = performance.now() - leavingAt;
    await untilQuiet(target.pids);
    const two = await enterTwoAtOnce(target, client, { filters, segmentId: Number(list.id), count });
    const raw = await measureRaw(client, Number(list.id));
    return [
      { name: "a segment enters a campaign", count, oursMs: entered, rawMs: raw.enterMs },
      { name: "and leaves it", count, oursMs: left, rawMs: raw.leaveMs },
      {
        name: "two segments enter two campaigns at once",
        count: 2 * count,
        oursMs: two,
        rawMs: 2 * raw.enterMs,
      },
    ];
  } finally {
    await client.query("drop table if exists bench.campaign_contacts");
    await client.end();
  }
}

/** Milliseconds until all contacts of two segments are in two campaigns, each with a segment of its own. */
async function enterTwoAtOnce(
  target: Target,
  client: Client,
  { filters, segmentId, count }: { filters: object[]; segmentId: number; count: number },
): Promise<number> {
  const { list } = await callApi(target, "POST", "segments/new", { name: "Bench members, too", filters });
  await waitForBuild(target, list.id);
  const known = `select count(*)::int as count from campaign.segment_contacts where segment_id = ${list.id}`;
  await until(client, known, count);
  await untilQuiet(target.pids);
  const startedAt = performance.now();
  const campaigns = await Promise.all(
    [segmentId, Number(list.id)].map((id) =>
      callApi(target, "POST", "campaigns/new", { name: `Bench members of ${id}`, lists: [{ id }] }),
    ),
  );
  const ids = campaigns.map(({ campaign }) => Number(campaign.id));
  const members = `select count(*)::int as count from campaign.campaign_contacts
    where campaign_id in (${ids}) and not manually_removed`;
  await until(client, members, 2 * count);
  const tookMs = performance.now() - startedAt;
  await untilQuiet(target.pids);
  return tookMs;
}

async function measureRaw(client: Client, segmentId: number): Promise<{ enterMs: number; leaveMs: number }> {
  await client.query("create table bench.campaign_contacts (like campaign.campaign_contacts including all)");
  const event = `insert into bench.outbox (subject, aggregate_id, aggregate_version, payload)
    select 'campaign.membership_changed', id, version, convert_to(row_to_json(changed)::text, 'utf8') from changed`;
  const enteringAt = performance.now();
  await client.query(`with changed as (
      insert into bench.campaign_contacts
        (campaign_id, contact_id, version, date_added, manually_added, manually_removed, rotation)
      select 1, contact_id, 1, now(), false, false, 1 from campaign.segment_contacts
      where segment_id = ${segmentId} returning *)
    ${event}`);
  const enterMs = performance.now() - enteringAt;
  const leavingAt = performance.now();
  await client.query(`with changed as (
      update bench.campaign_contacts set manually_removed = true, date_last_exited = now(), version = version + 1
      where campaign_id = 1 returning *)
    ${event}`);
  return { enterMs, leaveMs: performance.now() - leavingAt };
}

async function until(client: Client, query: string, count: number): Promise<void> {
  const giveUpAt = Date.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await client.query(query);
    if (rows[0].count === count) return;
    if (Date.now() > giveUpAt) throw new Error(`${rows[0].count} members, not ${count}`);
    await pause(POLL_MS);
  }
}
