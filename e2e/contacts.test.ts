import assert from "node:assert/strict";
import { test } from "node:test";
import { type Contact, createClient, idsInOrder } from "./client.ts";
import { sharedStack } from "./shared-stack.ts";
import { ADMINISTRATOR } from "./stack.ts";

const stack = await sharedStack();
const { api } = stack;

let count = 0;
const address = () => `journey-${++count}@example.com`;

async function create(body: object): Promise<Contact> {
  const answer = await api("POST", "contacts/new", body);
  assert.ok(answer.status < 300, answer.text);
  return answer.body.contact;
}

async function namesOf(query: string): Promise<unknown[]> {
  const answer = await api("GET", `contacts?orderBy=id&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return idsInOrder(answer).map((id) => answer.body.contacts[id]?.fields.all.firstname);
}

test("a body may be form-encoded with brackets", async () => {
  const form = new URLSearchParams([
    ["email", address()],
    ["firstname", "Ada & co"],
    ["tags[]", "form"],
    ["tags[]", "bracket"],
  ]);
  const { body, status, text } = await api("POST", "contacts/new", form);
  assert.equal(status, 201, text);
  assert.equal(body.contact.fields.all.firstname, "Ada & co");
  assert.deepEqual(
    body.contact.tags.map(({ tag }) => tag),
    ["bracket", "form"],
  );
});

test("an empty list is an empty body", async () => {
  const { status, text } = await api("POST", "contacts/new", []);
  assert.equal(status, 201, text);
});

test("creating a known address edits its contact and answers 200", async () => {
  const email = address();
  const first = await create({ email, firstname: "Ada" });
  const answer = await api("POST", "contacts/new", { email: email.toUpperCase(), lastname: "Lovelace" });
  assert.equal(answer.status, 200);
  assert.equal(answer.body.contact.id, first.id);
  assert.equal(answer.body.contact.fields.all.firstname, "Ada");
  assert.equal(answer.body.contact.fields.all.lastname, "Lovelace");
});

test("an address of another contact is 422 for an edit", async () => {
  const { email } = (await create({ email: address() })).fields.all;
  const { id } = await create({ email: address() });
  const answer = await api("PATCH", `contacts/${id}/edit`, { email });
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.errors[0]?.code, 422);
});

test("a POST may name another method in its body, its query or a header", async () => {
  const { id } = await create({ email: address(), firstname: "Ada" });
  const inBody = new URLSearchParams({ _method: "PATCH", firstname: "Grace" });
  assert.equal((await api("POST", `contacts/${id}/edit`, inBody)).body.contact.fields.all.firstname, "Grace");
  const inQuery = await api("POST", `contacts/${id}/edit?_method=PATCH`, { firstname: "Mary" });
  assert.equal(inQuery.body.contact.fields.all.firstname, "Mary");
  const header = { "x-http-method-override": "DELETE" };
  assert.equal((await api("POST", `contacts/${id}/delete`, {}, header)).body.contact.id, null);
  assert.equal((await api("GET", `contacts/${id}`)).status, 404);
});

test("all field groups are there, and `all` has every value and the id", async () => {
  const { fields, id, points } = await create({ email: address(), twitter: "ada", points: 3 });
  assert.deepEqual(Object.keys(fields), ["core", "social", "personal", "professional", "all"]);
  assert.equal(fields.social.twitter?.value, "ada");
  assert.equal(fields.all.twitter, "ada");
  assert.equal(fields.all.id, id);
  assert.equal(points, 3);
});

test("tags are added and taken away, addresses are linked and kept", async () => {
  const { id } = await create({ email: address(), tags: ["one", "two"], ipAddress: "192.0.2.1" });
  await api("PATCH", `contacts/${id}/edit`, { tags: ["-one", "three"], ipAddress: "8.8.8.8" });
  const { contact } = (await api("PUT", `contacts/${id}/edit`, { firstname: "Ada" })).body;
  assert.deepEqual(
    contact.tags.map(({ tag }) => tag),
    ["three", "two"],
  );
  assert.deepEqual(Object.keys(contact.ipAddresses), ["8.8.8.8"]); // 192.0.2.0/24 is for documentation
});

test("search finds by words, commands, phrases and their negation", async () => {
  await api("POST", "contacts/batch/new", [
    { firstname: "Searchone", city: "Quito", tags: ["searched"] },
    { firstname: "Searchtwo", city: "Quito" },
    { firstname: "Searchthree", city: "Lima" },
  ]);
  const search = (text: string) => namesOf(`search=${encodeURIComponent(text)}`);
  assert.deepEqual(await search("search"), ["Searchone", "Searchtwo", "Searchthree"]);
  assert.deepEqual(await search("search city:quito"), ["Searchone", "Searchtwo"]);
  assert.deepEqual(await search("search !city:quito"), ["Searchthree"]);
  assert.deepEqual(await search("city:lima or tag:searched"), ["Searchone", "Searchthree"]);
  assert.deepEqual(await search('"searchtw"'), ["Searchtwo"]);
  assert.deepEqual(await search("firstname:+searchtwo"), ["Searchtwo"]);
});

test("where and order take bracket queries, with groups, and `order` wins over `orderBy`", async () => {
  await api("POST", "contacts/batch/new", [
    { firstname: "Whereone", city: "Oslo", points: 1 },
    { firstname: "Wheretwo", city: "Oslo", points: 2 },
    { firstname: "Wherethree", city: "Bergen", points: 3 },
  ]);
  const like = "where[0][col]=firstname&where[0][expr]=like&where[0][val]=Where%25";
  assert.deepEqual(await namesOf(like), ["Whereone", "Wheretwo", "Wherethree"]);
  assert.deepEqual(await namesOf(`${like}&order[0][col]=city&order[1][col]=points&order[1][dir]=desc`), [
    "Wherethree",
    "Wheretwo",
    "Whereone",
  ]);
  const points = "where[1][col]=points&where[1][expr]=gte&where[1][val]=2";
  assert.deepEqual(await namesOf(`${like}&${points}`), ["Wheretwo", "Wherethree"]);
  const either =
    "where[1][expr]=orX" +
    "&where[1][val][0][col]=city&where[1][val][0][expr]=eq&where[1][val][0][val]=Bergen" +
    "&where[1][val][1][col]=points&where[1][val][1][expr]=in&where[1][val][1][val]=1,9";
  assert.deepEqual(await namesOf(`${like}&${either}`), ["Whereone", "Wherethree"]);
  const camel = "where[1][column]=dateIdentified&where[1][expr]=isNotNull";
  assert.equal((await namesOf(`${like}&${camel}`)).length, 3);
});

test("select answers only the members named, and leaves out nulls", async () => {
  const { id } = await create({ email: address() });
  const listed = await api("GET", `contacts?search=ids:${id}&select[]=id&select[]=points&select[]=owner`);
  assert.deepEqual(listed.body.contacts, { [id]: { id, points: 0 } });
  const single = await api("GET", `contacts/${id}?select[]=id`);
  assert.deepEqual(single.body, { contact: { id } });
});

test("points are added, taken and logged; zero and unknown operators change nothing", async () => {
  const { id } = await create({ email: address(), points: 5 });
  const log = { eventName: "Visit", actionName: "Page" };
  const plus = await api("POST", `contacts/${id}/points/plus/10`, log);
  assert.equal(plus.status, 200, plus.text);
  assert.deepEqual(plus.body, { success: true });
  assert.equal((await api("POST", `contacts/${id}/points/minus/3`, { eventname: "Back" })).status, 200);
  assert.equal((await api("POST", `contacts/${id}/points/plus/0`)).status, 200);
  assert.equal((await api("POST", `contacts/${id}/points/power/2`)).status, 400);
  assert.ok([400, 404].includes((await api("POST", `contacts/${id}/points/plus/-1`)).status));
  assert.equal((await api("POST", "contacts/2000000000/points/plus/1")).status, 404);
  assert.equal((await api("GET", `contacts/${id}`)).body.contact.points, 12);
});

test("the list of fields is keyed by id and shows the type of each", async () => {
  const { status, text } = await api("GET", "contacts/list/fields");
  assert.equal(status, 200);
  const fields: Record<string, Record<string, unknown>> = JSON.parse(text);
  const email = Object.entries(fields).find(([, { alias }]) => alias === "email");
  assert.ok(email);
  assert.equal(email[1].id, Number(email[0]));
  assert.deepEqual([email[1].label, email[1].type, email[1].group], ["Email", "email", "core"]);
});

test("a request id is echoed when it is a sane one and made up when it is not", async () => {
  const idOf = async (sent: string) =>
    (await api("GET", "contacts?limit=1", undefined, { "x-request-id": sent })).headers.get("x-request-id");
  assert.equal(await idOf("order-66"), "order-66");
  assert.notEqual(await idOf("x".repeat(300)), "x".repeat(300));
  assert.ok(await idOf("{bad}"));
});

test("answers carry the version and the headers that keep browsers out of trouble, errors too", async () => {
  for (const path of ["contacts?limit=1", "contacts/2000000000", "nowhere"]) {
    const { headers } = await api("GET", path);
    assert.ok(headers.get("tidings-version"), path);
    assert.ok(headers.get("x-request-id"), path);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-powered-by"), null);
  }
});

test("wrong credentials are 401, however they are wrong", async () => {
  for (const login of [
    { ...ADMINISTRATOR, password: "wrong" },
    { ...ADMINISTRATOR, username: "nobody" },
    { username: "", password: "" },
  ]) {
    const answer = await createClient(stack.baseUrl, login)("GET", "contacts");
    assert.equal(answer.status, 401, answer.text);
  }
  const bearer = { authorization: "Bearer nonsense" };
  assert.equal((await createClient(stack.baseUrl)("GET", "contacts", undefined, bearer)).status, 401);
});

test("ten thousand contacts come in one streamed answer, whole and in order", async () => {
  const batches = Array.from({ length: 50 }, (_, batch) =>
    Array.from({ length: 200 }, (_, index) => ({ lastname: "Streamed", position: `${batch}-${index}` })),
  );
  for (const batch of batches) {
    const answer = await api("POST", "contacts/batch/new", batch);
    assert.equal(answer.status, 201, answer.text.slice(0, 500));
  }
  const { status, body } = await api("GET", "contacts?search=lastname:Streamed&limit=10000&orderBy=id");
  assert.equal(status, 200);
  assert.equal(body.total, "10000");
  const positions = Object.values(body.contacts).map(({ fields }) => fields.all.position);
  assert.deepEqual(
    positions,
    batches.flat().map(({ position }) => position),
  );
});
