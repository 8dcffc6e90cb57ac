import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { mmdbOf } from "@tidings/content/testing/mmdb";
import { publicTokens } from "@tidings/secrets/public-token";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { make, newPerson } from "./people.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** By which proof visitors are known, what they consented to, and where they are, through the gateway. */

const PATIENCE = { timeoutMs: 45_000 };
const folder = await mkdtemp(join(tmpdir(), "geoip-"));
const GEOIP_FILE = join(folder, "city.mmdb");
await writeFile(
  GEOIP_FILE,
  mmdbOf([93, 184, 216], {
    country: { names: { en: "Austria" } },
    subdivisions: [{ names: { en: "Tyrol" } }],
    city: { names: { en: "Innsbruck" } },
    postal: { code: "6020" },
    location: { time_zone: "Europe/Vienna" },
  }),
);
const PUBLIC_TOKEN_KEYS = `identity:${randomBytes(32).toString("base64")}`;
const database = await createTestDatabase();
const proxy = await startProxy(database.url("content"));
const stack = await startVisitedStack({
  database,
  env: { content: { DATABASE_URL: proxy.url, TRACK_BY_IP: "true", GEOIP_FILE, PUBLIC_TOKEN_KEYS } },
});
after(async () => {
  await stack.stop();
  await proxy.stop();
  await database.drop();
  await rm(folder, { recursive: true });
});
const { api, baseUrl, query } = stack;

/** Members of an answer, as a test reads them. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

let hosts = 0;
/** The headers of a person at an address of their own. */
const somebody = () => {
  hosts += 1;
  return { "x-forwarded-for": `93.185.${hosts >> 8}.${hosts & 255}` };
};
const page = (path: string) => ({ page_url: `https://shop.example${path}`, page_title: path });
const listOf = async (id: unknown, list: "identity" | "consents"): Promise<Any[]> => {
  const { status, body } = await api("GET", `contacts/${id}/${list}`);
  assert.equal(status, 200);
  return (body as Any)[list];
};
const proofsOf = async (id: unknown) =>
  (await listOf(id, "identity")).map(({ proof, deviceId, mergedFrom }) => [proof, deviceId, mergedFrom]);
const open = async (alias: string) => {
  const object = alias.startsWith("company") && alias !== "company" ? "company" : "contact";
  const { fields } = (await api("GET", `fields/${object}?search=${alias}&limit=20`)).body as Any;
  const field = fields.find((each: { alias: string }) => each.alias === alias);
  const { status } = await api("PATCH", `fields/${object}/${field.id}/edit`, { isPubliclyUpdatable: true });
  assert.equal(status, 200);
};

for (const alias of ["email", "companyname", "companycity"]) await open(alias);

const form = await make(
  api,
  "forms",
  "form",
  thankingForm("Identity", [MAIL_FIELD, { label: "I agree", alias: "consent", type: "text" }]),
);
const submit = (
  browser: ReturnType<typeof visitor>,
  members: Record<string, string>,
  headers: Record<string, string>,
) =>
  browser.ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(members).toString(),
  });

test("each way by which a device and a contact came to a person is listed, the latest first", async () => {
  const known = (await api("POST", "contacts/new", { email: "ada@identity.example" })).body.contact as Any;
  const browser = visitor(baseUrl);
  const first = (await browser.hit(page("/first"), somebody())).json;
  const device = first.device_id;
  await eventually(async () => assert.deepEqual(await proofsOf(first.id), [["device", device, null]]));
  await browser.hit({ ...page("/said"), email: "ada@identity.example" });
  await eventually(async () =>
    assert.deepEqual(await proofsOf(known.id), [
      ["query", device, first.id],
      ["device", device, null],
      ["api", null, null],
    ]),
  );
  const linked = visitor(baseUrl);
  const ct = publicTokens([PUBLIC_TOKEN_KEYS], "click").sign(`${known.id} email 7 7`);
  const before = (await linked.hit(page("/unlinked"), somebody())).json;
  assert.equal((await linked.hit({ ...page("/linked"), ct })).json.id, known.id);
  await eventually(async () => {
    const [merged, link] = (await proofsOf(known.id)).filter(([proof]) => proof === "link");
    assert.deepEqual(
      [merged, link].toSorted((one) => (one?.[2] ? -1 : 1)),
      [
        ["link", before.device_id, before.id],
        ["link", before.device_id, null],
      ],
    );
  });
  const imaged = visitor(baseUrl);
  await imaged.ask("/mtracking.gif?email=ada%40identity.example", { headers: somebody() });
  await eventually(async () => assert.equal((await proofsOf(known.id))[0]?.[0], "pixel"));
  const filling = visitor(baseUrl);
  await submit(filling, { "svcform[mail]": "ada@identity.example" }, somebody());
  await eventually(async () => assert.equal((await proofsOf(known.id))[0]?.[0], "form"));
  const other = (await api("POST", "contacts/new", { firstname: "Ada" })).body.contact as Any;
  assert.equal((await api("POST", `contacts/${known.id}/merge/${other.id}`)).status, 200);
  assert.deepEqual((await proofsOf(known.id))[0], ["merge", null, other.id]);
  const { body } = await api("GET", `contacts/${known.id}/identity?limit=1&start=1`);
  assert.deepEqual((body as Any).identity.length, 1);
  assert.equal((body as Any).total, (await proofsOf(known.id)).length);
});

test("two browsers of one contact both follow a link of another one: no command about them is refused", async () => {
  const [one, another] = await Promise.all(
    ["one", "another"].map(async (name) => {
      const { body } = await api("POST", "contacts/new", { email: `${name}@browsers.example` });
      return (body as Any).contact.id;
    }),
  );
  const { sign } = publicTokens([PUBLIC_TOKEN_KEYS], "click");
  for (const browser of [visitor(baseUrl), visitor(baseUrl)]) {
    await browser.hit(page("/new"), somebody());
    for (const id of [one, another])
      assert.equal((await browser.hit({ ...page(`/of-${id}`), ct: sign(`${id} email 7 7`) })).json.id, id);
  }
  await eventually(async () => {
    const states = await query("select distinct state from content.jobs where kind = 'visitor_identity'");
    assert.deepEqual(states, [], "jobs of visitors are waiting, or were set aside");
  }, PATIENCE);
});

test("a user without the right to view a contact gets neither its proofs nor its consent", async () => {
  const { contact } = (await api("POST", "contacts/new", { email: "hidden@identity.example" })).body as Any;
  const { api: own } = await newPerson({ api, baseUrl }, { "lead:leads": ["viewown", "editown"] });
  for (const list of ["identity", "consents"]) {
    assert.equal((await own("GET", `contacts/${contact.id}/${list}`)).status, 404);
    assert.equal((await api("GET", `contacts/2000000000/${list}`)).status, 404);
  }
  assert.equal((await own("POST", `contacts/${contact.id}/consents`, { given: true })).status, 404);
});

test("consent is kept with when, where and by what it was given or withdrawn, and goes with the contact", async () => {
  const browser = visitor(baseUrl);
  const { id } = (await browser.hit({ ...page("/agreed"), consent: "1" }, somebody())).json;
  await browser.hit({ ...page("/again"), consent: "1" });
  await eventually(async () => assert.equal((await listOf(id, "consents")).length, 1));
  const byApi = await api("POST", `contacts/${id}/consents`, { given: true, where: "Counter 3" });
  assert.equal((byApi.body as Any).consent.by, "api");
  await browser.hit({ ...page("/withdrawn"), consent: "0" });
  await eventually(async () =>
    assert.deepEqual(
      (await listOf(id, "consents")).map(({ given, by, where }) => [given, by, where]),
      [
        [false, "script", "https://shop.example/withdrawn"],
        [true, "api", "Counter 3"],
        [true, "script", "https://shop.example/agreed"],
      ],
    ),
  );
  for (const body of [
    {},
    { given: "yes" },
    { given: true, where: 5 },
    { given: true, where: "x".repeat(2_049) },
  ])
    assert.equal((await api("POST", `contacts/${id}/consents`, body)).status, 400, JSON.stringify(body));
  await submit(
    visitor(baseUrl),
    { "svcform[mail]": "agrees@identity.example", "svcform[consent]": "yes" },
    somebody(),
  );
  await eventually(async () => {
    const [row] = await query("select id from contact.contacts where email = 'agrees@identity.example'");
    assert.deepEqual(
      (await listOf(row?.id, "consents")).map(({ given, by }) => [given, by]),
      [[true, "form"]],
    );
  });
  assert.equal((await api("DELETE", `contacts/${id}/delete`)).status, 200);
  const rows = await query(
    `select 1 from contact.contact_consents where contact_id = ${id}
     union all select 1 from contact.contact_identifications where contact_id = ${id}`,
  );
  assert.deepEqual(rows, []);
});

test("a visitor without a device is found by address, keeps an id of its own, and is shown nothing", async () => {
  const headers = somebody();
  const first = (await visitor(baseUrl).hit(page("/at-home"), headers)).json;
  const second = (await visitor(baseUrl).hit(page("/at-home-again"), headers)).json;
  assert.notEqual(second.id, first.id);
  await eventually(async () =>
    assert.deepEqual(await proofsOf(first.id), [
      ["address", second.device_id, null],
      ["device", first.device_id, null],
    ]),
  );
  const [device] = await query(
    `select is_proven from content.visitor_devices where id = '${second.device_id}'`,
  );
  assert.equal(device?.is_proven, false);
  const elsewhere = (await visitor(baseUrl).hit(page("/elsewhere"), somebody())).json;
  await eventually(async () =>
    assert.deepEqual(await proofsOf(elsewhere.id), [["device", elsewhere.device_id, null]]),
  );
});

test("the place of the address stands with the hit, and fills what is empty of the contact", async () => {
  const headers = { "x-forwarded-for": "93.184.216.34" };
  const { id } = (await visitor(baseUrl).hit(page("/placed"), headers)).json;
  const [hit] = await query("select country, region, city from content.page_hits where url like '%/placed'");
  assert.deepEqual(hit, { country: "Austria", region: "Tyrol", city: "Innsbruck" });
  await eventually(async () => {
    const { all } = ((await api("GET", `contacts/${id}`)).body as Any).contact.fields;
    assert.deepEqual(
      [all.country, all.state, all.city, all.zipcode, all.timezone],
      ["Austria", "Tyrol", "Innsbruck", "6020", "Europe/Vienna"],
    );
  });
});

test("a company that a page names is made and linked, as by a form", async () => {
  const { id } = (
    await visitor(baseUrl).hit(
      { ...page("/company"), companyname: "Identity Works", companycity: "Graz", companyphone: "1" },
      somebody(),
    )
  ).json;
  await eventually(async () => {
    const { companies } = (await api("GET", `contacts/${id}/companies`)).body as Any;
    assert.deepEqual(
      companies.map((company: Any) => [company.companyname, company.companycity, company.companyphone]),
      [["Identity Works", "Graz", null]],
      "companyphone is not publicly updatable",
    );
  });
});

test("while the database is away a new visitor gets its device, which holds when the hit comes in", async () => {
  const browser = visitor(baseUrl);
  const home = somebody();
  proxy.goDown();
  const away = (await browser.hit(page("/away"), home)).json;
  assert.equal(away.id, null);
  assert.match(String(away.device_id), /^[a-z0-9]{23}$/);
  assert.equal(browser.cookies.get("svc_device_id"), away.device_id);
  await browser.hit(page("/still-away"), home);
  proxy.recover();
  await eventually(async () => {
    const rows = await query(`select 1 from content.page_hits where tracking_id = '${away.device_id}'`);
    assert.equal(rows.length, 2);
  }, PATIENCE);
  await eventually(async () => {
    const { id, device_id } = (await browser.hit(page("/back"), home)).json;
    assert.equal(device_id, away.device_id);
    assert.ok(id);
    const hits = await query(
      `select distinct contact_id as id from content.page_hits where tracking_id = '${away.device_id}'`,
    );
    assert.deepEqual(hits, [{ id }], "all hits are those of one contact");
  }, PATIENCE);
});

test("an inactive anonymous visitor goes with hits and device in every service, a known one never", async () => {
  const browser = visitor(baseUrl);
  const anonymous = (await browser.hit(page("/once"), somebody())).json;
  const known = (
    await visitor(baseUrl).hit({ ...page("/known"), email: "kept@identity.example" }, somebody())
  ).json;
  await eventually(async () => {
    const [row] = await query("select id from contact.contacts where email = 'kept@identity.example'");
    assert.equal(row?.id, known.id);
    assert.equal((await api("GET", `contacts/${anonymous.id}`)).status, 200);
  });
  await query(
    `update contact.contacts set last_active = now() - interval '366 days' where id in (${anonymous.id}, ${known.id})`,
  );
  await query("update contact.jobs set due_at = now() where kind = 'anonymous_contacts'");
  await eventually(async () => {
    const [left] = await query(
      `select (select count(*) from contact.contacts where id = ${anonymous.id})
         + (select count(*) from contact.page_hits where contact_id = ${anonymous.id})
         + (select count(*) from content.page_hits where contact_id = ${anonymous.id})
         + (select count(*) from content.visitor_devices where contact_id = ${anonymous.id})
         + (select count(*) from content.first_visits where contact_id = ${anonymous.id}) as count`,
    );
    assert.equal(Number(left?.count), 0);
  }, PATIENCE);
  assert.equal((await api("GET", `contacts/${known.id}`)).status, 200);
  const again = (await browser.hit(page("/again-after-a-year"), somebody())).json;
  assert.notEqual(again.id, anonymous.id);
});

function medianOf(times: number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
}
/** How far the medians of two halves of one list are apart. */
function spreadOf(times: number[]): number {
  const halves = [0, 1].map((parity) => times.filter((_time, index) => index % 2 === parity));
  return Math.abs(medianOf(halves[0] ?? []) - medianOf(halves[1] ?? []));
}

test("a form answers a known and an unknown address with the same text and status, and in the same time", async (context) => {
  const count = process.env.TEST_ALL ? 1_000 : 200;
  for (let from = 0; from < count; from += 100) {
    const contacts = Array.from({ length: Math.min(100, count - from) }, (_, index) => ({
      email: `known${from + index}@identity.example`,
    }));
    assert.equal((await api("POST", "contacts/batch/new", contacts)).status, 201);
  }
  const times = { known: [] as number[], unknown: [] as number[] };
  const answers = new Set<string>();
  const ask = async (kind: "known" | "unknown", index: number) => {
    const startedAt = performance.now();
    const members = { "svcform[mail]": `${kind}${index}@identity.example` };
    const { status, text } = await submit(visitor(baseUrl), members, somebody());
    times[kind].push(performance.now() - startedAt);
    answers.add(`${status} ${text.replaceAll(members["svcform[mail]"], "<said>")}`);
  };
  for (let index = 0; index < count; index += 1)
    for (const kind of index % 2 === 0 ? (["known", "unknown"] as const) : (["unknown", "known"] as const))
      await ask(kind, index);
  assert.equal(answers.size, 1, [...answers].join("\n"));
  const [known, unknown] = [medianOf(times.known), medianOf(times.unknown)];
  // The halves of one list are equals: what makes them differ is the machine.
  const noise = Math.max(spreadOf(times.known), spreadOf(times.unknown));
  const allowed = Math.max(5 * noise, 0.15 * Math.min(known, unknown), 0.5);
  const text = `known ${known.toFixed(2)} ms, unknown ${unknown.toFixed(2)} ms, halves differ by ${noise.toFixed(2)} ms`;
  context.diagnostic(text);
  assert.ok(Math.abs(known - unknown) <= allowed, text);
});
