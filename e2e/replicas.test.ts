import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());

const OWNERS_OF_REPLICAS = ["contact", "content", "campaign", "webhook"];
const FACTS = [
  "asset_downloads",
  "email_sends",
  "notification_sends",
  "page_hits",
  "sms_sends",
  "tweet_sends",
];

test("each replica is built from what its owner lists when a service begins", async () => {
  for (const schema of OWNERS_OF_REPLICAS) {
    const builds = `select name, done_at is not null as is_done from ${schema}.projection_builds`;
    await eventually(async () => {
      const rows = await queryAsSuperuser(stack.database, builds);
      assert.ok(rows.length > 0);
      assert.deepEqual(
        rows.filter(({ is_done }) => !is_done),
        [],
        schema,
      );
    });
  }
  await eventually(async () => {
    const facts = await queryAsSuperuser(
      stack.database,
      `select name from contact.projection_builds where name = any ('{${FACTS.join(",")}}') and done_at is not null order by name`,
    );
    assert.deepEqual(
      facts.map(({ name }) => name),
      FACTS,
    );
  });
});
