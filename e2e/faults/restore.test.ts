import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "@tidings/embedded/free-port";
import { startNats } from "@tidings/embedded/nats";
import { startPostgres } from "@tidings/embedded/postgres";
import { postgresWithTools } from "@tidings/embedded/postgres-tools";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { type Stack, startStack } from "@tidings/scripts/stack";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { startReceiver } from "@tidings/testkit/receiver";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { type Client, createClient } from "../client.ts";
import { startCreating } from "../load.ts";
import { mailVariables } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";
import { query } from "../query.ts";
import { ADMINISTRATOR } from "../stack.ts";

/** A database, a bus and a stack that can be lost and come again, at their old places. */
await using cleanup = new AsyncDisposableStack();
const folder = cleanup.adopt(await temporaryFolder(), ({ remove }) => remove());
const program = await postgresWithTools();
const [postgresPort, port] = [await freePort(), await freePort()];
const postgresFolder = join(folder.path, "postgres");
const natsFolder = join(folder.path, "nats");
const dump = join(folder.path, "dump");
const run = promisify(execFile);

const openPostgres = () =>
  startPostgres({ dataDir: postgresFolder, port: postgresPort, durable: false, program });
let postgres = await openPostgres();
cleanup.defer(() => postgres.stop());
const nats = await startNats({ dataDir: natsFolder });
cleanup.defer(() => nats.stop());

/** Mails are deferred while the test has the server do so, by their mailboxes: a domain that defers mails gets fewer of them for minutes. */
let deferral: string | undefined = "450 4.2.1 not now";
const mails = await startMailSink({ onMail: () => deferral });
cleanup.defer(() => mails.close());

const secrets = {
  actorKeyRing: generateActorKeyRing(),
  suppressionKey: Buffer.alloc(32, 1).toString("base64"),
  webhookSecretKey: generateSecretKey(),
  contentSecretKey: generateSecretKey(),
};
const openStack = () =>
  startStack({
    database: { adminUrl: postgres.url, rolePassword: "secret" },
    natsUrl: nats.url,
    filesDir: join(folder.path, "files"),
    port,
    administrator: ADMINISTRATOR,
    env: {
      webhook: { OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", WEBHOOK_TIMEOUT: "2" },
      content: mailVariables(mails.port),
    },
    ...secrets,
  });
let stack: Stack = await openStack();
cleanup.defer(() => stack.stop());
const api: Client = createClient(stack.baseUrl, ADMINISTRATOR);
const receiver = await startReceiver();
cleanup.defer(() => receiver.stop());
const started = cleanup.move();
after(() => started.disposeAsync());

/** The commands of docs/operations.md. */
const takeDump = () => run(program.pgDump, ["--format=custom", `--file=${dump}`, postgres.url]);
const restoreDump = () =>
  run(program.pgRestore, [
    "--no-owner",
    "--no-privileges",
    "--exit-on-error",
    `--dbname=${postgres.url}`,
    dump,
  ]);

async function replaceDatabase(): Promise<void> {
  const adminUrl = Object.assign(new URL(postgres.url), { pathname: "/postgres" }).href;
  await query({ adminUrl }, "drop database tidings with (force)");
  await query({ adminUrl }, "create database tidings");
  await restoreDump();
}

const rows = <Row>(sql: string) => query<Row>({ adminUrl: postgres.url }, sql);
const numbers = async (sql: string) => (await rows<{ id: number }>(sql)).map(({ id }) => Number(id));
const contactIds = () => numbers("select id from contact.contacts order by id");
/** The contacts that somebody is said to have made, each as often as it is said. */
const auditedIds = () =>
  numbers(
    "select object_id as id from reporting.audit_entries where object = 'contact' and action = 'create' order by 1",
  );

async function createContact(email: string): Promise<number> {
  const { status, body, text } = await api("POST", "contacts/new", { email });
  assert.equal(status, 201, text);
  return body.contact.id;
}

/** Everything that is kept of contacts agrees with the contacts there are. */
async function assertConsistent(): Promise<void> {
  const ids = await contactIds();
  // A reader whose stream was replaced finds out by two missing heartbeats, after six seconds, and builds up again.
  await eventually(async () => assert.deepEqual(await auditedIds(), ids), { timeoutMs: 60_000 });
  const members = "select contact_id as id from contact.segment_contacts order by 1";
  await eventually(async () => assert.deepEqual(await numbers(members), ids));
  const kept = "select id from campaign.contacts order by 1";
  await eventually(async () => assert.deepEqual(await numbers(kept), ids));
  const told = "select count(*) as id from webhook.deliveries where state = 'delivered'";
  // A delivery that was in flight when the dump was taken is tried again once its lease is over.
  await eventually(async () => assert.deepEqual(await numbers(told), [ids.length]), { timeoutMs: 60_000 });
}

test("after a restore from a dump that was taken under load nothing up to it is lost, and nothing happens twice", async () => {
  const triggers = ["svc.lead_post_save_new"];
  const hook = await api("POST", "hooks/new", { name: "All", webhookUrl: receiver.url, triggers });
  assert.equal(hook.status, 201, hook.text);
  const filters = [
    { glue: "and", field: "email", object: "lead", type: "email", operator: "!empty", filter: null },
  ];
  const segment = await api("POST", "segments/new", { name: "All", alias: "all", filters });
  assert.equal(segment.status, 201, segment.text);
  const load = startCreating(api, "restored");
  await receiver.waitFor(50);
  const kept = load.kept().map(({ id }) => id);
  await takeDump();
  await receiver.waitFor(receiver.requests.length + 20);
  await load.stop();

  stack.kill();
  await nats.kill();
  await postgres.stop();
  await rm(natsFolder, { recursive: true });
  await rm(postgresFolder, { recursive: true });
  const toldBefore = receiver.requests.length;
  postgres = await openPostgres();
  await restoreDump();
  const delivered = await rows<{ event_id: string }>(
    "select event_id from webhook.deliveries where state = 'delivered'",
  );
  const restored = new Set(await contactIds());
  assert.ok(kept.every((id) => restored.has(Number(id))));
  await nats.start();
  stack = await openStack();
  await createContact("first-after@example.com");

  await assertConsistent();
  const toldAgain = receiver.requests.slice(toldBefore).map(({ headers }) => headers["webhook-id"]);
  const known = new Set(delivered.map(({ event_id }) => event_id));
  assert.ok(known.size >= 40);
  assert.deepEqual(
    toldAgain.filter((id) => known.has(String(id))),
    [],
  );
});

test("a bus that is ahead of the restored database holds back no event, and delivers none that never was", async () => {
  // The audit stands still when the dump is taken, and hears of this contact afterwards.
  stack.process("reporting").kill();
  await stack.process("reporting").exited;
  const unheard = await createContact("unheard@example.com");
  await takeDump();
  await stack.process("reporting").restart();
  await eventually(async () => assert.ok((await auditedIds()).includes(unheard)));
  const never = await createContact("never@example.com");
  await eventually(async () => assert.ok((await auditedIds()).includes(never)));

  await stack.stop();
  const toldBefore = receiver.requests.length;
  await replaceDatabase();
  stack = await openStack();

  assert.equal(await createContact("next@example.com"), never, "the number is given once more");
  await assertConsistent();
  const bodies = receiver.requests.slice(toldBefore).map(({ body }) => body);
  assert.deepEqual(
    ["next", "never"].map((name) => bodies.filter((body) => body.includes(`${name}@example.com`)).length),
    [1, 0],
  );
});

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
async function made(path: string, body?: object): Promise<any> {
  const answer = await api("POST", path, body);
  assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  return answer.body;
}
const mailsTo = (address: string) => mails.taken.filter(({ to }) => to.includes(address)).length;
/** Sends that the mail server refused for now. */
const countOfDeferred = async () =>
  (await rows("select id from content.sends where state = 'waiting' and code is not null")).length;
const isHeld = async () => (await api("GET", "sends/hold")).text;

test("after a restore nothing is sent, to segments or to a contact, until an administrator lets sends go on", async () => {
  // The restores of the tests before.
  await made("sends/resume");
  assert.equal(await isHeld(), '{"hold":{"held":false}}');
  const everybody = addresses("mailed", 3);
  const { id: segmentId, contactIds } = await segmentOf({ made }, everybody);
  const emailId = await newsletterTo({ made }, [segmentId]);
  const letterId = await newsletterTo({ made }, [], { emailType: "template" });
  const asked = [
    made(`emails/${emailId}/send`, {}),
    made(`emails/${letterId}/contact/${contactIds[0]}/send`, {}),
  ];
  await eventually(async () => assert.equal(await countOfDeferred(), 4), { timeoutMs: 60_000 });
  await takeDump();
  deferral = undefined;
  await rows("update content.sends set due_at = now() where state = 'waiting'");
  await eventually(() => assert.deepEqual(everybody.map(mailsTo), [2, 1, 1]), { timeoutMs: 60_000 });
  await Promise.all(asked);

  await stack.stop();
  await replaceDatabase();
  stack = await openStack();
  assert.equal(await isHeld(), '{"hold":{"held":true}}');
  await rows("update content.sends set due_at = now() where state = 'waiting'");
  const later = made(`emails/${letterId}/contact/${contactIds[1]}/send`, {});
  await eventually(async () =>
    assert.equal((await rows("select id from content.sends where state = 'waiting'")).length, 5),
  );
  // Senders look for what is due each second.
  await pause(2_500);
  assert.deepEqual(everybody.map(mailsTo), [2, 1, 1]);
  const { text } = await api("GET", `emails/${emailId}/sends`);
  assert.match(text, /"state":"paused".*"lastError":"Sends are held since the database was restored/);

  await made("sends/resume");
  await eventually(() => assert.deepEqual(everybody.map(mailsTo), [4, 3, 2]), { timeoutMs: 60_000 });
  assert.equal((await later).success, 1);
  assert.equal(await isHeld(), '{"hold":{"held":false}}');
});
