import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { type Database, openDatabase } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Outcome } from "@tidings/jobs/outcome";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { createOutbox } from "@tidings/messaging/outbox";
import { project } from "@tidings/projection/projecting";
import type { Projection } from "@tidings/projection/projection";
import { CampaignMembershipChangedSchema } from "@tidings/proto/tidings/campaign/v1/events";
import {
  ContactDeletedSchema,
  ContactMergedSchema,
  ContactSegmentsSchema,
  SegmentMembershipChangedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { addByHand, removeByHand } from "./by-hand.ts";
import { contacts } from "./contacts.ts";
import { requestMembers } from "./follow-sources.ts";
import { formMembers } from "./form-members.ts";
import { lockCampaigns, lockSegmentsToRead } from "./locks.ts";
import { memberOptions } from "./member-work.ts";
import { segmentMembers } from "./segment-members.ts";

const log = createLog("test", "silent");
const outbox = createOutbox();
let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("campaign"), log });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const deadline = () => Date.now() + 20_000;
const run = (text: string, values: unknown[] = []): Promise<Row[]> =>
  database.query({ text }, values, deadline());

let ids = 1_000;
let events = 0;
const nextId = () => ++ids;

async function newCampaign(
  segmentIds: number[],
  allowRestart: boolean,
  formIds: number[] = [],
): Promise<number> {
  const id = nextId();
  await run(
    `insert into campaigns (id, version, is_published, date_added, name, alias, allow_restart, canvas_settings, lists, forms, events)
     values ($1, 1, true, now(), 'A', $2, $3, '[]', '[]', $4, '[]')`,
    [id, `campaign-${id}`, allowRestart, JSON.stringify(formIds)],
  );
  await run("insert into campaign_segments select $1, unnest($2::integer[])", [id, segmentIds]);
  return id;
}

async function newSegment(): Promise<number> {
  const id = nextId();
  await run(
    "insert into segments (id, version, name, alias, is_published, is_global) values ($1, 1, 'S', 's', true, true)",
    [id],
  );
  return id;
}

async function newContacts(count: number): Promise<number[]> {
  const made = Array.from({ length: count }, nextId);
  await run("insert into contacts (id, version) select unnest($1::integer[]), 1", [made]);
  return made;
}

function event(subject: string, payload: Uint8Array, id: number, version = 1): Event {
  events += 1;
  return {
    id: `00000000-0000-4000-8000-${String(events).padStart(12, "0")}`,
    subject: `tidings.contact.${subject}`,
    aggregateId: id,
    aggregateVersion: version,
    time: new Date().toISOString(),
    traceparent: undefined,
    actor: undefined,
    payload,
  };
}

const moved = (segmentId: number, contactIds: number[], isAdded: boolean) =>
  event(
    "segment.membership_changed",
    toBinary(
      SegmentMembershipChangedSchema,
      create(SegmentMembershipChangedSchema, {
        segmentId,
        contactIds,
        action: isAdded ? "added" : "removed",
      }),
    ),
    segmentId,
  );
const merged = (id: number, mergedIntoId: number) =>
  event(
    "contact.merged",
    toBinary(ContactMergedSchema, create(ContactMergedSchema, { mergedIntoId })),
    id,
    2,
  );
const deleted = (id: number, mergedIntoId?: number) =>
  event(
    "contact.deleted",
    toBinary(ContactDeletedSchema, create(ContactDeletedSchema, mergedIntoId ? { mergedIntoId } : {})),
    id,
    3,
  );

const listed = (contactId: number, segmentIds: number[]) =>
  event(
    "contact_segments.listed",
    toBinary(ContactSegmentsSchema, create(ContactSegmentsSchema, { segmentIds })),
    contactId,
  );

const submitted = (formId: number, contactId: number): Event => ({
  ...event(
    "form.submitted",
    toBinary(FormSubmittedSchema, create(FormSubmittedSchema, { formId, contactId })),
    nextId(),
  ),
  subject: "tidings.content.form.submitted",
});

const projections: Projection[] = [contacts(outbox), segmentMembers(outbox), formMembers(outbox)];
const tell = (...told: Event[]) => project({ database, projections }, "test", told);

const hand = (campaignId: number, contactId: number, action: "add" | "remove", isExit = false) =>
  database.transaction(deadline(), (transaction) =>
    action === "add"
      ? addByHand(transaction, outbox, { campaignId, contactIds: [contactId] })
      : removeByHand(transaction, outbox, { campaignId, contactIds: [contactId], isExit }),
  );

/** Brings a campaign in step, by slices of two contacts. */
async function rebuild(campaignId: number): Promise<void> {
  await database.transaction(deadline(), async (transaction) => requestMembers(transaction, [campaignId]));
  let outcome: Outcome | undefined;
  do outcome = await stepJobs(memberOptions({ database, outbox, log }, 2));
  while (outcome);
}

interface Member {
  isAdded: boolean;
  isRemoved: boolean;
  hasExited: boolean;
  rotation: number;
}

const readMember = async (campaignId: number, contactId: number): Promise<Member | undefined> => {
  const [row] = await run(
    `select manually_added, manually_removed, date_last_exited, rotation from campaign_contacts
     where campaign_id = $1 and contact_id = $2`,
    [campaignId, contactId],
  );
  return (
    row && {
      isAdded: row.manually_added === "t",
      isRemoved: row.manually_removed === "t",
      hasExited: row.date_last_exited !== null,
      rotation: Number(row.rotation),
    }
  );
};

/** The rules, read plainly. */
const model = {
  add: (member: Member | undefined, allowRestart: boolean): Member | undefined => {
    if (!member) return { isAdded: true, isRemoved: false, hasExited: false, rotation: 1 };
    if (!member.isRemoved && !allowRestart) return member;
    return { ...member, isAdded: true, isRemoved: false, rotation: member.rotation + 1 };
  },
  remove: (member: Member | undefined, isExit: boolean): Member | undefined =>
    member && { ...member, isAdded: false, isRemoved: true, hasExited: isExit },
  follow(member: Member | undefined, isWanted: boolean, allowRestart: boolean): Member | undefined {
    if (!member)
      return isWanted ? { isAdded: false, isRemoved: false, hasExited: false, rotation: 1 } : undefined;
    if (!member.isRemoved)
      return isWanted || member.isAdded ? member : { ...member, isRemoved: true, hasExited: true };
    if (!isWanted || !allowRestart || !member.hasExited) return member;
    return { ...member, isAdded: false, isRemoved: false, rotation: member.rotation + 1 };
  },
};

const step = fc.oneof(
  fc.record({ kind: fc.constantFrom("add", "remove", "exit", "rebuild", "submit", "submit twice") }),
  // A change of the publish dates or of the switch.
  fc.record({
    kind: fc.constant("window"),
    state: fc.constantFrom(
      "is_published = true",
      "is_published = false",
      "publish_up = now() + interval '1 day'",
      "publish_up = now() - interval '1 day'",
      "publish_down = now() - interval '1 second'",
      "publish_down = now() + interval '1 day'",
    ),
  }),
  fc.record({ kind: fc.constant("segment"), which: fc.constantFrom(0, 1), isIn: fc.boolean() }),
);

const CLOSED = new Set([
  "is_published = false",
  "publish_up = now() + interval '1 day'",
  "publish_down = now() - interval '1 second'",
]);

test("whatever is done to a contact, its membership is what the rules say, and its last event says so", async () => {
  const segmentIds = [await newSegment(), await newSegment()];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, allowRestart) => {
      const formId = nextId();
      const campaignId = await newCampaign(segmentIds, allowRestart, [nextId(), formId]);
      const [contactId = 0] = await newContacts(1);
      const inSegments = new Set<number>();
      const states = new Map<string, string>();
      const isRunning = () => ![...states.values()].some((state) => CLOSED.has(state));
      const follow = (member: Member | undefined) =>
        isRunning() ? model.follow(member, inSegments.size > 0, allowRestart) : member;
      let expected: Member | undefined;
      for (const one of steps) {
        if (one.kind === "add") {
          await hand(campaignId, contactId, "add");
          expected = model.add(expected, allowRestart);
        } else if (one.kind === "remove" || one.kind === "exit") {
          await hand(campaignId, contactId, "remove", one.kind === "exit");
          expected = model.remove(expected, one.kind === "exit");
        } else if (one.kind.startsWith("submit")) {
          const events = one.kind === "submit" ? 1 : 2;
          await tell(...Array.from({ length: events }, () => submitted(formId, contactId)));
          for (let count = 0; isRunning() && count < events; count += 1)
            expected = model.add(expected, allowRestart);
        } else if ("state" in one) {
          await run(`update campaigns set ${one.state} where id = $1`, [campaignId]);
          states.set(one.state.split(" ")[0] ?? "", one.state);
        } else if ("which" in one) {
          const segmentId = segmentIds[one.which] ?? 0;
          await tell(moved(segmentId, [contactId], one.isIn));
          if (one.isIn) inSegments.add(segmentId);
          else inSegments.delete(segmentId);
          expected = follow(expected);
        } else {
          await rebuild(campaignId);
          expected = follow(expected);
        }
        assert.deepEqual(
          await readMember(campaignId, contactId),
          expected,
          JSON.stringify([allowRestart, steps, one]),
        );
      }
      await assertTold(campaignId, contactId);
    }),
    { numRuns: 40 },
  );
});

/** A replica keeps the event with the highest version. */
async function assertTold(campaignId: number, contactId: number): Promise<void> {
  const [member] = await run(
    "select id, version from campaign_contacts where campaign_id = $1 and contact_id = $2",
    [campaignId, contactId],
  );
  if (!member) return;
  const [latest] = await run(
    `select aggregate_version, encode(payload, 'base64') as payload from outbox
     where subject like '%membership_changed' and aggregate_id = $1 order by aggregate_version desc limit 1`,
    [member.id],
  );
  const kept = await readMember(campaignId, contactId);
  const told = fromBinary(CampaignMembershipChangedSchema, Buffer.from(latest?.payload ?? "", "base64"));
  assert.equal(latest?.aggregate_version, member.version);
  assert.deepEqual(
    [told.campaignId, told.contactId, told.manuallyAdded, told.manuallyRemoved],
    [campaignId, contactId, kept?.isAdded, kept?.isRemoved],
  );
}

test("a campaign that runs takes all members of its segments, by slices, and others take none", async () => {
  const [segment, other] = [await newSegment(), await newSegment()];
  const [running, unpublished] = [
    await newCampaign([segment, other], false),
    await newCampaign([segment], false),
  ];
  const future = await newCampaign([segment], false);
  await run("update campaigns set is_published = false where id = $1", [unpublished]);
  await run("update campaigns set publish_up = now() + interval '1 day' where id = $1", [future]);
  await run("update segments set is_published = false where id = $1", [other]);
  const [first = 0, second = 0, third = 0, hidden = 0] = await newContacts(4);
  await tell(moved(segment, [first, second, third], true), moved(other, [hidden, third], true));
  await run("delete from campaign_contacts where campaign_id = $1", [running]);
  for (const id of [running, unpublished, future]) await rebuild(id);
  const rows = await run(
    "select campaign_id, contact_id from campaign_contacts where campaign_id = any($1) order by 2",
    [[running, unpublished, future]],
  );
  assert.deepEqual(
    rows.map((row) => [Number(row.campaign_id), Number(row.contact_id)]),
    [first, second, third].map((id) => [running, id]),
  );
});

test("a contact whose earlier membership only the log has does not enter by itself, and enters the next rotation by hand", async () => {
  const segment = await newSegment();
  const campaignId = await newCampaign([segment], false);
  const [contactId = 0] = await newContacts(1);
  await run(
    `insert into campaign_event_logs (event_id, campaign_id, contact_id, rotation, is_scheduled) values ($1, $2, $3, 1, false)`,
    [nextId(), campaignId, contactId],
  );
  await tell(moved(segment, [contactId], true));
  assert.equal(await readMember(campaignId, contactId), undefined);
  await hand(campaignId, contactId, "add");
  assert.equal((await readMember(campaignId, contactId))?.rotation, 2);
});

test("an event that comes again, and events of members after the deletion of their contact, change nothing", async () => {
  const segment = await newSegment();
  const campaignId = await newCampaign([segment], true);
  const [contactId = 0, gone = 0] = await newContacts(2);
  const added = moved(segment, [contactId], true);
  await tell(added);
  await tell(moved(segment, [contactId], false));
  await tell(added);
  assert.equal((await readMember(campaignId, contactId))?.isRemoved, true);
  await tell(deleted(gone));
  await tell(moved(segment, [gone], true));
  assert.equal(await readMember(campaignId, gone), undefined);
});

test("a form submission enters its campaigns before the contact is replicated, and not after the contact was deleted", async () => {
  const formId = nextId();
  const [campaignId, other] = [
    await newCampaign([], false, [formId]),
    await newCampaign([], false, [nextId()]),
  ];
  const unknown = nextId();
  const [gone = 0] = await newContacts(1);
  await tell(deleted(gone));
  const again = submitted(formId, unknown);
  await tell(again, submitted(formId, gone), submitted(formId, 0));
  await tell(again);
  assert.deepEqual(await readMember(campaignId, unknown), {
    isAdded: true,
    isRemoved: false,
    hasExited: false,
    rotation: 1,
  });
  assert.equal(await readMember(campaignId, gone), undefined);
  assert.equal(await readMember(other, unknown), undefined);
});

const flags = fc.constantFrom<[boolean, boolean, boolean]>(
  [true, false, false],
  [false, false, false],
  [false, true, false],
  [false, true, true],
);
const strength = ([isAdded, isRemoved, hasExited]: [boolean, boolean, boolean]) =>
  (isRemoved ? 0 : 2) + (isAdded || (isRemoved && !hasExited) ? 1 : 0);

test("a merge of two contacts keeps the stronger membership, and both logs, in whatever order its events arrive", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.option(flags),
      fc.option(flags),
      fc.boolean(),
      async (survivors, losers, isReversed) => {
        const campaignId = await newCampaign([], false);
        const [survivor = 0, loser = 0] = await newContacts(2);
        for (const [id, state] of [
          [survivor, survivors],
          [loser, losers],
        ] as const)
          if (state)
            await run(
              `insert into campaign_contacts (campaign_id, contact_id, version, date_added, manually_added, manually_removed,
               date_last_exited, rotation) values ($1, $2, 3, now(), $3, $4, case when $5::boolean then now() end, 1)`,
              [campaignId, id, ...state],
            );
        const eventId = nextId();
        await run(
          `insert into campaign_event_logs (event_id, campaign_id, contact_id, rotation, is_scheduled)
         values ($1, $2, $3, 1, false), ($1, $2, $4, 1, true), ($1, $2, $4, 2, true)`,
          [eventId, campaignId, survivor, loser],
        );
        // The deletion names the survivor, and may arrive before the merge.
        if (isReversed) await tell(deleted(loser, survivor));
        await tell(merged(loser, survivor), deleted(loser, survivor));
        const stronger =
          survivors && (!losers || strength(survivors) >= strength(losers)) ? survivors : losers;
        const kept = await readMember(campaignId, survivor);
        assert.deepEqual(kept && [kept.isAdded, kept.isRemoved, kept.hasExited], stronger ?? undefined);
        assert.equal(await readMember(campaignId, loser), undefined);
        const logs = await run(
          "select rotation, is_scheduled from campaign_event_logs where event_id = $1 order by 1",
          [eventId],
        );
        assert.deepEqual(logs, [
          { rotation: "1", is_scheduled: "f" },
          { rotation: "2", is_scheduled: "t" },
        ]);
      },
    ),
    { numRuns: 25 },
  );
});

test("segments and campaigns that change at the same time agree in the end", async () => {
  const segment = await newSegment();
  const campaignId = await newCampaign([segment], true);
  const people = await newContacts(60);
  const [stay, leave] = [people.slice(0, 30), people.slice(30)];
  await tell(moved(segment, leave, true));
  await Promise.all([
    tell(moved(segment, leave, false)),
    tell(moved(segment, stay, true)),
    rebuild(campaignId),
    ...stay.slice(0, 5).map((id) => hand(campaignId, id, "remove")),
  ]);
  const rows = await run(
    "select contact_id from campaign_contacts where campaign_id = $1 and not manually_removed order by 1",
    [campaignId],
  );
  const active = new Set(rows.map(({ contact_id }) => Number(contact_id)));
  assert.ok(leave.every((id) => !active.has(id)));
  assert.ok(stay.slice(5).every((id) => active.has(id)));
});

test("members of before campaigns were there come in when they are read, but for those who left meanwhile", async () => {
  const [one, two] = [await newSegment(), await newSegment()];
  const campaignId = await newCampaign([one, two], false);
  const [stays, leaves, returns] = (await newContacts(3)) as [number, number, number];
  await run("insert into projection_builds (name) values ('segment_contacts') on conflict do nothing");
  await tell(moved(one, [leaves, returns], false), moved(one, [returns], true));
  // Read before the events of those two came.
  await project({ database, projections }, undefined, [
    listed(stays, [one, two]),
    listed(leaves, [one]),
    listed(returns, [one]),
  ]);
  const rows = await run(
    "select contact_id from campaign_contacts where campaign_id = $1 and not manually_removed order by contact_id",
    [campaignId],
  );
  assert.deepEqual(
    rows.map(({ contact_id }) => Number(contact_id)),
    [stays, returns],
  );
});

test("memberships that follow two segments at once, by events and by jobs of several replicas, end as the segments say", async () => {
  const segmentIds = [await newSegment(), await newSegment()];
  const campaignIds = [
    await newCampaign(segmentIds, true),
    await newCampaign(segmentIds.slice(0, 1), true),
    await newCampaign(segmentIds.slice(1), true),
  ];
  const contactIds = await newContacts(30);
  const isIn = new Map<string, boolean>();
  const replica = async (segmentId: number, seed: number) => {
    for (let round = 0; round < 15; round += 1) {
      const some = contactIds.filter((id) => (id + round + seed) % 3 === 0);
      const isAdded = (round + seed) % 2 === 0;
      await tell(moved(segmentId, some, isAdded));
      for (const id of some) isIn.set(`${segmentId} ${id}`, isAdded);
    }
  };
  const rebuilding = async () => {
    for (let round = 0; round < 10; round += 1)
      await Promise.all(campaignIds.map((campaignId) => rebuild(campaignId)));
  };
  await Promise.all([...segmentIds.map(replica), rebuilding()]);
  for (const campaignId of campaignIds) {
    const rows = await run("select segment_id from campaign_segments where campaign_id = $1", [campaignId]);
    const sources = rows.map(({ segment_id }) => Number(segment_id));
    for (const contactId of contactIds) {
      const isWanted = sources.some((segmentId) => isIn.get(`${segmentId} ${contactId}`));
      const member = await readMember(campaignId, contactId);
      assert.equal(member !== undefined && !member.isRemoved, isWanted, `${campaignId} ${contactId}`);
    }
  }
});

test("members of one campaign are found while those of another with other segments are", async () => {
  const [segmentId, otherId] = [await newSegment(), await newSegment()];
  const [held, free] = [await newCampaign([segmentId], false), await newCampaign([otherId], false)];
  const [contactId = 0] = await newContacts(1);
  await database.transaction(deadline(), async (transaction) => {
    lockSegmentsToRead(transaction, [segmentId]);
    lockCampaigns(transaction, [held]);
    await transaction.query({ text: "select 1" });
    await tell(moved(otherId, [contactId], true));
    await rebuild(free);
  });
  assert.equal((await readMember(free, contactId))?.isRemoved, false);
});
