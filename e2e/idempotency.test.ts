import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { SegmentMembershipChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import type { Client, Entity } from "./client.ts";
import { createClient, fetchApi } from "./client.ts";
import { MULTIPART, multipart, PNG } from "./multipart.ts";
import { make, newPerson, PASSWORD } from "./people.ts";
import { allRoutes, pathOf } from "./permission/routes.ts";
import { publishedOn } from "./published.ts";
import { query } from "./query.ts";
import { exchange, sendRaw } from "./raw-http.ts";
import { addFirstContact, type Resource, resources } from "./resources.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";
import { authorizationOf } from "./uploader.ts";

const stack = await startTestStack({
  replicas: { gateway: 2 },
  // The writes of all tests are those of one principal.
  env: { gateway: { IDEMPOTENCY_KEYS_PER_MINUTE: "100000" } },
});
after(() => stack.stop());
const { api, database } = stack;
before(() => addFirstContact(api));

/** The administrator's client, with a new key for each request that is sent twice. */
const keyed =
  (client: Client, key: string = randomUUID()): Client =>
  (method, path, body, headers) =>
    client(method, path, body, { "idempotency-key": key, ...headers });

/** Sends a write twice under one key: both answers have the same bytes, and the second says that it is one. */
async function twice(method: string, path: string, body?: object) {
  const send = keyed(api);
  const first = await send(method, path, body);
  const second = await send(method, path, body);
  const what = `${method} ${path}`;
  assert.ok(first.status < 300, `${what}: ${first.text}`);
  assert.equal(second.status, first.status, `${what}: ${second.text}`);
  assert.equal(second.text, first.text, what);
  assert.equal(second.headers.get("location"), first.headers.get("location"), what);
  assert.deepEqual(
    [first, second].map(({ headers }) => headers.get("idempotency-replayed")),
    [null, "true"],
    what,
  );
  return first;
}

const countOf = async ({ path }: Pick<Resource, "path">) =>
  Number((await api("GET", `${path}?limit=1`)).body.total);

for (const kind of resources)
  test(`${kind.path}: each kind of write that comes twice under a key takes effect once`, async () => {
    const { path, one, minimal, change } = kind;
    const before = await countOf(kind);
    const { body } = await twice("POST", `${path}/new`, minimal());
    const { id } = (body as unknown as Record<string, Entity>)[one] as Entity;
    await twice("POST", `${path}/batch/new`, [minimal(), minimal()]);
    assert.equal(await countOf(kind), before + 3);
    await twice("PATCH", `${path}/${id}/edit`, change);
    await twice("PATCH", `${path}/batch/edit`, [{ id, ...change }]);
    await twice("PUT", `${path}/2000000000/edit`, minimal());
    assert.equal(await countOf(kind), before + 4);
    await twice("DELETE", `${path}/${id}/delete`);
    assert.equal(await countOf(kind), before + 3);
  });

test("actions and uploads that come twice under a key take effect once", async () => {
  const contact = await make(api, "contacts", "contact", { email: "twice@example.com" });
  const segment = await make(api, "segments", "list", { name: "Twice" });
  const campaign = await make(api, "campaigns", "campaign", { name: "Twice" });
  await twice("POST", `contacts/${contact.id}/points/plus/5`);
  await twice("POST", `contacts/${contact.id}/dnc/email/add`, { reason: 3 });
  await twice("POST", `segments/${segment.id}/contact/${contact.id}/add`);
  await twice("POST", `campaigns/${campaign.id}/contact/${contact.id}/add`);
  const campaigns = await countOf({ path: "campaigns" });
  await twice("POST", `campaigns/clone/${campaign.id}`);
  assert.equal(await countOf({ path: "campaigns" }), campaigns + 1);
  assert.equal((await api("GET", `contacts/${contact.id}`)).body.contact.points, 5);

  const upload = (content: Buffer, key: string) =>
    sendRaw(stack.baseUrl, {
      method: "POST",
      path: "/api/files/assets/new",
      headers: {
        authorization: authorizationOf(ADMINISTRATOR),
        "content-type": MULTIPART,
        "idempotency-key": key,
      },
      body: multipart({ filename: "twice.png", content }),
    });
  const key = randomUUID();
  const [first, second] = [await upload(PNG, key), await upload(PNG, key)];
  assert.equal(second.text, first.text);
  assert.equal(second.headers["idempotency-replayed"], "true");
  assert.equal((await upload(Buffer.concat([PNG, PNG]), key)).status, 422);
});

test("64 parallel writes with one key take effect once: each is answered the same, or 409 with Retry-After", async () => {
  const contact = await make(api, "contacts", "contact", { email: "sixty-four@example.com" });
  const send = keyed(api);
  const add = () => send("POST", `contacts/${contact.id}/points/plus/1`);
  const answers = await Promise.all(Array.from({ length: 64 }, add));
  for (const { status, headers, text } of answers)
    if (status !== 200) {
      assert.equal(status, 409, text);
      assert.equal(headers.get("retry-after"), "1");
    }
  assert.equal((await add()).headers.get("idempotency-replayed"), "true");
  assert.equal((await api("GET", `contacts/${contact.id}`)).body.contact.points, 1);
});

test("a key with another body, path or query is 422; at another route or of another caller it is another key", async () => {
  const [one, other] = await Promise.all([
    make(api, "tags", "tag", { tag: "key-one" }),
    make(api, "tags", "tag", { tag: "key-other" }),
  ]);
  const send = keyed(api);
  await send("PATCH", `tags/${one.id}/edit`, { description: "A" });
  const refusals = [
    await send("PATCH", `tags/${one.id}/edit`, { description: "B" }),
    await send("PATCH", `tags/${other.id}/edit`, { description: "A" }),
    await send("PATCH", `tags/${one.id}/edit?x=1`, { description: "A" }),
  ];
  for (const { status, text } of refusals) assert.equal(status, 422, text);
  assert.equal((await send("PUT", `tags/${one.id}/edit`, { tag: "key-one" })).status, 200);
  const person = await newPerson(stack, { "lead:leads": ["full"], "tagManager:tagManager": ["full"] });
  const theirs = keyed(createClient(stack.baseUrl, { username: person.username, password: PASSWORD }));
  const answer = await theirs("PATCH", `tags/${one.id}/edit`, { description: "A" });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("idempotency-replayed"), null);
});

test("a refused write is not kept: it can succeed later under the same key", async () => {
  const { roleId, id } = await newPerson(stack, {});
  const send = keyed(api);
  const remove = () => send("DELETE", `roles/${roleId}/delete`);
  assert.equal((await remove()).status, 428);
  await api("DELETE", `users/${id}/delete`);
  assert.equal((await remove()).status, 200);
});

const MALFORMED = ["", "x".repeat(256), "caf\u00e9", "tab\there"];

test("a malformed key is 400 at every kind of write, and says what a key may be", async () => {
  const written = allRoutes.filter(({ isWrite }) => isWrite);
  const methods = new Set(written.map(({ method }) => method));
  assert.deepEqual([...methods].sort(), ["DELETE", "GET", "PATCH", "POST", "PUT"]);
  assert.ok(written.some(({ body }) => body.isUpload));
  const send = ({ method, path }: (typeof written)[number], key: string) =>
    sendRaw(stack.baseUrl, {
      method,
      path: `/api/${pathOf(path, {})}`,
      headers: { "idempotency-key": key, authorization: authorizationOf(ADMINISTRATOR) },
    });
  for (const [index, route] of written.entries()) {
    const key = MALFORMED[index % MALFORMED.length] ?? "";
    const { status, text } = await send(route, key);
    assert.equal(status, 400, `${route.method} ${route.path} ${JSON.stringify(key)} ${text}`);
    assert.match(text, /Idempotency-Key has 1 to 255 printable/);
  }
});

test("a key that comes twice in one request is 400", async () => {
  const path = "/api/tags/new";
  const lines = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorizationOf(ADMINISTRATOR)}\r\n`;
  const answer = await exchange(
    stack.baseUrl,
    `${lines}idempotency-key: a\r\nidempotency-key: b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
  );
  assert.match(answer, /^HTTP\/1.1 400/);
});

test("a read has no use for a key", async () => {
  const send = keyed(api);
  for (let count = 0; count < 2; count += 1) {
    const { status, headers } = await send("GET", "contacts?limit=1");
    assert.equal(status, 200);
    assert.equal(headers.get("idempotency-replayed"), null);
  }
});

test("the secret of a webhook does not lie in clear with the answer that is kept", async () => {
  const hook = { name: "Keeper", webhookUrl: "https://example.com/in", triggers: ["svc.page_on_hit"] };
  const { body } = await keyed(api)("POST", "hooks/new", hook);
  const secret = Buffer.from(String(body.hook.secret)).toString("hex");
  const rows = await query<{ kept: string }>(
    database,
    "select sealed::text as kept from webhook.kept_answers",
  );
  assert.ok(rows.length > 0);
  for (const { kept } of rows) assert.ok(!kept.includes(secret));
});

const WRITES = Number(process.env.IDEMPOTENCY_WRITES ?? 1_000);
const WRITERS = 12;
/** The share of answers that their client does not wait for. */
const LOST = 0.2;
const VICTIMS = ["contact", "content", "campaign", "webhook", "gateway", "gateway-2"];

interface Write {
  method: string;
  path: string;
  body?: object | string;
  /** application/json when absent. */
  type?: string;
}

/** Undefined where the connection ended before the answer; another error is one of the test. */
function ifLost(error: Error): undefined {
  if (error.name !== "TimeoutError" && error.name !== "TypeError") throw error;
}

/** Sends a write under one key until its client has waited for its answer, which is returned. */
async function sendUntilAnswered({ type, ...write }: Write): Promise<Record<string, Entity>> {
  const headers = {
    authorization: authorizationOf(ADMINISTRATOR),
    "idempotency-key": randomUUID(),
    ...(type !== undefined && { "content-type": type }),
  };
  for (let attempt = 0; ; attempt += 1) {
    const { baseUrl } = stack.gateways[attempt % stack.gateways.length] ?? stack;
    const isLost = Math.random() < LOST;
    const signal = AbortSignal.timeout(isLost ? Math.ceil(Math.random() * 30) : 15_000);
    const answer = await fetchApi(baseUrl, { ...write, headers, signal }).catch(ifLost);
    if (answer && answer.status < 300 && !isLost) return JSON.parse(answer.text);
    if (answer && answer.status >= 400)
      assert.ok([409, 503, 504].includes(answer.status), `${write.path} ${answer.status} ${answer.text}`);
    await pause(20);
  }
}

/** Sends writes by several clients, while each process is killed once. The answers stand in the order of the writes. */
async function sendWhileProcessesAreKilled(writes: Write[]): Promise<Record<string, Entity>[]> {
  const answers: Record<string, Entity>[] = [];
  const waiting = writes.entries();
  let done = 0;
  const writer = async () => {
    for (const [index, write] of waiting) {
      answers[index] = await sendUntilAnswered(write);
      done += 1;
    }
  };
  const killing = (async () => {
    for (const [index, name] of VICTIMS.entries()) {
      const mark = ((index + 1) * writes.length) / (VICTIMS.length + 1);
      while (done < mark) await pause(5);
      const victim = stack.process(name);
      victim.kill("SIGKILL");
      await victim.exited;
      await victim.restart();
    }
  })();
  await Promise.all([killing, ...Array.from({ length: WRITERS }, writer)]);
  return answers;
}

const countsOfAll = async () =>
  new Map(await Promise.all(resources.map(async (kind) => [kind, await countOf(kind)] as const)));
const creationOf = ({ path, minimal }: Resource): Write => ({
  method: "POST",
  path: `${path}/new`,
  body: minimal(),
});

test(`${WRITES} creations of every kind, answers lost at random, sent again while processes are killed: each took effect once`, async () => {
  const before = await countsOfAll();
  const kinds = Array.from({ length: WRITES }, (_, index) => resources[index % resources.length] as Resource);
  const answers = await sendWhileProcessesAreKilled(kinds.map(creationOf));
  const created = kinds.map((kind, index) => ({ kind, id: answers[index]?.[kind.one]?.id }));
  for (const [kind, own] of Map.groupBy(created, ({ kind }) => kind)) {
    assert.equal(new Set(own.map(({ id }) => id)).size, own.length, kind.path);
    assert.equal(await countOf(kind), (before.get(kind) ?? 0) + own.length, kind.path);
  }
});

test("batches, edits, deletions and points, answers lost at random, sent again while processes are killed: each took effect once", async () => {
  const contact = await make(api, "contacts", "contact", { email: "counted@example.com" });
  const entities = await Promise.all(
    [...resources, ...resources, ...resources].map(async (kind) => ({
      kind,
      id: (await sendUntilAnswered(creationOf(kind)))[kind.one]?.id,
    })),
  );
  const before = await countsOfAll();
  const [kept, gone] = [entities.slice(0, resources.length), entities.slice(resources.length)];
  const points = (sign: string, count: number): Write[] =>
    Array.from({ length: count }, () => ({
      method: "POST",
      path: `contacts/${contact.id}/points/${sign}/1`,
    }));
  const writes: Write[] = [
    ...kept.map(({ kind, id }) => ({ method: "PATCH", path: `${kind.path}/${id}/edit`, body: kind.change })),
    ...gone.map(({ kind, id }) => ({ method: "DELETE", path: `${kind.path}/${id}/delete` })),
    ...resources.map(({ path, minimal }) => ({
      method: "POST",
      path: `${path}/batch/new`,
      body: [minimal(), minimal()],
    })),
    ...points("plus", 200),
    ...points("minus", 80),
    ...Array.from({ length: 60 }, (_, index) => ({
      method: "POST",
      path: `contacts/${contact.id}/utm/add`,
      body: { utm_campaign: `letter ${index}` },
    })),
  ];
  await sendWhileProcessesAreKilled(writes.toSorted(() => Math.random() - 0.5));
  assert.deepEqual(await countsOfAll(), before);
  assert.equal((await api("GET", `contacts/${contact.id}`)).body.contact.points, 120);
  const visits = await query(database, `select 1 from contact.utm_tags where contact_id = ${contact.id}`);
  assert.equal(visits.length, 60);
});

const MEMBERS = 60;

test("replacements, clones, uploads, members and refusals, answers lost at random, sent again while processes are killed: each took effect once", async () => {
  const [segment, campaign] = await Promise.all([
    make(api, "segments", "list", { name: "Sent again" }),
    make(api, "campaigns", "campaign", { name: "Sent again" }),
  ]);
  const contacts = await Promise.all(
    Array.from({ length: MEMBERS }, (_, index) =>
      make(api, "contacts", "contact", { email: `member-${index}@example.com` }),
    ),
  );
  const [before, uploads] = [await countsOfAll(), await countOfUploads()];
  const writes: Write[] = [
    ...resources.flatMap(({ path, minimal }) =>
      [1_900_000_000, 1_900_000_001].map((id) => ({
        method: "PUT",
        path: `${path}/${id}/edit`,
        body: minimal(),
      })),
    ),
    ...Array.from({ length: MEMBERS }, () => ({ method: "POST", path: `campaigns/clone/${campaign.id}` })),
    ...Array.from({ length: MEMBERS }, (_, index) => ({
      method: "POST",
      path: "files/assets/new",
      type: MULTIPART,
      body: multipart({ filename: `again-${index}.txt`, type: "text/plain", content: "Again" }).toString(),
    })),
    ...contacts.flatMap(({ id }) => [
      { method: "POST", path: `segments/${segment.id}/contact/${id}/add` },
      { method: "POST", path: `campaigns/${campaign.id}/contact/${id}/add` },
      { method: "POST", path: `contacts/${id}/dnc/email/add`, body: { reason: 3 } },
    ]),
  ];
  await sendWhileProcessesAreKilled(writes.toSorted(() => Math.random() - 0.5));
  for (const [kind, count] of await countsOfAll()) {
    const clones = kind.path === "campaigns" ? MEMBERS : 0;
    assert.equal(count, (before.get(kind) ?? 0) + 2 + clones, kind.path);
  }
  assert.equal(await countOfUploads(), uploads + MEMBERS);
  const ids = contacts.map(({ id }) => Number(id)).toSorted((one, other) => one - other);
  assert.deepEqual(await additionsTo(Number(segment.id)), ids);
  const members = await query<{ contact_id: number }>(
    database,
    `select contact_id from campaign.campaign_contacts where campaign_id = ${campaign.id} and rotation = 1 order by 1`,
  );
  assert.deepEqual(
    members.map(({ contact_id }) => contact_id),
    ids,
  );
  const refusals = await query(
    database,
    `select 1 from contact.contacts where id = any('{${ids}}') and do_not_contact ? 'email'`,
  );
  assert.equal(refusals.length, MEMBERS);
});

async function countOfUploads(): Promise<number> {
  const { files } = JSON.parse((await api("GET", "files/assets")).text);
  return Object.keys(files).length;
}

/** The contacts that were added to a segment, each as often as the events say. */
async function additionsTo(segmentId: number): Promise<number[]> {
  const subject = "tidings.contact.segment.membership_changed";
  const events = await publishedOn(stack, subject, SegmentMembershipChangedSchema);
  return events
    .filter((event) => event.segmentId === segmentId && event.action === "added")
    .flatMap(({ contactIds }) => contactIds)
    .toSorted((one, other) => one - other);
}
