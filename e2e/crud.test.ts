import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Answer, type Client, createClient, type Entity, idsInOrder } from "./client.ts";
import { addFirstContact, type Resource, resources } from "./resources.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
await addFirstContact(stack.api);

const MISSING = 2_000_000_000;
const BATCH_MAX = 200;
const LIMIT_MAX = 10_000;

for (const resource of resources) {
  describe(resource.path, () => crudSuite(resource, stack.api));
}

function crudSuite(resource: Resource, api: Client): void {
  const { path, one, many, shape, minimal, full, change, fixed = [], hidden = [] } = resource;

  const create = async (body: object): Promise<Entity> => {
    const answer = await api("POST", `${path}/new`, body);
    assert.equal(answer.status, 201, answer.text);
    return single(answer);
  };
  const get = async (id: number): Promise<Entity> => {
    const answer = await api("GET", `${path}/${id}`);
    assert.equal(answer.status, 200, answer.text);
    return single(answer);
  };
  const single = ({ body }: Answer): Entity => members(body)[one] as Entity;
  const listed = ({ body }: Answer): Entity[] => Object.values(members(body)[many] as object);
  const assertHas = (entity: Entity, expected: Record<string, unknown>) => {
    for (const [key, value] of Object.entries(expected))
      if (!hidden.includes(key)) assert.deepEqual(resource.read(entity, key), value, key);
  };
  const assertReplaced = (entity: Entity, body: Record<string, unknown>) =>
    assertHas(entity, { ...without(body, fixed), ...resource.cleared });

  test("create answers 201 with a Location, and what was created can be read there", async () => {
    const answer = await api("POST", `${path}/new`, minimal());
    assert.equal(answer.status, 201, answer.text);
    const created = single(answer);
    assert.ok(Number.isInteger(created.id));
    assert.equal(answer.headers.get("location"), `/api/${path}/${created.id}`);
    assert.deepEqual(await get(created.id), created);
  });

  test("create stores every member of a full body", async () => {
    const body = full();
    assertHas(await create(body), body);
  });

  test("members that the service alone decides are ignored by every write", async () => {
    const forged = {
      id: MISSING,
      dateAdded: "2001-01-01T00:00:00+00:00",
      dateModified: "2001-01-01T00:00:00+00:00",
      createdBy: 99,
      createdByUser: "Forger",
      modifiedBy: 99,
      modifiedByUser: "Forger",
      version: 99,
      unknownMember: true,
    };
    const assertGenuine = (entity: Entity) => {
      for (const [key, value] of Object.entries(forged)) assert.notEqual(entity[key], value, key);
    };
    const created = await create({ ...minimal(), ...forged });
    assertGenuine(created);
    for (const [method, body] of [
      ["PATCH", change],
      ["PUT", minimal()],
    ] as const) {
      const answer = await api(method, `${path}/${created.id}/edit`, { ...body, ...forged });
      assert.equal(answer.status, 200, answer.text);
      assertGenuine(single(answer));
      assert.equal(single(answer).id, created.id);
    }
  });

  test("form-encoded bodies are as good as JSON", async () => {
    const body = full();
    const answer = await api("POST", `${path}/new`, new URLSearchParams(formEntries(body)));
    assert.equal(answer.status, 201, answer.text);
    assertHas(single(answer), body);
  });

  test("list answers a total and the entities", async () => {
    const { id } = await create(minimal());
    const answer = await api("GET", `${path}?limit=0`);
    assert.equal(answer.status, 200);
    assert.equal(typeof answer.body.total, resource.total);
    assert.equal(Number(answer.body.total), listed(answer).length);
    assert.equal(Array.isArray(members(answer.body)[many]), shape === "array");
    assert.ok(listed(answer).some((entity) => entity.id === id));
  });

  test("list pages in the order asked for, and writes its keys in that order", async () => {
    const ids: number[] = [];
    for (let index = 0; index < 3; index++) ids.unshift((await create(minimal())).id);
    const search = `search=ids:${ids.join(",")}&orderBy=id&orderByDir=DESC`;
    const first = await api("GET", `${path}?${search}&limit=2`);
    const second = await api("GET", `${path}?${search}&limit=2&start=2`);
    assert.equal(Number(first.body.total), 3);
    const idsOf = (answer: Answer) =>
      shape === "array" ? listed(answer).map(({ id }) => id) : idsInOrder(answer);
    assert.deepEqual(idsOf(first), ids.slice(0, 2));
    assert.deepEqual(idsOf(second), ids.slice(2));
  });

  test("a list without matches is empty", async () => {
    const { text } = await api("GET", `${path}?search=ids:${MISSING}`);
    const total = resource.total === "string" ? "0" : 0;
    assert.deepEqual(JSON.parse(text), { total, [many]: shape === "array" ? [] : {} });
  });

  test("PATCH keeps members that are not in the body", async () => {
    const body = full();
    const { id } = await create(body);
    const answer = await api("PATCH", `${path}/${id}/edit`, change);
    assert.equal(answer.status, 200, answer.text);
    assertHas(single(answer), { ...body, ...change });
    assert.deepEqual(await get(id), single(answer));
  });

  test("PATCH of nothing, sent as an empty list, changes nothing", async () => {
    const before = await create(full());
    const answer = await api("PATCH", `${path}/${before.id}/edit`, []);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await get(before.id), before);
  });

  test("PUT clears members that are not in the body", async () => {
    const { id } = await create(full());
    const body = minimal();
    const answer = await api("PUT", `${path}/${id}/edit`, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(single(answer).id, id);
    assertReplaced(single(answer), body);
  });

  test("PUT of a missing id creates with 201 and an id of its own", async () => {
    const body = full();
    const answer = await api("PUT", `${path}/${MISSING}/edit`, body);
    assert.equal(answer.status, 201, answer.text);
    const { id } = single(answer);
    assert.notEqual(id, MISSING);
    assert.equal(answer.headers.get("location"), `/api/${path}/${id}`);
    assertHas(await get(id), body);
  });

  test("DELETE answers the entity without its id, and then it is gone", async () => {
    const body = full();
    const { id } = await create(body);
    const answer = await api("DELETE", `${path}/${id}/delete`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(single(answer).id, null);
    assertHas(single(answer), body);
    assertError(await api("GET", `${path}/${id}`), 404);
    assertError(await api("DELETE", `${path}/${id}/delete`), 404);
  });

  test("an id that does not exist, or is none, is 404", async () => {
    assertError(await api("GET", `${path}/${MISSING}`), 404);
    assertError(await api("PATCH", `${path}/${MISSING}/edit`, change), 404);
    assertError(await api("DELETE", `${path}/${MISSING}/delete`), 404);
    for (const id of ["0", "-1", "01", "1.5", "99999999999999999999", "one"])
      assertError(await api("GET", `${path}/${id}`), 404);
  });

  for (const [member, body] of Object.entries(resource.refused)) {
    test(`a bad ${member} is 400 and named in the details, and nothing is stored`, async () => {
      const total = await totalOf(api, path);
      const answer = await api("POST", `${path}/new`, body);
      assertError(answer, 400);
      assert.deepEqual(Object.keys(answer.body.errors[0]?.details ?? {}), [member]);
      assert.equal(await totalOf(api, path), total);
    });
  }

  test("batch create answers by position, and a bad item harms no other", async () => {
    const [bad] = Object.values(resource.refused);
    const answer = await api("POST", `${path}/batch/new`, [minimal(), bad, full()]);
    assert.equal(answer.status, 201, answer.text);
    const { [many]: entities, statusCodes, errors } = members(answer.body);
    assert.deepEqual(statusCodes, [201, 400, 201]);
    assert.deepEqual(Object.keys(entities as object), ["0", "2"]);
    assert.deepEqual(Object.keys(errors as object), ["1"]);
    assert.equal((errors as Record<string, { code: number }>)["1"]?.code, 400);
  });

  test("batch create without errors answers a list, and no errors", async () => {
    const answer = await api("POST", `${path}/batch/new`, [minimal(), minimal()]);
    assert.equal(answer.status, 201, answer.text);
    const { [many]: entities, statusCodes } = members(answer.body);
    assert.ok(Array.isArray(entities));
    assert.deepEqual(statusCodes, [201, 201]);
    assert.equal("errors" in answer.body, false);
  });

  test("batch PATCH edits what is there and answers 404 for what is not", async () => {
    const body = full();
    const { id } = await create(body);
    const answer = await api("PATCH", `${path}/batch/edit`, [
      { id, ...change },
      { id: MISSING, ...change },
    ]);
    assert.equal(answer.status, 200, answer.text);
    const { statusCodes, errors } = members(answer.body);
    assert.deepEqual(statusCodes, [200, 404]);
    assert.deepEqual(Object.keys(errors as object), ["1"]);
    assertHas(await get(id), { ...body, ...change });
  });

  test("batch PUT clears what is there and creates what is not", async () => {
    const { id } = await create(full());
    const bodies = [minimal(), full()];
    const answer = await api("PUT", `${path}/batch/edit`, [
      { ...bodies[0], id },
      { ...bodies[1], id: MISSING },
    ]);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(members(answer.body).statusCodes, [200, 201]);
    const [edited, created] = listed(answer);
    assert.ok(edited && created);
    assertReplaced(await get(edited.id), { ...bodies[0] });
    assertHas(await get(created.id), { ...bodies[1] });
  });

  const spellings: Record<string, (ids: number[]) => string> = {
    "a comma list": (ids) => `ids=${ids.join(",")}`,
    "repeated ids[]": (ids) => ids.map((id) => `ids[]=${id}`).join("&"),
    "numbered arguments": (ids) => ids.map((id, index) => `${index}=${id}`).join("&"),
  };
  for (const [name, query] of Object.entries(spellings)) {
    test(`batch delete by ${name} answers the entities with their ids and names missing ones`, async () => {
      const ids = [(await create(minimal())).id, MISSING, (await create(minimal())).id];
      const answer = await api("DELETE", `${path}/batch/delete?${query(ids)}`);
      assert.equal(answer.status, 200, answer.text);
      const deleted = listed(answer).map(({ id }) => id);
      assert.deepEqual(deleted, [ids[0], ids[2]]);
      assert.equal((members(answer.body).errors as Record<string, { code: number }>)["1"]?.code, 404);
      for (const id of deleted) assertError(await api("GET", `${path}/${id}`), 404);
    });
  }

  test("a batch of 201 is refused as a whole", async () => {
    const total = await totalOf(api, path);
    const answer = await api("POST", `${path}/batch/new`, Array.from({ length: BATCH_MAX + 1 }, minimal));
    assertError(answer, 400);
    assert.match(answer.body.errors[0]?.message ?? "", /200/);
    assert.equal(await totalOf(api, path), total);
  });

  test("a limit above the maximum is 400 and names the maximum", async () => {
    assert.equal((await api("GET", `${path}?limit=${LIMIT_MAX}`)).status, 200);
    const answer = await api("GET", `${path}?limit=${LIMIT_MAX + 1}`);
    assertError(answer, 400);
    assert.match(answer.body.errors[0]?.message ?? "", /10,?000/);
  });

  for (const query of [
    "orderBy=no_such_column",
    "order[0][col]=no_such_column",
    "where[0][col]=no_such_column&where[0][expr]=eq&where[0][val]=1",
    "where[0][col]=id&where[0][expr]=resembles&where[0][val]=1",
    "where[0][col]=id&where[0][val]=1",
    "where[0][expr]=eq&where[0][val]=1",
    "order[0][dir]=asc",
    "start=-1",
    "limit=many",
  ]) {
    test(`a list with ${query} is 400`, async () => assertError(await api("GET", `${path}?${query}`), 400));
  }

  test("a body that is no JSON, or no object, is 400", async () => {
    for (const body of ["{", '"text"', "17", '{"a":1', "nonsense"])
      assertError(await api("POST", `${path}/new`, body), 400);
    assertError(await api("POST", `${path}/batch/new`, "17"), 400);
  });

  test("without credentials everything is 401, even what does not exist", async () => {
    const anonymous = createClient(stack.baseUrl);
    for (const [method, target] of [
      ["GET", path],
      ["POST", `${path}/new`],
      ["DELETE", `${path}/1/delete`],
      ["GET", `${path}/no/such/path`],
      ["DELETE", path],
    ] as const) {
      const answer = await anonymous(method, target);
      assertError(answer, 401);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic /);
    }
  });

  test("an unknown path is 404, a known one with another method 405 with Allow", async () => {
    assertError(await api("GET", `${path}/no/such/path`), 404);
    for (const [method, target, allowed] of [
      ["DELETE", path, "GET"],
      ["GET", `${path}/new`, "POST"],
      ["POST", `${path}/1/edit`, "PATCH"],
      ["GET", `${path}/1/delete`, "DELETE"],
    ] as const) {
      const answer = await api(method, target);
      assertError(answer, 405);
      assert.ok(answer.headers.get("allow")?.split(/, */).includes(allowed), `${method} ${target}`);
    }
  });
}

function without(body: Record<string, unknown>, names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** `a[b][]=c`, and `a[0][b]=c` of a list of objects */
function formEntries(value: object, prefix?: string): [string, string][] {
  return Object.entries(value).flatMap(([key, member]): [string, string][] => {
    const part = Array.isArray(value) && typeof member !== "object" ? "" : key;
    const name = prefix === undefined ? key : `${prefix}[${part}]`;
    return typeof member === "object" ? formEntries(member, name) : [[name, String(member)]];
  });
}

async function totalOf(api: Client, path: string): Promise<number> {
  return Number((await api("GET", `${path}?limit=1`)).body.total);
}

function members(body: object): Record<string, unknown> {
  return body as Record<string, unknown>;
}

function assertError(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.equal(answer.body.errors[0]?.code, status);
  assert.ok(answer.body.errors[0]?.message);
}
