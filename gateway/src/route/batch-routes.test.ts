import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clientOf } from "../testing/http.ts";
import { startScene } from "../testing/scene.ts";

const scene = await startScene();
after(scene.stop);
const api = clientOf(scene.port);
const MISSING = { message: "Item was not found.", code: 404, type: "api" };

let names = 0;
async function tagged(): Promise<number> {
  names += 1;
  return (
    (await api("POST", "/api/tags/new", { body: { tag: `batch ${names}` } })).body.tag as { id: number }
  ).id;
}

test("a batch without failures is a list, with a status for each and without errors", async () => {
  const { status, body } = await api("POST", "/api/tags/batch/new", {
    body: [{ tag: "one" }, { tag: "two" }, { tag: "one" }],
  });
  assert.equal(status, 201);
  assert.deepEqual(
    (body.tags as { tag: string }[]).map(({ tag }) => tag),
    ["one", "two", "one"],
  );
  assert.deepEqual(body.statusCodes, [201, 201, 200]);
  assert.ok(!("errors" in body));
});

test("a failed item leaves a gap: lists become objects keyed by the place in the request", async () => {
  const { status, body } = await api("POST", "/api/tags/batch/new", {
    body: [{ tag: "a1" }, { tag: "bad" }, { tag: "a2" }],
  });
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(body.tags as object), ["0", "2"]);
  assert.deepEqual(body.statusCodes, [201, 400, 201]);
  const error = {
    code: 400,
    message: "tag: A value is required.",
    details: { tag: ["A value is required."] },
    type: null,
  };
  assert.deepEqual(body.errors, { "1": error });
});

test("items that cannot be read fail alone and in their places", async () => {
  const { body } = await api("POST", "/api/tags/batch/new", {
    body: [1, { tag: "b1" }, { tag: {} }, null, { tag: "b2" }],
  });
  assert.deepEqual(body.statusCodes, [400, 201, 400, 400, 201]);
  assert.deepEqual(Object.keys(body.tags as object), ["1", "4"]);
  assert.deepEqual(Object.keys(body.errors as object), ["0", "2", "3"]);
});

test("when everything fails it is 201 all the same, with an empty list", async () => {
  const { status, body } = await api("POST", "/api/tags/batch/new", {
    body: [{ tag: "bad" }, { tag: "bad" }],
  });
  assert.deepEqual([status, body.tags, body.statusCodes], [201, [], [400, 400]]);
  assert.ok(Array.isArray(body.errors));
});

test("an object with a member for each item counts as a list", async () => {
  const { body } = await api("POST", "/api/tags/batch/new", {
    body: { "0": { tag: "c1" }, "1": { tag: "c2" } },
  });
  assert.deepEqual(body.statusCodes, [201, 201]);
});

test("more items than the limit are refused as a whole, in the words clients know", async () => {
  const items = (count: number) => Array.from({ length: count }, (_, index) => ({ tag: `d${index}` }));
  assert.equal((await api("POST", "/api/tags/batch/new", { body: items(200) })).status, 201);
  for (const [method, path] of [
    ["POST", "new"],
    ["PATCH", "edit"],
    ["PUT", "edit"],
  ] as const) {
    const { status, body } = await api(method, `/api/tags/batch/${path}`, { body: items(201) });
    assert.equal(status, 400);
    assert.equal(
      (body.errors as { message: string }[])[0]?.message,
      "A max of 200 entities are supported at a time.",
    );
  }
  const ids = items(201)
    .map((_, index) => index + 1)
    .join(",");
  assert.equal((await api("DELETE", `/api/tags/batch/delete?ids=${ids}`)).status, 400);
});

test("PATCH: an item without an id, or with one of nothing, is 404 in its place", async () => {
  const id = await tagged();
  const { status, body } = await api("PATCH", "/api/tags/batch/edit", {
    body: [{ tag: "x" }, { id, tag: "patched" }, { id: 999_999, tag: "y" }],
  });
  assert.deepEqual([status, body.statusCodes], [200, [404, 200, 404]]);
  assert.deepEqual(Object.keys(body.tags as object), ["1"]);
});

test("an item that is not there is an error of the type api without details", async () => {
  const { body } = await api("PATCH", "/api/tags/batch/edit", { body: [{ id: 999_999, tag: "y" }] });
  assert.deepEqual(body.errors, [MISSING]);
});

test("PUT: an item without an id, or with one of nothing, is created", async () => {
  const id = String(await tagged());
  const { status, body } = await api("PUT", "/api/tags/batch/edit", {
    body: [{ tag: "p1" }, { id, tag: "p2" }, { id: 999_999, tag: "p3" }],
  });
  assert.deepEqual([status, body.statusCodes], [200, [201, 200, 201]]);
});

test("delete takes ids in each of their forms and answers what was there, ids included", async () => {
  for (const form of [
    (a: number, b: number) => `ids=${a},${b}`,
    (a: number, b: number) => `ids[]=${a}&ids[]=${b}`,
    (a: number, b: number) => `ids[0]=${a}&ids[1]=${b}`,
    (a: number, b: number) => `0=${a}&1=${b}`,
  ]) {
    const [a, b] = [await tagged(), await tagged()];
    const { status, body } = await api("DELETE", `/api/tags/batch/delete?${form(a, b)}`);
    assert.equal(status, 200);
    assert.deepEqual(
      (body.tags as { id: number }[]).map(({ id }) => id),
      [a, b],
      form(a, b),
    );
    assert.ok(!("statusCodes" in body));
  }
});

test("delete takes ids from its body too: a list, or a member", async () => {
  for (const form of [
    (a: number, b: number) => [a, b],
    (a: number, b: number) => ({ ids: [a, b] }),
    (a: number, b: number) => ({ ids: `${a},${b}` }),
  ]) {
    const [a, b] = [await tagged(), await tagged()];
    const { status, text } = await api("DELETE", "/api/tags/batch/delete", { body: form(a, b) });
    assert.equal(status, 200, text);
    assert.ok(!scene.tags.has(a) && !scene.tags.has(b), text);
  }
});

for (const query of ["foo=1", "", "ids=", "ids[]=", "page=2&id=1", "ids[x][y]=1"])
  test(`"batch/delete?${query}" names no record, deletes none and is 400`, async () => {
    await tagged();
    const before = scene.tags.size;
    const { status, text } = await api("DELETE", `/api/tags/batch/delete?${query}`);
    assert.equal(status, 400, text);
    assert.match(text, /ids/);
    assert.equal(scene.tags.size, before);
  });

test("delete names items that are not there and items that may not be deleted", async () => {
  const id = await tagged();
  while (!scene.tags.has(13)) await tagged();
  const { status, body } = await api("DELETE", `/api/tags/batch/delete?ids=${id},999999,13`);
  assert.equal(status, 200);
  assert.deepEqual(
    (body.tags as { id: number }[]).map((tag) => tag.id),
    [id],
  );
  const errors = body.errors as Record<string, { code: number }>;
  assert.deepEqual(
    Object.entries(errors).map(([place, { code }]) => [place, code]),
    [
      ["1", 404],
      ["2", 403],
    ],
  );
});

test("an empty batch is an empty answer", async () => {
  const { status, body } = await api("POST", "/api/tags/batch/new", { body: [] });
  assert.deepEqual([status, body], [201, { tags: [], statusCodes: [] }]);
});
