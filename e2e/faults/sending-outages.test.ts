import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startNats } from "@tidings/embedded/nats";
import { startRedis } from "@tidings/embedded/redis";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { startMailingStack } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";

/** A broadcast while a store or another service is away. OUTAGE_SECONDS makes it longer. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const OUTAGE_MS = 1_000 * Number(process.env.OUTAGE_SECONDS ?? 3);
const MAIL_MS = 50;
/** The mails of two connections for a second longer than the outage. */
const MANY = Math.ceil((2 * (OUTAGE_MS + 1_000)) / MAIL_MS);
const PATIENCE = { timeoutMs: 180_000, intervalMs: 200 };
const folder = await temporaryFolder();
const nats = await startNats({ dataDir: join(folder.path, "nats") });
const redis = await startRedis({ dataDir: join(folder.path, "redis") });
const database = await createTestDatabase();
const toRedis = await startProxy(redis.url);
const toContent = await startProxy(database.url("content"));
const toContact = await startProxy(database.url("contact"));
let isSlow = false;
const stack = await startMailingStack({
  ...{ nats, database, redisUrl: toRedis.url },
  contact: { DATABASE_URL: toContact.url },
  server: {
    async onMail() {
      if (isSlow) await pause(MAIL_MS);
      return undefined;
    },
  },
  content: { MAIL_CONNECTIONS: "2", DATABASE_URL: toContent.url },
});
after(async () => {
  await stack.stop();
  await Promise.all([toRedis.stop(), toContent.stop(), toContact.stop()]);
  await redis.stop();
  await nats.stop();
  await database.drop();
  await folder.remove();
});
const { api, mailsTo } = stack;

const OUTAGES = [
  { away: "NATS", begin: nats.kill, end: nats.start },
  { away: "Redis", begin: async () => toRedis.goDown(), end: async () => toRedis.recover() },
  {
    away: "the database",
    begin: async () => [toContent, toContact].forEach((way) => void way.goDown()),
    end: async () => [toContent, toContact].forEach((way) => void way.recover()),
  },
  {
    away: "the contact service",
    begin: async () => stack.process("contact").kill("SIGKILL"),
    end: () => stack.process("contact").restart(),
  },
];

for (const { away, begin, end } of OUTAGES)
  test(`a broadcast goes on by itself after ${away} was away, and writes to everybody once`, async () => {
    const name = away.replaceAll(" ", "-").toLowerCase();
    const { id } = await segmentOf(stack, addresses(name, MANY));
    const emailId = await newsletterTo(stack, [id]);
    isSlow = true;
    void api("POST", `emails/${emailId}/send`).catch(() => undefined); // its database goes away
    await eventually(() => assert.ok(mailsTo(name).length > 10), PATIENCE);
    await begin();
    await pause(OUTAGE_MS);
    await end();
    const before = mailsTo(name).length;
    await eventually(() => assert.ok(mailsTo(name).length > before), { timeoutMs: 20_000 });
    isSlow = false;
    const progress = await eventually(async () => {
      const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
      assert.equal(sends[0].state, "finished");
      return sends[0];
    }, PATIENCE);
    const written = mailsTo(name).flatMap(({ to }) => to);
    assert.equal(new Set(written).size, written.length, "an address got two mails");
    assert.ok(progress.unknown <= 2, `${progress.unknown} are unknown`);
    assert.equal(progress.sent + progress.unknown, MANY);
    assert.ok(written.length >= progress.sent && written.length <= MANY);
  });
