import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Event } from "@tidings/bus/event";
import { PageHitsSchema, VisitorsSeenSchema } from "@tidings/proto/tidings/content/v1/events";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { contactScene } from "../testing/contact-scene.ts";
import { facts } from "./facts.ts";
import { visits } from "./visits.ts";

const CONTACTS = 5_000;
const SEEN = [1, 901, 1801, 2701, 3601];
const AGENT =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

function event<S extends DescMessage>(subject: string, schema: S, message: MessageInitShape<S>): Event {
  return {
    ...{ id: randomUUID(), subject: `tidings.content.${subject}`, aggregateId: 1, aggregateVersion: 1 },
    ...{ time: "2024-05-01T12:00:00Z", traceparent: undefined, actor: undefined },
    payload: toBinary(schema, create(schema, message)),
  };
}

test("a batch of visits and hits reads the rows of its own contacts, however many there are", async (t) => {
  const scene = await contactScene();
  t.after(scene.close);
  await queryAsSuperuser(
    scene.testDatabase,
    `insert into contact.contacts (id, date_added, version) overriding system value
       select n, now(), 1 from generate_series(1, ${CONTACTS}) n;
     insert into contact.devices (contact_id, device, device_os_name, device_os_version, date_added)
       select n, 'desktop', 'Windows', '10', now() from generate_series(1, ${CONTACTS}) n;`,
  );
  await queryAsSuperuser(scene.testDatabase, "analyze contact.contacts, contact.devices");
  const at = timestampFromMs(Date.now());
  const seen = event("visitor.seen", VisitorsSeenSchema, {
    visitors: SEEN.map((contactId) => ({ contactId, at, deviceId: `of ${contactId}`, userAgent: AGENT })),
  });
  const hits = event("page.hit", PageHitsSchema, {
    hits: SEEN.map((contactId) => ({ id: randomUUID(), version: 1, contactId, dateHit: at })),
  });
  const hitFacts = facts.find(({ table }) => table === "page_hits");
  const [touched, kept, read] = await scene.context.database.transaction(
    Date.now() + 60_000,
    async (transaction) => [
      await visits(scene.context).keep(transaction, [seen]),
      await hitFacts?.keep(transaction, [hits]),
      await transaction.query({
        text: `select relname, seq_tup_read, idx_tup_fetch from pg_stat_xact_user_tables
          where schemaname = 'contact' and relname in ('contacts', 'devices') order by relname`,
      }),
    ],
  );
  const inOrder = (ids: number[] = []) => ids.toSorted((one, other) => one - other);
  assert.deepEqual([inOrder(touched), inOrder(kept)], [SEEN, SEEN]);
  for (const { relname, seq_tup_read, idx_tup_fetch } of read) {
    assert.equal(seq_tup_read, "0", `${relname} was read from end to end`);
    assert.ok(Number(idx_tup_fetch) <= SEEN.length * 10, `${idx_tup_fetch} rows of ${relname} were fetched`);
  }
  assert.equal(read.length, 2);
});
