import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import { openExplained } from "@tidings/database/testing/explained-database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { createOutbox } from "@tidings/messaging/outbox";
import { ListSendsRequestSchema } from "@tidings/proto/tidings/content/v1/ledger";
import type { Call } from "@tidings/rpc/call";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { noticeMethods } from "../notice/list-notices.ts";
import { smsLedgerMethods } from "../text/sms-ledger.ts";
import type { LedgerOptions } from "./channel-ledger.ts";
import { ledgerMethods } from "./ledger.ts";
import { bulkLane, type Send } from "./send-queue.ts";

const ROWS = 50_000;
/** A page of ten rows: their pages, and a few of each index. */
const PAGES_MAX = 60;
const LAST = "9223372036854775807";
/** A filter that says nothing. */
const ANY = "null, null, null, null";

const { testDatabase, database } = await openExplained("content");

const callNow = (): Call => ({
  actor: { kind: "user", id: 1, name: "", admin: true, permissions: {} },
  deadlineMs: backgroundDeadline(),
  requestId: "",
  reach: () => "all",
});

test("a page of the ledgers of mails, text messages and notices, and a start that has a limit, read few rows, however many there are", async () => {
  await queryAsSuperuser(
    testDatabase,
    `set search_path = content;
     insert into text_sends (hash, sms_id, contact_id, chosen_contact_id, occasion, content, state)
       select gen_random_uuid(), 1 + i % 2, 1 + i % 5000, i, i::text, 'Hello', case when i % 10000 = 0 then 'failed' else 'sent' end
       from generate_series(1, ${ROWS}) i;
     insert into sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, state, started_at)
       select gen_random_uuid(), 1 + i % 2, 1, 1, 1 + i % 5000, i, 'list', 1, case when i % 10000 = 0 then 'failed' else 'sent' end, now()
       from generate_series(1, ${ROWS}) i;
     insert into notices (hash, occasion, source_id, address, mail, contact_id, state)
       select gen_random_uuid(), 'test:' || i, 1 + i % 2, i || '@example.com', '{}', 1 + i % 5000, case when i % 10000 = 0 then 'failed' else 'sent' end
       from generate_series(1, ${ROWS}) i`,
  );
  for (const table of ["sends", "text_sends", "notices"])
    await queryAsSuperuser(testDatabase, `vacuum analyze content.${table}`);
  const options: LedgerOptions = {
    ...{ database, outbox: createOutbox(), hasTransport: true },
    findVisible: async (_, ids) => new Set(ids),
    wake: () => undefined,
  };
  const startLimited = async () => {
    const job = { id: "5", leaseToken: 0, group: 1, attempts: 0, isOrdered: false, isFailing: false };
    const limit = { subject: 6, jobsMax: 3, afterMs: 0 };
    const { limited } = await bulkLane.starts.beginLimited(database, [{ job: job as Send, limit }]);
    assert.equal(limited.size, 1);
  };
  const { listSends } = ledgerMethods(options);
  const { listSmsSends } = smsLedgerMethods(options);
  const { listNotices } = noticeMethods(database);
  const asked = (members: { itemId?: number; contactId?: number; state?: string }) =>
    create(ListSendsRequestSchema, { pageSize: 10, ...members });
  // Then their plans are those that are kept.
  for (let time = 0; time < 10; time += 1) {
    for (const members of [{ itemId: 1 }, { contactId: 7 }, { state: "unknown" }]) {
      await listSends(asked(members), callNow());
      await listSmsSends(asked(members), callNow());
    }
    await startLimited();
    for (const members of [{}, { itemId: 1 }, { contactId: 7 }]) await listNotices(asked(members), callNow());
  }
  const starting = "send_bulk_begin_limited('{5}', '{0}', '{6}', '{3}', '{0}')";
  const startingPages = await pagesRead(database, starting, { byIndex: true, plan: "generic" });
  assert.ok(startingPages < PAGES_MAX, `${starting} read ${startingPages} pages`);
  for (const states of ["{sent,failed,waiting}", "{failed}"])
    for (const execute of [
      `sends_of_email(1, null, ${LAST}, 10, null, '${states}', null, ${ANY})`,
      `sends_of_contact(null, 7, ${LAST}, 10, null, '${states}', null, ${ANY})`,
      `sends_unknown(null, null, ${LAST}, 10, null, '{unknown}', null, ${ANY})`,
      `text_sends_of_sms(1, null, ${LAST}, 10, null, '${states}', null, ${ANY})`,
      `text_sends_of_contact(null, 7, ${LAST}, 10, null, '${states}', null, ${ANY})`,
      `text_sends_unknown(null, null, ${LAST}, 10, null, '{unknown}', null, ${ANY})`,
      `notices_all(null, null, ${LAST}, 10, '${states}', null, ${ANY})`,
      `notices_of_email(1, null, ${LAST}, 10, '${states}', null, ${ANY})`,
      `notices_of_contact(null, 7, ${LAST}, 10, '${states}', null, ${ANY})`,
    ]) {
      const pages = await pagesRead(database, execute);
      assert.ok(pages < PAGES_MAX, `${execute} read ${pages} pages`);
    }
});
