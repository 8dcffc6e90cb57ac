import { slices } from "@tidings/runtime/slices";
import { callApi } from "../call-api.ts";
import { untilQuiet } from "../measure.ts";
import { beginBroadcast, cancelBroadcast, publishEmail, type Readers, untilBroadcast } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";

/** Choosing all contacts of a segment that are in no excluded one, and looking again when none is left, beside one statement each. */
export interface Choosing {
  name: string;
  count: number;
  oursMs: number;
  rawMs: number;
}

const ROUNDS = 3;
/** One contact in so many is in the excluded segment. */
const EXCLUDED_EVERY = 10;
const ADDED_MAX = 200;

/** SQL: the members of a segment (`$1`), and not of another (`$3`), who may get an email (`$2`), with the address and the segment that the ledger notes. */
const MEMBERS = `
  select c.id as contact_id, c.email as address, m.segment_id
  from contact.segment_contacts m join contact.contacts c on c.id = m.contact_id
  where m.segment_id = $1 and not m.manually_removed and c.email is not null and not c.do_not_contact ? 'email'
    and not exists (select from contact.segment_contacts x where x.segment_id = $3 and x.contact_id = c.id and not x.manually_removed)`;
const CHOOSE = `
  insert into bench.sends (hash, email_id, email_version, family_id, broadcast_id, contact_id, chosen_contact_id, occasion, lane, address,
    list_id, source, source_id)
  select gen_random_uuid(), $2, 1, $2, md5($2::integer::text)::uuid, contact_id, contact_id, 'list', 1, address, segment_id, 'broadcast', $2
  from (${MEMBERS}) m on conflict do nothing`;
const LOOK_AGAIN = `
  select count(*)::integer as count from (${MEMBERS}) m
  where not exists (select from bench.sends s where s.family_id = $2 and s.chosen_contact_id = m.contact_id and s.occasion = 'list')
    and not exists (select from bench.sends s where s.family_id = $2 and lower(s.address) = lower(m.address) and s.occasion = 'list')`;

/** The best of three rounds of either side, in turn. The sink holds the mails of what was chosen back, and their sends are cancelled. */
export async function measureChoosing(bench: SendingBench): Promise<Choosing[]> {
  const { target, client, sink, readers, web } = bench;
  const excluded = await gatherExcluded(bench);
  const count = readers.count - excluded.count;
  await client.query("create table bench.sends (like content.sends including all) with (fillfactor = 80)");
  const first = { name: "choosing a segment", count, oursMs: Infinity, rawMs: Infinity };
  const again = { name: "nobody left to choose", count, oursMs: Infinity, rawMs: Infinity };
  try {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const emailId = await publishEmail(target, readers, { excludedLists: [excluded.segmentId] });
      await untilQuiet(target.pids);
      sink.hold();
      const broadcast = beginBroadcast(target, client, emailId);
      const chosenMs = await timed(async () =>
        untilBroadcast(client, await broadcast, "state <> 'choosing'"),
      );
      sink.release();
      await cancelBroadcast(target, client, await broadcast);
      await web.drained();
      await client.query("analyze content.sends");
      await untilQuiet(target.pids);
      const second = beginBroadcast(target, client, emailId);
      const noneMs = await timed(async () => untilBroadcast(client, await second, "is_over"));
      await (await second).answered;
      const values = [readers.segmentId, emailId, excluded.segmentId];
      first.oursMs = Math.min(first.oursMs, chosenMs);
      first.rawMs = Math.min(first.rawMs, await timed(() => client.query(CHOOSE, values)));
      await client.query("analyze bench.sends");
      again.oursMs = Math.min(again.oursMs, noneMs);
      again.rawMs = Math.min(again.rawMs, await timed(() => client.query(LOOK_AGAIN, values)));
      await requireChosen(client, { emailId, count });
    }
    return [first, again];
  } finally {
    await client.query("drop table bench.sends");
  }
}

/** A segment with some of the readers, whose members get no mail. */
async function gatherExcluded({ target, client, readers }: SendingBench): Promise<Readers> {
  const { list } = await callApi(target, "POST", "segments/new", { name: "Bench excluded" });
  const { rows } = await client.query(
    "select contact_id from contact.segment_contacts where segment_id = $1 and contact_id % $2 = 0",
    [readers.segmentId, EXCLUDED_EVERY],
  );
  const ids = rows.map(({ contact_id }) => contact_id);
  for (const slice of slices(ids, ADDED_MAX))
    await callApi(target, "POST", `segments/${list.id}/contacts/add`, { ids: slice });
  return { segmentId: Number(list.id), count: ids.length };
}

/** Throws unless either side chose all contacts that it should. */
async function requireChosen(
  client: SendingBench["client"],
  { emailId, count }: { emailId: number; count: number },
): Promise<void> {
  const { rows } = await client.query(
    `select (select count(*)::integer from content.sends where email_id = $1) as ours,
       (select count(*)::integer from bench.sends where email_id = $1) as raw`,
    [emailId],
  );
  const { ours, raw } = rows[0];
  if (ours !== count || raw !== count)
    throw new Error(`${ours} contacts chosen, and ${raw} by one statement, not ${count}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
