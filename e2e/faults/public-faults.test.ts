import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { FormSubmittedSchema, PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { eventsOn } from "../bus.ts";
import { MAIL_FIELD } from "../form-fields.ts";
import { startTestStack } from "../stack.ts";
import { type Answer, visitor } from "../visitor.ts";

/** Visitors while parts of the product are killed or away. FAULT_ROUNDS makes it longer. */

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 3);
const PATIENCE = { timeoutMs: 45_000 };
/** Hits between two kills. */
const HITS_OF_A_ROUND = 200;
const database = await createTestDatabase();
const proxy = await startProxy(database.url("content"));
/** A file system of its own for the hits that wait, which only root may make. */
const hits = await temporaryFolder();
const mayMount = process.getuid?.() === 0 && isMounted(hits.path);
const stack = await startTestStack({
  database,
  env: {
    content: { DATABASE_URL: proxy.url, HITS_DIR: hits.path },
    gateway: { FORM_RATE: "0", FORM_RATE_OF_ALL: "0", TRACKING_RATE: "0", PUBLIC_RATE_LIMIT: "0" },
  },
});
after(async () => {
  await stack.stop();
  await proxy.stop();
  await database.drop();
  if (mayMount) execFileSync("umount", ["--lazy", hits.path]);
  await hits.remove();
});

function isMounted(path: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false; // not allowed here
  }
}

const { api, baseUrl } = stack;
const query = (text: string) => queryAsSuperuser(database, text);
const page = (id: string) => ({ page_url: `https://shop.example/${id}` });

const ready = () =>
  eventually(async () => assert.equal((await visitor(baseUrl).hit(page("ready"))).json.success, 1), PATIENCE);
await ready();

const form = await (async () => {
  const { body, text, status } = await api("POST", "forms/new", {
    name: "Faults",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks",
    fields: [MAIL_FIELD],
    actions: [{ name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 1 } }],
  });
  assert.equal(status, 201, text);
  return (body as unknown as { form: { id: number } }).form;
})();
const submit = (mail: string, key = randomUUID()): Promise<Answer> =>
  visitor(baseUrl).ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ "svcform[mail]": mail, "svcform[submissionKey]": key }).toString(),
  });

/** Hits of known visitors for each hit of a new one. */
const HITS_OF_A_VISITOR = 10;

/** Sends hits and submissions one after the other in several lanes until stopped, and keeps those that were answered as taken. */
function load(name: string) {
  const hits: string[] = [];
  const mails: string[] = [];
  let isStopping = false;
  let count = 0;
  const isTaken = (answer: Answer | undefined) => answer?.status === 200 && /"success":1/.test(answer.text);
  const lane = async () => {
    let browser = visitor(baseUrl);
    for (let own = 1; !isStopping; own += 1) {
      const id = `${name}-${++count}`;
      if (own % HITS_OF_A_VISITOR === 0) browser = visitor(baseUrl);
      if (count % 25 === 0) {
        const mail = `${id}@faults.example`;
        if (isTaken(await submit(mail).catch(() => undefined))) mails.push(mail); // nobody answered
      } else if (isTaken(await browser.hit(page(id)).catch(() => undefined))) hits.push(id); // nobody answered
    }
  };
  const lanes = Array.from({ length: 16 }, lane);
  return {
    hits,
    mails,
    async stop() {
      isStopping = true;
      await Promise.all(lanes);
    },
  };
}

async function checkHits(ids: string[]): Promise<void> {
  await eventually(async () => {
    const rows = await query(
      "select replace(url, 'https://shop.example/', '') as id from content.page_hits where verdict <> 'machine'",
    );
    const counts = Map.groupBy(rows, ({ id }) => String(id));
    const wrong = ids.filter((id) => counts.get(id)?.length !== 1);
    assert.deepEqual(wrong, []);
  }, PATIENCE);
}

/** Each version of a hit is in one event, and so is each submission, however often its event was published. */
async function checkEvents(ids: string[], mails: string[]): Promise<void> {
  await eventually(async () => {
    const hits = [
      ...(await eventsOn(stack.nats.url, "CONTENT", "tidings.content.page.hit")).values(),
    ].flatMap((payload) => fromBinary(PageHitsSchema, payload).hits);
    const published = new Set(hits.map(({ url }) => url.replace("https://shop.example/", "")));
    assert.deepEqual(
      ids.filter((id) => !published.has(id)),
      [],
    );
    assert.equal(new Set(hits.map(({ id, version }) => `${id} ${version}`)).size, hits.length);
    const forms = [
      ...(await eventsOn(stack.nats.url, "CONTENT", "tidings.content.form.submitted")).values(),
    ].map((payload) => Buffer.from(fromBinary(FormSubmittedSchema, payload).results).toString());
    const wrong = mails.filter(
      (mail) => forms.filter((results) => results.includes(`"${mail}"`)).length !== 1,
    );
    assert.deepEqual(wrong, []);
  }, PATIENCE);
}

/** Each answered submission has one row, one contact and one point. */
async function checkSubmissions(mails: string[]): Promise<void> {
  await eventually(async () => {
    const rows = await query(
      `select email, points from contact.contacts where email like '%@faults.example'`,
    );
    const points = Map.groupBy(rows, ({ email }) => String(email));
    const wrong = mails.filter(
      (mail) => points.get(mail)?.length !== 1 || points.get(mail)?.[0]?.points !== 1,
    );
    assert.deepEqual(wrong, []);
  }, PATIENCE);
  const doubled = await query(
    `select results from content.form_submissions where form_id = ${form.id} group by results having count(*) > 1`,
  );
  assert.deepEqual(doubled, []);
}

test("every answered hit and submission is there once, and so is its event, however often content, gateway and contact are killed", async (t) => {
  const working = load("killed");
  const began = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ["content", "gateway", "contact"]) {
      const before = working.hits.length;
      await eventually(() => assert.ok(working.hits.length > before + HITS_OF_A_ROUND), PATIENCE);
      const process = stack.process(name);
      process.kill("SIGKILL");
      await process.restart();
    }
  }
  await working.stop();
  const perSecond = (taken: string[]) => Math.round((taken.length / (performance.now() - began)) * 1_000);
  t.diagnostic(`${perSecond(working.hits)} hits and ${perSecond(working.mails)} submissions a second`);
  assert.ok(working.mails.length > 0);
  await checkHits(working.hits);
  await checkSubmissions(working.mails);
  await checkEvents(working.hits, working.mails);
});

test("while the database is away hits are answered and come in afterwards, once; forms say that they cannot be taken", async () => {
  await ready();
  const known = visitor(baseUrl);
  await known.hit(page("before"));
  proxy.goDown();
  const answered: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    const answer = await known.hit(page(`away-${count}`));
    assert.equal(answer.json.success, 1, answer.text);
    answered.push(`away-${count}`);
  }
  const image = await known.ask("/mtracking.gif?page_url=https%3A%2F%2Fshop.example%2Faway-image");
  assert.equal(image.headers["content-type"], "image/gif");
  const refused = await submit("away@faults.example");
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
  const shown = await known.ask(`/form/${form.id}`);
  assert.equal(shown.status, 503);
  assert.match(shown.text, /<h1>Not available/);
  proxy.recover();
  await checkHits([...answered, "away-image"]);
  const device = known.cookies.get("svc_device_id");
  const rows = await query(
    `select distinct contact_id from content.page_hits where tracking_id = '${device}'`,
  );
  assert.equal(rows.length, 1);
});

test("hits that were on disk when the process was killed come in with the next one", async () => {
  await ready();
  proxy.goDown();
  const answer = await visitor(baseUrl).hit(page("on-disk"));
  assert.equal(answer.json.success, 1);
  stack.process("content").kill("SIGKILL");
  proxy.recover();
  await stack.process("content").restart();
  await checkHits(["on-disk"]);
});

test("hits for which the disk has no room are refused and counted, those before and after them come in once", {
  skip: !mayMount && "no file system can be mounted here",
}, async () => {
  await ready();
  proxy.goDown();
  const answers = new Map<string, Answer>();
  const send = async (id: string) => answers.set(id, await visitor(baseUrl).hit(page(id)));
  const long = "x".repeat(1_800);
  const isRefused = () => [...answers.values()].some(({ status }) => status === 503);
  for (let count = 0; !isRefused() && count < 2_000; count += 1) await send(`full-${count}-${long}`);
  const refused = [...answers].filter(([, { status }]) => status === 503);
  assert.equal(refused[0]?.[1].headers["retry-after"], "60");
  const image = await visitor(baseUrl).ask("/mtracking.gif?page_url=https%3A%2F%2Fshop.example%2Ffull");
  assert.deepEqual([image.status, image.headers["content-type"]], [200, "image/gif"]);
  execFileSync("mount", ["-o", "remount,size=8m", hits.path]);
  await send("room-again");
  proxy.recover();
  const answered = [...answers].filter(([, { status }]) => status === 200).map(([id]) => id);
  assert.ok(answered.includes("room-again"));
  await checkHits(answered);
  const names = refused.map(([id]) => `'https://shop.example/${id}'`).join(", ");
  assert.deepEqual(await query(`select url from content.page_hits where url in (${names})`), []);
  const metrics = await fetch(`http://127.0.0.1:${await stack.lines.port("content", "ops")}/metrics`);
  assert.match(await metrics.text(), /^tidings_hits_lost_total\{[^}]*\} [1-9]/m);
});

test("while the contact service is away visits and forms go on, and what follows from them follows once", async () => {
  await ready();
  const contact = stack.process("contact");
  contact.kill("SIGKILL");
  const answer = await visitor(baseUrl).hit(page("without-contacts"));
  assert.equal(answer.json.success, 1);
  const mail = "without@faults.example";
  assert.equal((await submit(mail)).json.success, 1);
  await contact.restart();
  await checkSubmissions([mail]);
  await eventually(
    async () => assert.equal((await api("GET", `contacts/${answer.json.id}`)).status, 200),
    PATIENCE,
  );
});
