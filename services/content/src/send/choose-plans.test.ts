import assert from "node:assert/strict";
import { test } from "node:test";
import { backgroundDeadline } from "@tidings/database/database";
import { openExplained } from "@tidings/database/testing/explained-database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { type Recipient, standingOf } from "./choose-recipients.ts";

const ROWS = 50_000;
const SLICE = 100;
/** A recipient is looked up three times: the pages of three indexes and a row. */
const PAGES_OF_A_RECIPIENT = 15;

const { testDatabase, database } = await openExplained("content");

/** Looks recipients up, half of whom have the email, and counts the pages that are read for that. */
async function lookUp(): Promise<void> {
  const slice = Array.from({ length: SLICE }, (_, index): Recipient => {
    const contactId = ROWS - SLICE / 2 + index;
    return { contactId, address: `${contactId}@example.com`, locale: "", segmentId: 1 };
  });
  const standing = () => standingOf(database, { emailId: 1, familyId: 1 }, slice, backgroundDeadline());
  // The plan that is kept is one of a ledger without sends of the email.
  for (let time = 0; time < 10; time += 1) assert.equal((await standing()).fresh.length, SLICE);
  await fill(1);
  assert.equal((await standing()).fresh.length, SLICE / 2 - 1);
  const ids = slice.map(({ contactId }) => contactId);
  const addresses = slice.map(({ address }) => address);
  const execute = `sends_standing(1, '{${ids}}', '{${addresses}}', 1)`;
  for (const plan of ["generic", "custom"] as const) {
    const pages = await pagesRead(database, execute, { byIndex: true, plan });
    assert.ok(pages < SLICE * PAGES_OF_A_RECIPIENT, `${plan} plan: ${pages} pages for ${SLICE} recipients`);
  }
}

async function fill(familyId: number): Promise<void> {
  await queryAsSuperuser(
    testDatabase,
    `insert into content.sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, address)
     select gen_random_uuid(), ${familyId}, 1, ${familyId}, i, i, 'list', 1, i || '@example.com' from generate_series(1, ${ROWS}) i`,
  );
}

test(
  "a slice of recipients is looked up by index in the ledger, also once that has grown from nothing",
  lookUp,
);

test("the same while Postgres knows other emails alone", async () => {
  await queryAsSuperuser(testDatabase, "update content.sends set family_id = 2, email_id = 2");
  await queryAsSuperuser(testDatabase, "analyze content.sends");
  await lookUp();
});
