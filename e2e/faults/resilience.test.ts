import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { terminateBackends } from "@tidings/testkit/postgres";
import { type Receiver, startReceiver } from "@tidings/testkit/receiver";
import { countEvents, repeatLatestEvent } from "../bus.ts";
import { createClient } from "../client.ts";
import { type Creation, startCreating } from "../load.ts";
import { query } from "../query.ts";
import { startRoundRobin } from "../round-robin.ts";
import { ADMINISTRATOR, startTestStack } from "../stack.ts";

const stack = await startTestStack({
  replicas: { gateway: 2 },
  env: {
    webhook: { WEBHOOK_SCHEDULE: "0,1,1,1,1,1,1,1" },
    // Longer than the balancer takes to notice that a gateway is not ready.
    gateway: { SHUTDOWN_DELAY_MS: "1000" },
  },
});
const { api, database, nats } = stack;
after(() => stack.stop());

const OUTAGE_MS = 10_000;
/** Longer than NATS waits for acknowledgements that it lost in a crash. */
const PATIENCE = { timeoutMs: 45_000 };
const NEW = "svc.lead_post_save_new";
/** The statuses while a part of the product is away: try again. */
const AWAY = [503, 504];

interface Listener {
  receiver: Receiver;
  hookId: number;
  /** Deliveries of each contact's creation, by the id of the contact. */
  told(): Map<number, number>;
}

async function listen(t: TestContext): Promise<Listener> {
  const receiver = await startReceiver();
  const hook = { name: t.name.slice(0, 100), webhookUrl: receiver.url, triggers: [NEW] };
  const { status, text, body } = await api("POST", "hooks/new", hook);
  assert.equal(status, 201, text);
  t.after(async () => {
    await api("DELETE", `hooks/${body.hook.id}/delete`);
    await receiver.stop();
  });
  return {
    receiver,
    hookId: body.hook.id,
    told: () => {
      const ids = receiver.requests.map(({ body }) => JSON.parse(body)[NEW][0].contact.id as number);
      return new Map([...Map.groupBy(ids, (id) => id)].map(([id, tellings]) => [id, tellings.length]));
    },
  };
}

async function create(email: string): Promise<Creation> {
  const { status, text, body } = await api("POST", "contacts/new", { email });
  assert.equal(status, 201, text);
  return { email, status, id: body.contact.id };
}

/** Every contact has one delivery. */
async function assertTold({ told, hookId }: Listener, creations: Creation[]): Promise<void> {
  const ids = creations.map(({ id }) => id as number);
  await eventually(() => {
    const heard = told();
    const missing = ids.filter((id) => !heard.has(id));
    assert.deepEqual(missing, []);
  }, PATIENCE);
  const twice = await query(
    database,
    `select body::text from webhook.deliveries where webhook_id = ${hookId}
     group by event_id, body having count(*) > 1`,
  );
  assert.deepEqual(twice, []);
}

async function assertReadable(creations: Creation[]): Promise<void> {
  for (const { id, email } of creations) {
    const { status, body } = await api("GET", `contacts/${id}`);
    assert.equal(status, 200);
    assert.equal(body.contact.fields.all.email, email);
  }
}

async function deliveriesOf(hookId: number): Promise<number> {
  const rows = await query(database, `select 1 from webhook.deliveries where webhook_id = ${hookId}`);
  return rows.length;
}

test("kill -9 of the contact service during writes loses nothing that was answered 2xx", async (t) => {
  const listener = await listen(t);
  const load = startCreating(api, "killed");
  const contact = stack.process("contact");
  const crash = async () => {
    const soFar = load.kept().length;
    await eventually(() => assert.ok(load.kept().length >= soFar + 30), PATIENCE);
    contact.kill("SIGKILL");
    await contact.exited;
    await contact.restart();
  };
  await crash();
  await crash();
  const soFar = load.kept().length;
  await eventually(() => assert.ok(load.kept().length >= soFar + 30), PATIENCE);
  await load.stop();

  const statuses = load.creations.map(({ status }) => status).filter((status) => status >= 300);
  assert.deepEqual(
    statuses.filter((status) => !AWAY.includes(status)),
    [],
  );
  await assertReadable(load.kept());
  await assertTold(listener, load.kept());
});

test("while NATS is down writes are answered 2xx, and their events arrive once it is back", async (t) => {
  const listener = await listen(t);
  await nats.kill();
  const load = startCreating(api, "unheard");
  await pause(OUTAGE_MS / 10);
  await load.stop();
  await pause(OUTAGE_MS - OUTAGE_MS / 10);
  const late = await create("unheard-late@example.com");
  assert.equal(listener.receiver.requests.length, 0);
  await nats.start();

  assert.equal(load.kept().length, load.creations.length);
  await assertTold(listener, [...load.creations, late]);
});

test("events are published again into a lost NATS store, and have no second effect", async (t) => {
  const listener = await listen(t);
  const creations = await Promise.all(
    Array.from({ length: 20 }, (_, index) => create(`lost-${index}@example.com`)),
  );
  await assertTold(listener, creations);
  const published = await countEvents(nats.url);

  await nats.stop();
  await rm(stack.natsFolder, { recursive: true });
  await nats.start();
  await eventually(async () => assert.ok((await countEvents(nats.url)) >= published), PATIENCE);
  // Events arrive in order: once this one has its delivery, the repeated ones before it are handled.
  const last = await create("lost-last@example.com");
  await assertTold(listener, [last]);

  assert.equal(await deliveriesOf(listener.hookId), creations.length + 1);
  for (const times of listener.told().values()) assert.equal(times, 1);
});

test("an event that comes twice has one delivery", async (t) => {
  const listener = await listen(t);
  const first = await create("twice@example.com");
  await assertTold(listener, [first]);
  await repeatLatestEvent(nats.url, "tidings.contact.contact.created");
  const last = await create("twice-last@example.com");
  await assertTold(listener, [first, last]);
  assert.equal(await deliveriesOf(listener.hookId), 2);
  assert.deepEqual([...listener.told().values()], [1, 1]);
});

test("64 parallel creations of one address make one contact", async () => {
  const body = { email: "one-of-64@example.com" };
  const answers = await Promise.all(Array.from({ length: 64 }, () => api("POST", "contacts/new", body)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(63).fill(200), 201]);
  assert.equal(new Set(answers.map(({ body }) => body.contact.id)).size, 1);
  assert.equal((await api("GET", `contacts?search=email:+${body.email}`)).body.total, "1");
});

test("500 parallel additions of a point add exactly as many points as were acknowledged", async () => {
  const { id } = await create("five-hundred@example.com");
  const add = () => api("POST", `contacts/${id}/points/plus/1`);
  const answers = await Promise.all(Array.from({ length: 500 }, add));
  // On a busy machine some of them may run out of time: those may have taken effect, or not.
  const refused = answers.filter(({ status }) => status !== 200);
  for (const { status, text } of refused) assert.ok(status === 503 || status === 504, text);
  const acknowledged = answers.length - refused.length;
  const { points } = (await api("GET", `contacts/${id}`)).body.contact;
  assert.ok(points >= acknowledged && points <= answers.length, `${points} of ${acknowledged}`);
  const [log] = await query(
    database,
    `select count(*)::integer as entries, sum(delta)::integer as points from contact.points_log where contact_id = ${id}`,
  );
  assert.deepEqual(log, { entries: points, points });
});

test("lost database connections end no process, and nothing that was answered 2xx is lost", async (t) => {
  const listener = await listen(t);
  const names = ["gateway-2", ...processes.map(({ name }) => name)];
  const pids = names.map((name) => stack.process(name).pid);
  const load = startCreating(api, "terminated");
  for (let round = 0; round < 3; round++) {
    const soFar = load.kept().length;
    await eventually(() => assert.ok(load.kept().length >= soFar + 20), PATIENCE);
    await terminateBackends(database);
  }
  const soFar = load.kept().length;
  await eventually(() => assert.ok(load.kept().length >= soFar + 20), PATIENCE);
  await load.stop();

  const failed = load.creations.map(({ status }) => status).filter((status) => status >= 300);
  assert.deepEqual(
    failed.filter((status) => !AWAY.includes(status)),
    [],
  );
  assert.deepEqual(
    names.map((name) => stack.process(name).pid),
    pids,
  );
  await assertReadable(load.kept());
  await assertTold(listener, load.kept());
});

test("gateways that are stopped and started one by one under load fail no request", async (t) => {
  const balancer = await startRoundRobin();
  t.after(balancer.stop);
  balancer.balance(
    await Promise.all(
      stack.gateways.map(async ({ name, baseUrl }) => ({
        port: Number(new URL(baseUrl).port),
        readyUrl: `http://127.0.0.1:${await stack.lines.port(name, "ops")}/readyz`,
      })),
    ),
  );
  const load = startCreating(createClient(`http://${balancer.address}`, ADMINISTRATOR), "drained");
  for (const gateway of stack.gateways) {
    const soFar = load.creations.length;
    await eventually(() => assert.ok(load.creations.length >= soFar + 50), PATIENCE);
    gateway.kill("SIGTERM");
    assert.deepEqual(await gateway.exited, { code: 0, signal: null });
    await gateway.restart();
  }
  const soFar = load.creations.length;
  await eventually(() => assert.ok(load.creations.length >= soFar + 50), PATIENCE);
  await load.stop();
  assert.deepEqual([...new Set(load.creations.map(({ status }) => status))], [201]);
  await assertReadable(load.kept());
});
