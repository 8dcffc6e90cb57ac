import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer, Client, Entity, RequestBody } from "./client.ts";
import { make } from "./people.ts";
import { exampleOf, ownRoutes, pathOf } from "./permission/routes.ts";
import { addFirstContact, type Resource, resources } from "./resources.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
const { api } = stack;
before(() => addFirstContact(api));

const tagOf = ({ headers, text }: Answer): string => {
  const tag = headers.get("etag");
  assert.match(tag ?? "", /^"(\d+\.)?[\w-]{22}"$/, text);
  return tag as string;
};

/** A GET, whose answer may be 304 without a body. */
const read = (path: string, tag?: string): Promise<Answer> =>
  api("GET", path, undefined, tag === undefined ? {} : { "if-none-match": tag });

const ifMatch =
  (tag: string): Client =>
  (method: string, path: string, body?: RequestBody) =>
    api(method, path, body, { "if-match": tag });

const entityOf = ({ body }: Answer, { one }: Resource) =>
  (body as unknown as Record<string, Entity>)[one] as Entity;

for (const kind of resources)
  test(`${kind.path}: a tag stands for the bytes of a read and for the version of a write`, async () => {
    const { path, one, minimal, change } = kind;
    const made = await api("POST", `${path}/new`, minimal());
    const { id } = entityOf(made, kind);
    const at = `${path}/${id}`;
    const first = await read(at);
    const tag = tagOf(first);
    assert.equal((await read(at, tag)).status, 304);
    assert.equal((await read(at, `W/${tag}, "another"`)).status, 304);
    assert.equal((await read(at, '"another"')).text, first.text);

    const list = await read(`${path}?limit=2`);
    assert.equal((await read(`${path}?limit=2`, tagOf(list))).status, 304);

    const changed = await ifMatch(tag)("PATCH", `${at}/edit`, change);
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await read(at, tag)).status, 200);
    assert.notEqual((await read(at)).headers.get("etag"), tag);

    const refusals = [
      await ifMatch(tag)("PATCH", `${at}/edit`, minimal()),
      await ifMatch(tag)("PUT", `${at}/edit`, minimal()),
      await ifMatch(tag)("DELETE", `${at}/delete`),
      await ifMatch(`W/${tagOf(await read(at))}`)("PATCH", `${at}/edit`, change),
      await api("PUT", `${at}/edit`, minimal(), { "if-none-match": "*" }),
      await ifMatch("*")("PUT", `${path}/2000000000/edit`, minimal()),
    ];
    for (const { status, text } of refusals) assert.equal(status, 412, text);
    assert.equal((await read(at)).text, (await read(at)).text);

    const current = tagOf(await read(at));
    const other = entityOf(await api("POST", `${path}/new`, minimal()), kind);
    const batch = await api("PATCH", `${path}/batch/edit`, [
      { id: other.id, ...change, "If-Match": tag.replace(/\d+/, "999") },
      { id, ...change, "If-Match": current },
    ]);
    assert.deepEqual(
      (batch.body as unknown as { statusCodes: number[] }).statusCodes,
      [412, 200],
      batch.text,
    );

    assert.equal((await ifMatch('"1.x"')("PATCH", `${at}/edit`, change)).status, 412);
    const gone = await ifMatch(`"other", ${tagOf(await read(at))}`)("DELETE", `${at}/delete`);
    assert.equal(gone.status, 200, gone.text);
    assert.equal((gone.body as unknown as Record<string, Entity>)[one]?.id, null);
  });

test("the name of a category changes the bytes of a stage, and not its version", async () => {
  const category = await make(api, "categories", "category", { title: "Tagged", bundle: "global" });
  const stage = await make(api, "stages", "stage", { name: "Tagged", category: category.id });
  const tag = tagOf(await read(`stages/${stage.id}`));
  await api("PATCH", `categories/${category.id}/edit`, { title: "Tagged otherwise" });
  await untilChanged(`stages/${stage.id}`, tag);
  const edit = await ifMatch(tag)("PATCH", `stages/${stage.id}/edit`, { weight: 7 });
  assert.equal(edit.status, 200, edit.text);
});

test("the name of its company is a value of a contact: renaming the company changes its version, other members do not", async () => {
  const company = await make(api, "companies", "company", { companyname: "Tagged Ltd" });
  const contact = await make(api, "contacts", "contact", { email: "employee@example.com" });
  const at = `contacts/${contact.id}`;
  assert.equal((await api("POST", `companies/${company.id}/contact/${contact.id}/add`)).status, 200);
  const edit = (tag: string, city: string) => ifMatch(tag)("PATCH", `${at}/edit`, { city });
  const before = tagOf(await read(at));
  await api("PATCH", `companies/${company.id}/edit`, { companycity: "Bern" });
  const edited = await edit(before, "Basel");
  assert.equal(edited.status, 200, edited.text);
  const tag = tagOf(await read(at));
  await api("PATCH", `companies/${company.id}/edit`, { companyname: "Renamed Ltd" });
  assert.equal((await read(at)).body.contact.fields.all.company, "Renamed Ltd");
  assert.equal((await edit(tag, "Chur")).status, 412);
  const again = await edit(tagOf(await read(at)), "Chur");
  assert.equal(again.status, 200, again.text);
});

async function untilChanged(path: string, tag: string): Promise<void> {
  while ((await read(path, tag)).status === 304);
}

test("If-None-Match: * makes what is not there, and replaces nothing", async () => {
  const put = (id: number) => api("PUT", `tags/${id}/edit`, { tag: `made-${id}` }, { "if-none-match": "*" });
  const made = await put(2_000_000_000);
  assert.equal(made.status, 201, made.text);
  const { id } = (made.body as unknown as { tag: Entity }).tag;
  assert.equal((await put(id)).status, 412);
});

test("a broken tag is 400, and a condition on a path without an entity is 412", async () => {
  const { id } = await make(api, "tags", "tag", { tag: "broken" });
  for (const broken of ["unquoted", '"open', '"a" "b"', ",", '"a",,"b"', `"${"x".repeat(300)}"`]) {
    const { status, text } = await ifMatch(broken)("PATCH", `tags/${id}/edit`, { description: "x" });
    assert.equal(status, 400, `${broken} ${text}`);
    assert.equal((await read(`tags/${id}`, broken)).status, 400, broken);
  }
  assert.equal((await ifMatch('"1.x"')("POST", "tags/new", { tag: "new" })).status, 412);
  const beyond = `"9999999999.${"A".repeat(22)}"`;
  assert.equal((await ifMatch(beyond)("PATCH", `tags/${id}/edit`, { description: "x" })).status, 412);
  assert.equal((await ifMatch("*")("PUT", "tags/99999999999/edit", { tag: "beyond" })).status, 412);
  const odd = ["x", -1, 99_999_999_999, { id }, { toString: 1 }, null, 1.5].map((id) => ({
    id,
    "If-Match": beyond,
  }));
  const { status, text } = await api("PATCH", "tags/batch/edit", odd);
  assert.equal(status, 200, text);
  const batch = await api("PATCH", "tags/batch/edit", [{ id, "If-Match": 7 }]);
  assert.equal(batch.status, 400, batch.text);
});

const STALE = `"999.${"A".repeat(22)}"`;

test("an item of a batch is held to its If-Match however its id is written", async () => {
  const { id } = await make(api, "tags", "tag", { tag: "odd ids" });
  const forms = [id, String(id), `00${id}`, ` ${id} `];
  for (const method of ["PATCH", "PUT"])
    for (const form of forms) {
      const items = [{ id: form, tag: "changed", "If-Match": STALE }];
      const { body, text } = await api(method, "tags/batch/edit", items);
      assert.deepEqual((body as unknown as { statusCodes: number[] }).statusCodes, [412], `${form} ${text}`);
    }
  const current = tagOf(await read(`tags/${id}`));
  const { body, text } = await api("PATCH", "tags/batch/edit", [
    { id: ` 0${id}`, description: "Changed", "If-Match": current },
  ]);
  assert.deepEqual((body as unknown as { statusCodes: number[] }).statusCodes, [200], text);
});

test("an item of a batch of deletions is held to its If-Match in every form of the body", async () => {
  const { id } = await make(api, "tags", "tag", { tag: "kept by its tag" });
  const current = tagOf(await read(`tags/${id}`));
  const forms: ((item: object) => object)[] = [
    (item) => [item],
    (item) => ({ ids: [item] }),
    (item) => ({ ids: { 0: item } }),
    (item) => ({ 0: item }),
  ];
  for (const form of forms)
    for (const written of [id, ` 0${id} `]) {
      const refused = await api("DELETE", "tags/batch/delete", form({ id: written, "If-Match": STALE }));
      const [error] = refused.body.errors;
      assert.deepEqual([refused.status, error?.code], [200, 412], refused.text);
    }
  const broken = await api("DELETE", "tags/batch/delete", { ids: [{ id, "If-Match": 7 }] });
  assert.equal(broken.status, 400, broken.text);
  const inQuery = new URLSearchParams({ "ids[0][id]": String(id), "ids[0][If-Match]": STALE });
  assert.equal((await api("DELETE", `tags/batch/delete?${inQuery}`)).body.errors[0]?.code, 412);
  for (const form of forms) {
    const other = await make(api, "tags", "tag", { tag: "deleted by its tag" });
    const tag = tagOf(await read(`tags/${other.id}`));
    const gone = await api("DELETE", "tags/batch/delete", form({ id: other.id, "If-Match": tag }));
    assert.equal((await read(`tags/${other.id}`)).status, 404, gone.text);
  }
  assert.equal(tagOf(await read(`tags/${id}`)), current);
});

test("every write below an entity refuses a version that is not the entity's", async () => {
  const contact = await make(api, "contacts", "contact", { email: "tagged@example.com" });
  const ids: Record<string, number> = { contactId: contact.id, mergedId: contact.id };
  const nameOf = new Map<string, Resource>(resources.map((kind) => [kind.path, kind]));
  const routes = ownRoutes.filter(
    ({ isWrite, parameters, path }) =>
      isWrite && Object.values(parameters).some(({ entity }) => entity) && !path.includes("merge"),
  );
  assert.ok(routes.length > 20, String(routes.length));
  for (const route of routes) {
    const { method, path, parameters } = route;
    const [[name, first] = []] = Object.entries(parameters).filter(([, { entity }]) => entity);
    const kind = nameOf.get(first?.entity?.resource ?? "");
    assert.ok(kind && name, path);
    const thing = kind.path === "contacts" ? contact : await make(api, kind.path, kind.one, kind.minimal());
    const group = path.includes(":groupId")
      ? await make(api, "points/groups", "pointGroup", { name: "Tagged" })
      : { id: 1 };
    const target = pathOf(path, { ...ids, groupId: group.id, [name]: thing.id });
    const { status, text } = await ifMatch('"999999.AAAAAAAAAAAAAAAAAAAAAA"')(
      method,
      target,
      exampleOf(route),
    );
    assert.equal(status, 412, `${method} ${target} ${text}`);
  }
});

test("parallel writers that use If-Match lose no update, whatever else runs", async () => {
  const { id } = await make(api, "tweets", "tweet", { name: "Counter", text: "x", description: "0" });
  const contact = await make(api, "contacts", "contact", { email: "counter@example.com", city: "0" });
  const counters = [
    {
      path: `tweets/${id}`,
      read: (body: Answer["body"]) => (body as unknown as { tweet: Entity }).tweet.description,
      write: (description: string) => ({ description }),
    },
    {
      path: `contacts/${contact.id}`,
      read: (body: Answer["body"]) => body.contact.fields.all.city,
      write: (city: string) => ({ city }),
    },
  ];
  const WRITERS = 6;
  const EACH = 8;
  const count = async ({ path, read: valueIn, write }: (typeof counters)[number]) => {
    for (let done = 0; done < EACH; ) {
      const now = await read(path);
      const next = String(Number(valueIn(now.body)) + 1);
      const { status, text } = await ifMatch(tagOf(now))("PATCH", `${path}/edit`, write(next));
      assert.ok(status === 200 || status === 412, text);
      if (status === 200) done += 1;
    }
  };
  const others = (async () => {
    for (let index = 0; index < 20; index += 1) {
      await api("POST", `contacts/${contact.id}/points/plus/1`);
      await api("PATCH", `tweets/${id}/edit`, { name: `Counter ${index}` });
    }
  })();
  await Promise.all([
    others,
    ...counters.flatMap((counter) => Array.from({ length: WRITERS }, () => count(counter))),
  ]);
  for (const { path, read: valueIn } of counters)
    assert.equal(valueIn((await read(path)).body), String(WRITERS * EACH), path);
});
