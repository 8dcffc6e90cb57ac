import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startNats } from "@tidings/embedded/nats";
import { startRedis } from "@tidings/embedded/redis";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { MAIL_FIELD } from "../form-fields.ts";
import { make } from "../people.ts";
import { startRoundRobin } from "../round-robin.ts";
import { startTestStack } from "../stack.ts";
import { uploader } from "../uploader.ts";
import { type Answer, visitor } from "../visitor.ts";

/** Visitors come while a store or another service is away, or a process is replaced. OUTAGE_SECONDS makes it longer. */

const OUTAGE_MS = 1_000 * Number(process.env.OUTAGE_SECONDS ?? 3);
const PATIENCE = { timeoutMs: 60_000 };
const LANES = 4;

const folder = await temporaryFolder();
const nats = await startNats({ dataDir: join(folder.path, "nats") });
const redis = await startRedis({ dataDir: join(folder.path, "redis") });
const wayToRedis = await startProxy(redis.url);
const contents = await startRoundRobin();
const gateways = await startRoundRobin();
const stack = await startTestStack({
  nats,
  redisUrl: wayToRedis.url,
  replicas: { gateway: 2, content: 2 },
  env: {
    content: { SHUTDOWN_DELAY_MS: "1000" },
    gateway: {
      CONTENT_WEB_ADDRESS: contents.address,
      SHUTDOWN_DELAY_MS: "1000",
      ...{ FORM_RATE: "0", FORM_RATE_OF_ALL: "0", TRACKING_RATE: "0", DOWNLOAD_RATE: "0" },
      PUBLIC_RATE_LIMIT: "0",
    },
  },
});
after(async () => {
  await stack.stop();
  await Promise.all([contents.stop(), gateways.stop(), wayToRedis.stop()]);
  await redis.stop();
  await nats.stop();
  await folder.remove();
});
const { api, lines } = stack;
const readyUrl = async (name: string) => `http://127.0.0.1:${await lines.port(name, "ops")}/readyz`;
contents.balance([
  { port: await lines.port("content", "web"), readyUrl: await readyUrl("content") },
  { port: await lines.port("content-2", "web"), readyUrl: await readyUrl("content-2") },
]);
gateways.balance(
  await Promise.all(
    stack.gateways.map(async ({ name, baseUrl }) => ({
      port: Number(new URL(baseUrl).port),
      readyUrl: await readyUrl(name),
    })),
  ),
);
const webUrl = `http://${gateways.address}`;
const query = (text: string) => queryAsSuperuser(stack.database, text);

const { id: formId } = await make(api, "forms", "form", {
  name: "Outages",
  isPublished: true,
  postAction: "message",
  postActionProperty: "Thanks",
  fields: [MAIL_FIELD],
  actions: [{ name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 1 } }],
});
await make(api, "pages", "page", {
  title: "Outages",
  alias: "outages",
  isPublished: true,
  template: "blank",
  customHtml: `<p>{form=${formId}}</p>`,
});

const { name: file } = await uploader(stack.baseUrl).file("assets", "text.txt", "0123456789");
const asset = await make(api, "assets", "asset", {
  ...{ title: "Outages", isPublished: true, storageLocation: "local", file },
});
const assetPath = new URL(String(asset.downloadUrl)).pathname;

interface Visit {
  kind: (typeof KINDS)[number];
  name: string;
  answer: Answer | undefined;
}

const KINDS = ["hit", "page", "form", "download"] as const;

/** Visitors who come one after the other in a few lanes until they are stopped; each sees a page, is counted, downloads a file or fills in a form. */
function visits(name: string) {
  const all: Visit[] = [];
  let isStopping = false;
  let count = 0;
  const lane = async () => {
    while (!isStopping) {
      const visit = `${name}-${++count}`;
      const kind = KINDS[count % KINDS.length] ?? "hit";
      all.push({ kind, name: visit, answer: await come(kind, visit).catch(() => undefined) }); // nobody answered
    }
  };
  const lanes = Array.from({ length: LANES }, lane);
  return {
    all,
    taken: (kind: Visit["kind"]) =>
      all.filter((visit) => visit.kind === kind && isTaken(visit)).map(({ name }) => name),
    failed: () => all.filter((visit) => !isTaken(visit)),
    more: (number: number) => {
      const soFar = all.length;
      return eventually(() => assert.ok(all.length >= soFar + number), PATIENCE);
    },
    async stop() {
      isStopping = true;
      await Promise.all(lanes);
    },
  };
}

function come(kind: Visit["kind"], name: string): Promise<Answer> {
  const who = visitor(webUrl);
  if (kind === "page") return who.ask(`/outages?visit=${name}`);
  if (kind === "hit") return who.hit({ page_url: `https://shop.example/${name}` });
  if (kind === "download")
    return who.ask(assetPath, { headers: { referer: `https://shop.example/${name}` } });
  const body = { "svcform[mail]": `${name}@outages.example`, "svcform[submissionKey]": randomUUID() };
  return who.ask(`/form/submit/ajax?formId=${formId}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(body).toString(),
  });
}

const ANSWERED: Partial<Record<Visit["kind"], RegExp>> = {
  hit: /"success":1/,
  form: /"success":1/,
  download: /^0123456789$/,
};

function isTaken({ kind, answer }: Visit): boolean {
  return answer?.status === 200 && (ANSWERED[kind]?.test(answer.text) ?? true);
}

/** All that was answered is there once, and what follows from a form followed once. */
async function assertOnce({ taken }: ReturnType<typeof visits>): Promise<void> {
  await eventually(async () => {
    const hits = await query(
      "select coalesce(query ->> 'visit', replace(url, 'https://shop.example/', '')) as name from content.page_hits",
    );
    assert.deepEqual(notOnce([...taken("hit"), ...taken("page")], hits), []);
    const downloads = await query(
      "select replace(referer, 'https://shop.example/', '') as name from content.asset_downloads where code = 200",
    );
    assert.deepEqual(notOnce(taken("download"), downloads), []);
    const contacts = await query(
      "select replace(email, '@outages.example', '') as name from contact.contacts where points = 1",
    );
    assert.deepEqual(notOnce(taken("form"), contacts), []);
  }, PATIENCE);
  for (const kind of KINDS) assert.ok(taken(kind).length > 0, kind);
}

function notOnce(names: string[], rows: Record<string, unknown>[]): string[] {
  const counts = Map.groupBy(rows, ({ name }) => String(name));
  return names.filter((name) => counts.get(name)?.length !== 1);
}

/** The processes that answer visitors. */
const PUBLIC = ["gateway", "content"];
const OUTAGES = [
  { away: "NATS", begin: nats.kill, end: nats.start },
  { away: "Redis", begin: async () => wayToRedis.goDown(), end: async () => wayToRedis.recover() },
  ...processes
    .filter(({ name }) => !PUBLIC.includes(name))
    .map(({ name }) => ({
      away: `the ${name} service`,
      begin: async () => stack.process(name).kill("SIGKILL"),
      end: () => stack.process(name).restart(),
    })),
];

for (const { away, begin, end } of OUTAGES)
  test(`while ${away} is away hits, pages, forms and downloads go on, and what follows from them follows once`, async () => {
    const coming = visits(away.replaceAll(" ", "-").toLowerCase());
    await coming.more(30);
    await begin();
    await pause(OUTAGE_MS);
    await end();
    await coming.more(30);
    await coming.stop();
    assert.deepEqual(coming.failed(), []);
    await assertOnce(coming);
  });

test("gateways and content services that are replaced one by one fail no visitor", async () => {
  const coming = visits("replaced");
  for (const name of ["content", "gateway", "content-2", "gateway-2"]) {
    await coming.more(30);
    const replaced = stack.process(name);
    replaced.kill("SIGTERM");
    assert.deepEqual(await replaced.exited, { code: 0, signal: null });
    await replaced.restart();
  }
  await coming.more(30);
  await coming.stop();
  assert.deepEqual(coming.failed(), []);
  await assertOnce(coming);
});

test("a content service that stands still for a while doubles nothing and dates nothing wrong", async () => {
  const coming = visits("still");
  await coming.more(30);
  const content = stack.process("content");
  content.kill("SIGSTOP");
  await pause(OUTAGE_MS);
  process.kill(content.pid, "SIGCONT");
  await coming.more(30);
  await coming.stop();
  await assertOnce(coming);
  const doubled = await query("select url, query from content.page_hits group by 1, 2 having count(*) > 1");
  assert.deepEqual(doubled, []);
});
