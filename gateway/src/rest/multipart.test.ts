import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AUTHORIZATION, startScene } from "../testing/scene.ts";

const scene = await startScene();
after(scene.stop);

async function send(path: string, body: FormData | string, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${scene.port}${path}`, {
    method: "POST",
    headers: { authorization: AUTHORIZATION, ...headers },
    body,
  });
  return { status: response.status, text: await response.text() };
}

function form(fields: [string, string | Blob][]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

test("fields of a multipart form are read as those of any form", async () => {
  const { status, text } = await send(
    "/api/tags/new",
    form([
      ["tag", "größer & <3\r\n"],
      ["description", "a=b"],
    ]),
  );
  assert.equal(status, 201, text);
  assert.deepEqual(JSON.parse(text).tag.description, "a=b");
  assert.match(JSON.parse(text).tag.tag, /^größer & <3/);
});

test("brackets, repeated names and the method that is meant are read in it", async () => {
  const made = await send(
    "/api/tags/batch/new",
    form([
      ["0[tag]", "one"],
      ["1[tag]", "two"],
    ]),
  );
  assert.deepEqual(JSON.parse(made.text).statusCodes, [201, 201]);
  const { id } = Object.values(JSON.parse(made.text).tags)[0] as { id: number };
  const edited = await send(
    `/api/tags/${id}/edit`,
    form([
      ["_method", "PATCH"],
      ["tag", "changed"],
    ]),
  );
  assert.equal(JSON.parse(edited.text).tag.tag, "changed");
});

for (const [what, body, type] of [
  ["a file", form([["tag", new Blob(["x"])]]), undefined],
  ["no boundary", "x", "multipart/form-data"],
  [
    "an end that is missing",
    '--x\r\nContent-Disposition: form-data; name="tag"\r\n\r\na',
    "multipart/form-data; boundary=x",
  ],
  ["delimiters without parts", "\r\n--x".repeat(50_000), "multipart/form-data; boundary=x"],
  ["2,001 fields", form(Array.from({ length: 2_001 }, (_, index) => [`f${index}`, "1"])), undefined],
] as const)
  test(`a multipart form with ${what} is 400, and says why`, async () => {
    const { status, text } = await send("/api/tags/new", body, type ? { "content-type": type } : {});
    assert.equal(status, 400, text);
    assert.ok(JSON.parse(text).errors[0].message.length > 10);
  });
