import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PUBLIC_PATHS } from "@tidings/rpc/public-paths";
import { DEAR_CONTENTS } from "../dear-content.ts";
import { CALLBACK_KEY, DEAR_INPUTS } from "../dear-input.ts";
import { FIRST_FIELD, MAIL_FIELD } from "../form-fields.ts";
import { type HeldLoops, heldLoops } from "../held-loops.ts";
import { make } from "../people.ts";
import { sendRaw } from "../raw-http.ts";
import { startVisitedStack } from "../visited-stack.ts";
import { BROWSER } from "../visitor.ts";

/** No input of a visitor, and nothing that visitors see, holds an event loop for 50 ms: on every path of the public web. */

const HELD_MAX_MS = 50;
/** Code that runs for the first time is compiled meanwhile, and garbage of earlier requests collected: what is dear is dear each time. */
const ROUNDS = 4;

const loops: HeldLoops = await heldLoops(["gateway", "content", "contact"]);
const stack = await startVisitedStack({
  env: { ...loops.env, content: { ...loops.env.content, MAIL_CALLBACKS: `generic:${CALLBACK_KEY}` } },
});
const { api, baseUrl } = stack;
after(() => stack.stop());

await make(api, "forms", "form", {
  ...{
    name: "Attacked",
    alias: "attacked",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks",
  },
  fields: [
    FIRST_FIELD,
    MAIL_FIELD,
    { label: "Page", alias: "site", type: "url" },
    { label: "File", alias: "file", type: "file" },
  ],
});
await make(api, "pages", "page", {
  ...{ title: "Attacked", alias: "attacked", isPublished: true },
  customHtml: "<html><body>{contactfield=firstname} {form=1} {dwc=top}</body></html>",
});

/** Fails when each of some rounds of the same work held an event loop for too long. */
async function assertHoldsNothing(work: () => Promise<unknown>): Promise<void> {
  let longest = "";
  for (let round = 1; round <= ROUNDS; round += 1) {
    await loops.longest();
    await work();
    const held = (await loops.longest()).filter(({ milliseconds }) => milliseconds > HELD_MAX_MS);
    if (held.length === 0) return;
    longest = JSON.stringify(held);
  }
  assert.fail(longest);
}

async function get(path: string): Promise<void> {
  const { status, text } = await sendRaw(baseUrl, {
    method: "GET",
    path,
    headers: { "user-agent": BROWSER },
  });
  assert.ok(status < 500, `${status} ${text.slice(0, 200)}`);
}

for (const { name, make: makeIt } of DEAR_CONTENTS)
  test(`${name} holds no event loop while it is made and shown`, async () => {
    // Only the first look at a version compiles it.
    await assertHoldsNothing(async () => {
      const paths = await makeIt(api);
      for (const path of paths) await get(path);
    });
  });

for (const { name, request } of DEAR_INPUTS)
  test(`${name} holds no event loop`, () =>
    assertHoldsNothing(async () => {
      const headers = { "user-agent": BROWSER, ...request.headers };
      const { status, text } = await sendRaw(baseUrl, { ...request, headers });
      assert.ok(status < 500, `${status} ${text.slice(0, 200)}`);
    }));

test("every path of the public web gets such inputs", () => {
  const covered = (method: string) =>
    DEAR_INPUTS.filter(({ request }) => request.method === method).map(({ request }) => request.path);
  for (const { path, methods } of PUBLIC_PATHS)
    for (const method of methods)
      assert.ok(
        covered(method).some((sent) => sent.startsWith(path)),
        `${method} ${path}`,
      );
});
