import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { type Resource as Mounted, resources as mounted } from "@tidings/gateway/resources";
import {
  input_only as inputOnly,
  internal,
  open_members as openMembers,
  raw_json as rawJson,
  secret,
} from "@tidings/proto/tidings/api/v1/options";
import { columnsOf } from "@tidings/resource/columns";
import { placeOf } from "@tidings/resource/resource";
import { isOutputOnly } from "@tidings/resource/stamps";
import { optionOf } from "@tidings/rpc/option";
import { processes } from "@tidings/scripts/processes";
import { BAITS, filledWith } from "../baits.ts";
import { assertHoldsNothing } from "../hold-ups.ts";
import { ownRoutes, pathOf } from "../permission/routes.ts";
import { query } from "../query.ts";
import { addFirstContact, type Resource, resources } from "../resources.ts";
import { startTestStack } from "../stack.ts";

/** Rules of every resource, read from the mounted ones: a new one is tested by itself. */

const stack = await startTestStack();
after(() => stack.stop());
const { api } = stack;
before(() => addFirstContact(api));

const PROCESSES = processes.map(({ name }) => name);
const pidsOf = () => PROCESSES.map((name) => stack.process(name).pid);
const pids = pidsOf();

const all = mounted.map((resource) => {
  const get = resource.service.methods.find(({ name }) => name.startsWith("Get"));
  const bodies = resources.find(({ path }) => path === resource.path);
  assert.ok(get && bodies, resource.path);
  return { resource, message: get.output, bodies };
});

function isWritable(field: DescField): boolean {
  return !isOutputOnly(field) && ![internal, openMembers].some((option) => optionOf(field, option));
}

function isText(field: DescField): boolean {
  return field.fieldKind !== "message" && field.fieldKind !== "map" && field.scalar === ScalarType.STRING;
}

/** The aliases of fields are members of contacts and companies as well. */
async function openMembersOf({ path }: Mounted, message: DescMessage): Promise<string[]> {
  if (!message.fields.some((field) => optionOf(field, openMembers))) return [];
  const object = path === "contacts" ? "contact" : "company";
  const { body } = await api("GET", `fields/${object}?limit=200`);
  return (body as unknown as { fields: { alias: string }[] }).fields.map(({ alias }) => alias);
}

const NO_TEXTS: unknown[] = [{ toString: 1, valueOf: 1 }, { a: { b: 1 } }, [[1]], [{ toString: 1 }]];

for (const { resource, message, bodies } of all) {
  describe(resource.path, () => {
    test("takes no object where a text is meant, and says which member is wrong", async () => {
      const texts = message.fields.filter((field) => isWritable(field) && isText(field));
      const members = [...texts.map(({ jsonName }) => jsonName), ...(await openMembersOf(resource, message))];
      for (const member of members)
        for (const value of NO_TEXTS) {
          const answer = await api("POST", `${resource.path}/new`, { ...bodies.minimal(), [member]: value });
          const told = `${member} ${JSON.stringify(value)} ${answer.text}`;
          assert.equal(answer.status, 400, told);
          assert.ok(answer.text.includes(member), told);
        }
    });

    test("cannot be filtered, ordered or searched by a secret", async () => {
      for (const { jsonName, name } of message.fields.filter((field) => optionOf(field, secret)))
        for (const column of [jsonName, name])
          for (const asked of [`orderBy=${column}`, `where[0][col]=${column}&where[0][expr]=isNotNull`])
            assert.equal((await api("GET", `${resource.path}?${asked}`)).status, 400, asked);
    });

    test("says what it ignored, and where a wrapped body belongs", async () => {
      const answer = await api("POST", `${resource.path}/new`, { ...bodies.minimal(), "no such member": 1 });
      assert.ok(answer.status < 300, answer.text);
      assert.equal(answer.headers.get("tidings-ignored"), "no%20such%20member");
      const wrapped = await api("POST", `${resource.path}/new`, { [resource.one]: bodies.minimal() });
      assert.equal(wrapped.status, 400, wrapped.text);
      for (const [method, path, instead] of [
        ["POST", resource.path, `${resource.path}/new`],
        ["PUT", `${resource.path}/1`, `${resource.path}/1/edit`],
        ["DELETE", `${resource.path}/1`, `${resource.path}/1/delete`],
      ] as const) {
        const refused = await api(method, path, method === "POST" ? {} : undefined);
        assert.equal(refused.status, 405);
        assert.ok(refused.text.includes(`/api/${instead}`), refused.text);
      }
      const { headers } = await api("GET", `${resource.path}?page=2&per_page=5`);
      assert.equal(headers.get("tidings-ignored"), "page;use=start, per_page;use=limit");
    });
  });
}

/** Members of JSON that somewhere is read as a text or a number. */
const JSON_MEMBERS =
  `id field operator glue type filter value values weight winnerCriteria totalWeight tokenName content filters list
  label placeholder labelAttributes text captcha errorMessage precision timeout colors email points stage`.split(
    /\s+/,
  );
const NO_PRIMITIVE = { toString: 1, valueOf: 1 };
const HOLLOW = Object.fromEntries(JSON_MEMBERS.map((member) => [member, NO_PRIMITIVE]));

for (const { resource, message, bodies } of all)
  test(`no object without a text or number of its own makes ${resource.path} fail, wherever it stands in a JSON member`, async () => {
    const members = message.fields.filter((field) => isWritable(field) && optionOf(field, rawJson));
    for (const { jsonName } of members)
      for (const value of [NO_PRIMITIVE, [NO_PRIMITIVE], HOLLOW, [HOLLOW], { id: NO_PRIMITIVE }]) {
        const answer = await api("POST", `${resource.path}/new`, { ...bodies.minimal(), [jsonName]: value });
        assert.ok(answer.status < 500, `${jsonName} ${answer.text}`);
      }
    for (const field of message.fields.filter(
      (each) => isWritable(each) && each.fieldKind === "list" && each.message,
    ))
      for (const value of [
        [HOLLOW],
        [{ ...HOLLOW, name: "a", type: "text", properties: HOLLOW, conditions: HOLLOW }],
      ]) {
        const answer = await api("POST", `${resource.path}/new`, {
          ...bodies.minimal(),
          [field.jsonName]: value,
        });
        assert.ok(answer.status < 500, `${field.jsonName} ${answer.text}`);
      }
  });

/** Contacts and companies are saved another way: their fields are data. */
const WITHOUT_MESSAGE_COLUMNS = new Set(["contacts", "companies"]);

for (const { resource, message } of all) {
  if (WITHOUT_MESSAGE_COLUMNS.has(resource.path)) continue;
  test(`the table of ${resource.path} has a column for each stored field, nullable where the field is optional`, async () => {
    const { table } = placeOf(message);
    const [, schema] = message.typeName.split(".");
    const rows = await query(
      stack.database,
      `select column_name as name, is_nullable = 'YES' as nullable from information_schema.columns
       where table_schema = '${schema}' and table_name = '${table}'`,
    );
    const nullable = new Map(rows.map((row) => [row.name as string, row.nullable as boolean]));
    for (const column of columnsOf(message))
      assert.equal(nullable.get(column.name), column.nullable, `${table}.${column.name}`);
  });
}

for (const { resource, message, bodies } of all)
  test(`an entity of ${resource.path} has the members that its message declares, in their order`, async () => {
    const { body, text } = await api("POST", `${resource.path}/new`, bodies.minimal());
    const entity = (body as unknown as Record<string, object>)[resource.one];
    assert.ok(entity, text);
    const shown = message.fields.filter(
      (field) => ![internal, inputOnly].some((option) => optionOf(field, option)),
    );
    assert.deepEqual(
      Object.keys(entity),
      shown.map(({ jsonName }) => jsonName),
    );
  });

const LENGTH = 100_000;

const TEXTS = filledWith([...BAITS, "&", "<a href=", "1-"], LENGTH);
/** A body takes milliseconds where the work is linear, and many seconds where it is not. */
const LAG_MAX_SECONDS = 1;
const MEMBERS_A_REQUEST = 8;
/**
 * Every bait in every member takes minutes: `npm run test:all` does that. Otherwise each member gets three baits, another three than
 * the next: members of one kind are read by the same code, and so every kind meets every bait.
 */
const ROUNDS = TEXTS.length;
const rounds = Array.from({ length: ROUNDS }, (_, round) => (round * TEXTS.length) / ROUNDS);
const baitAt = (index: number) => TEXTS[index % TEXTS.length] as string;

const HELD = { names: PROCESSES, seconds: LAG_MAX_SECONDS };

for (const [index, { resource, message, bodies }] of all.entries()) {
  test(`no text in a body of ${resource.path} holds up a process`, async () => {
    const writable = message.fields.filter(isWritable).map(({ jsonName }) => jsonName);
    const members = [...writable, ...(await openMembersOf(resource, message))];
    for (const round of rounds)
      for (let at = 0; at < members.length; at += MEMBERS_A_REQUEST) {
        const baited = members
          .slice(at, at + MEMBERS_A_REQUEST)
          .map((member, position) => [member, baitAt(index + round + at + position)] as const);
        await assertHoldsNothing(stack, HELD, baited, () =>
          sendBait(resource, bodies, Object.fromEntries(baited)),
        );
      }
  });
}

/** Members of the routes beyond the standard operations; a route that does not know one ignores it. */
const OTHER_MEMBERS =
  `comments reason channelId eventName actionName utm_source utm_campaign useragent url referer query
  remotehost lastActive filters permissions ids password current confirm object`.split(/\s+/);
const PARAMETERS = ["search", "orderBy", "where[0][expr]=like&where[0][col]=id&where[0][val]", "select"];

for (const { path: template } of ownRoutes.filter(({ method }) => method === "POST"))
  test(`no text in a body of ${template} holds up a process`, async () => {
    for (const round of rounds)
      for (let at = 0; at < OTHER_MEMBERS.length; at += MEMBERS_A_REQUEST) {
        const baited = OTHER_MEMBERS.slice(at, at + MEMBERS_A_REQUEST).map(
          (member, position) => [member, baitAt(template.length + round + at + position)] as const,
        );
        await assertHoldsNothing(stack, HELD, baited, async () => {
          const answer = await api("POST", pathOf(template), Object.fromEntries(baited));
          assert.ok(answer.status < 500, answer.text);
        });
      }
  });

for (const [index, { path }] of mounted.entries())
  test(`no text in the query of a list of ${path} holds up a process`, () =>
    assertHoldsNothing(stack, HELD, PARAMETERS, async () => {
      for (const round of rounds)
        for (const [position, parameter] of PARAMETERS.entries()) {
          const text = encodeURIComponent(baitAt(index + round + position).slice(0, 990));
          assert.ok((await api("GET", `${path}?${parameter}=${text}`)).status < 500, `${path} ${parameter}`);
        }
    }));

async function sendBait({ path }: Mounted, bodies: Resource, members: object): Promise<void> {
  const answer = await api("POST", `${path}/new`, { ...bodies.minimal(), ...members });
  assert.ok(answer.status < 500, answer.text);
}

test("no process was lost to any of it", () => assert.deepEqual(pidsOf(), pids));
