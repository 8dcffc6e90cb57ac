import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { make, personBody } from "./people.ts";
import { startTestStack } from "./stack.ts";

/** References and sets: in a PATCH an absent member keeps them, null and nothing clear them; a PUT clears all. */

const stack = await startTestStack();
after(() => stack.stop());
const { api } = stack;

let count = 0;

interface Reference {
  path: string;
  one: string;
  /** The member that is written. */
  member: string;
  minimal(): object;
  /** Something it may refer to. */
  value(): Promise<unknown>;
  /** The present value, as an id or a number of items; nothing is null or 0. */
  read(entity: Entity): unknown;
  /** A PUT that does not name it keeps it: it is no form field. */
  isKeptByPut?: boolean;
}

const idIn =
  (member: string) =>
  (entity: Entity): unknown =>
    (entity[member] as { id: number } | null)?.id ?? null;

async function newOwner(): Promise<number> {
  return (await make(api, "users", "user", personBody(1))).id;
}

async function newCategory(bundle: string): Promise<number> {
  return (await make(api, "categories", "category", { title: `Reference ${++count}`, bundle })).id;
}

const contact = () => ({ firstname: `Reference ${++count}` });
const company = () => ({ companyname: `Reference ${++count}` });

const references: Reference[] = [
  {
    path: "contacts",
    one: "contact",
    member: "owner",
    minimal: contact,
    value: newOwner,
    read: idIn("owner"),
    isKeptByPut: true,
  },
  {
    path: "contacts",
    one: "contact",
    member: "stage",
    minimal: contact,
    value: async () => (await make(api, "stages", "stage", { name: `Reference ${++count}` })).id,
    read: idIn("stage"),
    isKeptByPut: true,
  },
  {
    path: "companies",
    one: "company",
    member: "owner",
    minimal: company,
    value: newOwner,
    read: idIn("owner"),
    isKeptByPut: true,
  },
  {
    path: "segments",
    one: "list",
    member: "category",
    minimal: () => ({ name: `Reference ${++count}` }),
    value: () => newCategory("segment"),
    read: idIn("category"),
  },
  {
    path: "stages",
    one: "stage",
    member: "category",
    minimal: () => ({ name: `Reference ${++count}` }),
    value: () => newCategory("stage"),
    read: idIn("category"),
  },
  {
    path: "hooks",
    one: "hook",
    member: "category",
    minimal: () => ({ name: `Reference ${++count}`, webhookUrl: "https://example.com/" }),
    value: () => newCategory("webhook"),
    read: idIn("category"),
  },
  ...["points", "points/triggers"].flatMap((path): Reference[] =>
    [
      { member: "category", value: () => newCategory("point") },
      {
        member: "group",
        value: async () => (await make(api, "points/groups", "pointGroup", { name: "A" })).id,
      },
    ].map(({ member, value }) => ({
      path,
      one: path === "points" ? "point" : "trigger",
      member,
      minimal: () => ({ name: `Reference ${++count}`, type: "page.hit", delta: 1 }),
      value,
      read: idIn(member),
    })),
  ),
  {
    path: "contacts",
    one: "contact",
    member: "companies",
    minimal: contact,
    value: async () => [(await make(api, "companies", "company", company())).id],
    read: ({ id }) => linkedCompanies(id),
    // Its primary one is the field `company`, which a PUT clears.
  },
];

async function linkedCompanies(id: number): Promise<number> {
  return ((await api("GET", `contacts/${id}/companies`)).body as unknown as { total: number }).total;
}

for (const { path, one, member, minimal, value, read, isKeptByPut } of references) {
  describe(`${member} of ${path}`, () => {
    const edited = async (method: string, id: number, body: object): Promise<unknown> => {
      const answer = await api(method, `${path}/${id}/edit`, body);
      assert.equal(answer.status, 200, answer.text);
      return read((answer.body as unknown as Record<string, Entity>)[one] as Entity);
    };
    const created = async (): Promise<{ id: number; known: unknown }> => {
      const wanted = await value();
      const entity = await eventually(() => make(api, path, one, { ...minimal(), [member]: wanted }));
      const known = await read(entity);
      assert.ok(known, JSON.stringify(entity));
      return { id: entity.id, known };
    };

    test("absent keeps it", async () => {
      const { id, known } = await created();
      assert.deepEqual(await edited("PATCH", id, {}), known);
    });

    for (const nothing of [null, "", path === "contacts" && member === "companies" ? [] : 0])
      test(`${JSON.stringify(nothing)} clears it`, async () => {
        const { id } = await created();
        assert.ok(!(await edited("PATCH", id, { [member]: nothing })));
        const again = await created();
        assert.ok(!(await edited("PUT", again.id, { ...minimal(), [member]: nothing })));
        const body = { ...minimal(), [member]: nothing };
        assert.ok(!(await read(await make(api, path, one, body))), "nor has a new one any");
      });

    test(`a PUT without it ${isKeptByPut ? "keeps" : "clears"} it`, async () => {
      const { id, known } = await created();
      const left = await edited("PUT", id, minimal());
      if (isKeptByPut) assert.deepEqual(left, known);
      else assert.ok(!left);
    });
  });
}

for (const [member, value, empty] of [
  ["tags", ["kept"], [null, "", []]],
  ["doNotContact", [{ channel: "email" }], [null, []]],
  ["frequencyRules", { email: { frequency_number: 1, frequency_time: "DAY" } }, [null, {}]],
] as const)
  test(`nothing as ${member} changes nothing: they are added to and taken from by name`, async () => {
    const { id } = await make(api, "contacts", "contact", { ...contact(), [member]: value });
    const shown = async () => JSON.stringify((await api("GET", `contacts/${id}`)).body.contact[member]);
    const before = await shown();
    assert.ok(before.length > 2, before);
    for (const nothing of empty) {
      assert.equal((await api("PATCH", `contacts/${id}/edit`, { [member]: nothing })).status, 200);
      assert.equal(await shown(), before, JSON.stringify(nothing));
    }
  });

test("a role is what a user must have: nothing is refused, or leaves it", async () => {
  for (const role of [null, "", 0, undefined]) {
    const { role: _role, ...body } = personBody(1);
    const answer = await api("POST", "users/new", { ...body, ...(role !== undefined && { role }) });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /role/);
  }
});

test("a PUT to an id that is nobody's edits the contact that has the unique value", async () => {
  const email = `known-${process.pid}@example.com`;
  const { id } = await make(api, "contacts", "contact", { email, city: "Paris" });
  const answer = await api("PUT", "contacts/1999999999/edit", { email, lastname: "Known" });
  assert.deepEqual([answer.status, answer.body.contact.id], [200, id]);
  const unknown = await api("PUT", "contacts/1999999999/edit", { email: `un${email}` });
  assert.equal(unknown.status, 201);
});

test("a value that is in use already is named", async () => {
  const companyname = `Taken ${process.pid}`;
  await make(api, "companies", "company", { companyname });
  const answer = await api("POST", "companies/new", { companyname, force: true });
  assert.equal(answer.status, 422, answer.text);
  assert.match(answer.body.errors[0]?.message ?? "", /companyname/);
});

test("fields are found by what they are, and get aliases that no database stumbles over", async () => {
  const added = async (body: object) => (await make(api, "fields/contact", "field", body)).alias;
  assert.equal(await added({ label: "Straße" }), "strasse");
  assert.equal(await added({ label: "Order" }), "f_order");
  assert.notEqual(await added({ label: "Constructor" }), "constructor");
  await added({ label: "Passport", isUniqueIdentifier: true, group: "personal", type: "tel" });
  const found = async (search: string) => {
    const { body } = await api("GET", `fields/contact?limit=200&search=${encodeURIComponent(search)}`);
    return (body as unknown as { fields: Entity[] }).fields;
  };
  assert.deepEqual((await found("is:unique")).map(({ alias }) => alias).toSorted(), ["email", "passport"]);
  assert.ok((await found("is:indexed")).some(({ alias }) => alias === "strasse"));
  assert.deepEqual(new Set((await found("type:tel")).map(({ type }) => type)), new Set(["tel"]));
  assert.deepEqual(new Set((await found("group:personal")).map(({ group }) => group)), new Set(["personal"]));
});

test("a reason that is none is refused in the words that clients know", async () => {
  const { id } = await make(api, "contacts", "contact", contact());
  const { status, body } = await api("POST", `contacts/${id}/dnc/email/add`, { reason: 0 });
  assert.equal(status, 400);
  const [error] = body.errors as unknown as { message: string; details: string[] }[];
  assert.equal(error?.message, "Invalid reason code given");
  assert.deepEqual(error?.details, ["Reason code needs to be an integer and higher than 0."]);
});

test("an address below /api that is nobody's says that it is one of an API", async () => {
  const { status, text } = await api("GET", "contact");
  assert.equal(status, 404);
  assert.match(text, /GET \/api names what it has/);
  const { body } = await api("GET", "");
  assert.equal(
    (body as unknown as { resources: Record<string, string> }).resources.contacts,
    "/api/contacts",
  );
});
