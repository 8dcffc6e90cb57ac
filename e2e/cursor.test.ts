import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Client, createClient, type Entity } from "./client.ts";
import { make, newPerson, PASSWORD } from "./people.ts";
import { allRoutes, pathOf } from "./permission/routes.ts";
import { query } from "./query.ts";
import { addFirstContact, resources } from "./resources.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
const { api, database } = stack;
before(() => addFirstContact(api));

/** The path below /api/ of the next page (RFC 8288). */
function nextOf({ headers }: Answer): string | undefined {
  const [, path] = /<\/api\/([^>]+)>; rel="next"/.exec(headers.get("link") ?? "") ?? [];
  return path;
}

/** All pages, from the first. */
async function walk(path: string, client: Client = api, between = async () => {}): Promise<Answer[]> {
  const pages: Answer[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page = await client("GET", next);
    assert.equal(page.status, 200, `${next} ${page.text}`);
    pages.push(page);
    next = nextOf(page);
    await between();
  }
  return pages;
}

function rowsOf({ body }: Answer, many: string): Entity[] {
  const rows = (body as unknown as Record<string, Entity[] | Record<string, Entity>>)[many];
  return Object.values(rows ?? {});
}

const idsOf = (pages: Answer[], many: string) =>
  pages.flatMap((page) => rowsOf(page, many).map(({ id }) => id)).sort((one, other) => one - other);

for (const kind of resources)
  test(`${kind.path}: pages by cursor have each row once, and count=none leaves the total out`, async () => {
    const { path, one, many, minimal } = kind;
    for (let index = 0; index < 5; index += 1) await make(api, path, one, minimal());
    const all = await api("GET", `${path}?limit=0`);
    const pages = await walk(`${path}?limit=2&cursor=`);
    assert.deepEqual(idsOf(pages, many), idsOf([all], many));
    assert.ok(pages.slice(0, -1).every((page) => rowsOf(page, many).length === 2));
    assert.equal(pages[0]?.body.total, all.body.total);
    const [uncounted] = await walk(`${path}?limit=0&count=none&cursor=`);
    assert.ok(uncounted && !("total" in uncounted.body), uncounted?.text.slice(0, 200));
  });

/** Lists with a bound, which are answered whole or by `start`, and choices for forms, which are found by a part of their name. */
const WITHOUT_CURSOR = [
  ...["listResources", "listTriggers", "listPointActionTypes", "listPointTriggerEventTypes"],
  ...["listThemes", "listFiles", "listTrackedSites", "listFieldsForContacts", "listPublishedSegments"],
  // These are about one contact.
  ...["listContactCampaigns", "listContactCompanies", "listContactSegments", "listGroupScores"],
  ...["listCampaignContactEvents", "listIdentifications", "listConsents"],
  ...["listOwners", "listUserRoles"],
];

test("every list has pages by cursor", async () => {
  const all = allRoutes.filter(({ operation, alias }) => !alias && operation.startsWith("list"));
  const hasCursor = ({ query }: (typeof all)[number]) =>
    query.parameters.some(({ name }) => name === "cursor");
  assert.deepEqual(
    all.flatMap((route) => (hasCursor(route) ? [] : [route.operation])).sort(),
    WITHOUT_CURSOR.toSorted(),
  );
  const lists = all.filter(hasCursor);
  const made: Record<string, Entity> = {};
  for (const { path, one, minimal } of resources) made[path] = await make(api, path, one, minimal());
  for (const { path, parameters } of lists) {
    const named = Object.entries(parameters).map(([name, { entity }]) => {
      const id = entity ? made[entity.resource]?.id : 1;
      return [name, id ?? 1] as const;
    });
    const filter = path === "/sends" ? "&state=unknown" : "";
    const { status, text } = await api(
      "GET",
      `${pathOf(path, Object.fromEntries(named))}?cursor=&limit=1${filter}`,
    );
    assert.equal(status, 200, `${path} ${text}`);
  }
});

test("pages of sends by cursor have each send once, and a cursor belongs to its channel and filters", async () => {
  const email = await make(api, "emails", "email", { name: "Walked", subject: "Walked" });
  const { id: contactId } = await make(api, "contacts", "contact", { email: "walked@example.com" });
  await query(
    database,
    `insert into content.sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, state)
     select gen_random_uuid(), ${email.id}, 1, ${email.id}, ${contactId}, ${contactId}, 'direct:' || n, 0, 'sent' from generate_series(1, 7) n`,
  );
  const idsIn = (pages: Answer[]) =>
    pages.flatMap((page) => rowsOf(page, "sends").map(({ id }) => String(id)));
  const path = `sends?emailId=${email.id}&limit=3`;
  const [whole] = [await api("GET", `sends?emailId=${email.id}`)];
  const pages = await walk(`${path}&cursor=`);
  assert.equal(idsIn(pages).length, 7);
  assert.deepEqual(idsIn(pages), idsIn([whole]));
  const next = new URL(nextOf(pages[0] as Answer) ?? "", "http://x").searchParams.get("cursor") ?? "";
  const cursor = encodeURIComponent(next);
  assert.equal((await api("GET", `sends?emailId=${email.id}&limit=5&cursor=${cursor}`)).status, 200);
  for (const refused of [
    `sends?contactId=${contactId}&cursor=${cursor}`,
    `${path}&state=sent&cursor=${cursor}`,
    `sends?channel=sms&smsId=${email.id}&cursor=${cursor}`,
    `${path}&cursor=made-up`,
    `${path}&cursor=${cursor}&after=7`,
    `${path}&cursor[a]=b`,
  ])
    assert.equal((await api("GET", refused)).status, 400, refused);
});

test("pages of an email's sends to segments by cursor have each once", async () => {
  const email = await make(api, "emails", "email", { name: "Sent often", subject: "Sent often" });
  await query(
    database,
    `insert into content.broadcasts (id, email_id, family_id, list_ids, state, finished_at)
     select gen_random_uuid(), ${email.id}, ${email.id}, '{1}', 'finished', now() from generate_series(1, 5)`,
  );
  const pages = await walk(`emails/${email.id}/sends?limit=2&cursor=`);
  assert.deepEqual(
    pages.map((page) => rowsOf(page, "sends").length),
    [2, 2, 1],
  );
  const ids = new Set(pages.flatMap((page) => rowsOf(page, "sends").map(({ id }) => String(id))));
  assert.equal(ids.size, 5);
  assert.equal((await api("GET", `emails/${email.id}/sends?limit=101`)).status, 400);
  assert.equal((await api("GET", `emails/${email.id}/sends?cursor=made-up`)).status, 400);
});

/** Few values, so that many rows have the same, and some none. */
const CITIES = ["Athens", "Berlin", null, "Čakovec", ""];
const POINTS = [0, 5, -3];

async function addPeople(count: number, tag: string): Promise<number[]> {
  const body = Array.from({ length: count }, (_, index) => ({
    email: `${tag}-${index}@example.com`,
    city: CITIES[index % CITIES.length],
    points: POINTS[index % POINTS.length],
    tags: [tag],
  }));
  const { body: answer } = await api("POST", "contacts/batch/new", body);
  return Object.values(answer.contacts).map(({ id }) => id);
}

const ORDERS = [
  "",
  "orderBy=id&orderByDir=desc",
  ...["asc", "desc"].flatMap((direction) => [
    `orderBy=city&orderByDir=${direction}`,
    `orderBy=last_active&orderByDir=${direction}`,
    `orderBy=city,points&orderByDir=${direction}`,
    `orderBy=date_added&orderByDir=${direction}`,
  ]),
  "order[0][col]=city&order[0][dir]=asc&order[1][col]=points&order[1][dir]=desc",
  "order[0][col]=points&order[0][dir]=desc&order[1][col]=city&order[1][dir]=asc",
];

test("pages by cursor have the order of the list: ties and empty values, in both directions", async () => {
  await addPeople(23, "ordered");
  for (const order of ORDERS) {
    const path = `contacts?search=tag:ordered&${order}`;
    const whole = await api("GET", `${path}&limit=100`);
    for (const limit of [1, 4, 7]) {
      const pages = await walk(`${path}&limit=${limit}&cursor=`);
      const order_ = pages.flatMap(({ text }) => keysOf(text));
      assert.deepEqual(order_, keysOf(whole.text), `${path} ${limit}`);
    }
  }
});

/** The ids of contacts in the order of the text: an object has them in its own. */
function keysOf(text: string): string[] {
  return [...text.matchAll(/"(\d+)":\{"id":\1,/g)].map(([, id]) => id ?? "");
}

test("a row that does not change is on one page, while others come, go and change their place", async () => {
  const still = await addPeople(40, "still");
  const others = await addPeople(30, "moving");
  let turn = 0;
  const disturb = async () => {
    turn += 1;
    const id = others[turn % others.length] as number;
    if (turn % 3 === 0) await api("DELETE", `contacts/${id}/delete`);
    else await api("PATCH", `contacts/${id}/edit`, { city: CITIES[turn % CITIES.length] });
    await api("POST", "contacts/new", {
      email: `comer-${turn}@example.com`,
      city: "Berlin",
      tags: ["moving"],
    });
  };
  for (const direction of ["asc", "desc"]) {
    const path = `contacts?orderBy=city&orderByDir=${direction}&limit=3&search=tag:still+or+tag:moving&cursor=`;
    const pages = await walk(path, api, disturb);
    const seen = pages.flatMap(({ text }) => keysOf(text)).map(Number);
    const ofStill = seen.filter((id) => still.includes(id)).sort((one, other) => one - other);
    assert.deepEqual(
      ofStill,
      still.toSorted((one, other) => one - other),
    );
  }
});

test("a cursor is good for its own query and caller alone, whatever the size of the page", async () => {
  await addPeople(6, "sealed");
  const first = await api("GET", "contacts?search=tag:sealed&limit=2&cursor=");
  const next = nextOf(first) ?? "";
  const cursor = new URL(next, "http://x").searchParams.get("cursor") ?? "";
  const refused = [
    `contacts?limit=2&cursor=${cursor}`,
    `contacts?search=tag:sealed&limit=2&orderBy=city&cursor=${cursor}`,
    `companies?search=tag:sealed&limit=2&cursor=${cursor}`,
    `contacts?search=tag:sealed&start=2&cursor=${cursor}`,
    `contacts?search=tag:sealed&cursor=${cursor.slice(0, -2)}AA`,
    `contacts?search=tag:sealed&cursor=${cursor.slice(4)}`,
    "contacts?search=tag:sealed&cursor=WzFd",
    "contacts?search=tag:sealed&cursor=[1,2]",
    `contacts?search=tag:sealed&cursor=${"x".repeat(7_000)}`,
    "contacts?cursor[a]=b",
    "contacts?count=all",
  ];
  for (const path of refused) {
    const { status, text } = await api("GET", path);
    assert.equal(status, 400, `${path} ${text}`);
  }
  const larger = await api("GET", `contacts?search=tag:sealed&limit=5&cursor=${cursor}`);
  assert.equal(keysOf(larger.text).length, 4);

  const rights = { "lead:leads": ["viewother", "viewown"] };
  const person = await newPerson(stack, rights);
  const theirs = createClient(stack.baseUrl, { username: person.username, password: PASSWORD });
  assert.equal((await theirs("GET", next)).status, 400);
});

test("a page by cursor shows what its caller may see now", async () => {
  const ids = await addPeople(6, "lost");
  const person = await newPerson(stack, { "lead:leads": ["viewown", "viewother"] });
  const theirs = createClient(stack.baseUrl, { username: person.username, password: PASSWORD });
  await api("PATCH", `contacts/${ids.at(-1)}/edit`, { owner: person.id });
  const first = await theirs("GET", "contacts?search=tag:lost&orderBy=id&limit=2&cursor=");
  await api("PATCH", `roles/${person.roleId}/edit`, { rawPermissions: { "lead:leads": ["viewown"] } });
  const next = nextOf(first) ?? "";
  let seen: string[] = keysOf((await theirs("GET", next)).text);
  while (seen.length !== 1) seen = keysOf((await theirs("GET", next)).text);
  assert.deepEqual(seen, [String(ids.at(-1))]);
});
