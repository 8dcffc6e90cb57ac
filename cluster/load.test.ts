import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "@tidings/testkit/receiver";
import { startLoad } from "./load.ts";

test("every request is counted and tried once, and failed answers are distinguished from good ones", async (t) => {
  const receiver = await startReceiver({
    respond: ({ method, path }, index) => {
      if (index % 11 === 3) return { drop: true };
      if (index % 13 === 5) return { status: 503, body: "{}" };
      const isMade = method === "POST" && path.endsWith("/new");
      return { status: isMade ? 201 : 200, body: JSON.stringify({ contact: { id: index } }) };
    },
  });
  t.after(receiver.stop);
  const load = startLoad({ name: "load", baseUrl: receiver.url, clients: 2, pauseMs: 0 });
  await load.more(300);
  const { requests, failures, ledger } = await load.stop();

  assert.equal(requests, receiver.requests.length);
  const unwell = receiver.requests.filter((_, index) => index % 11 === 3 || index % 13 === 5);
  assert.equal(failures.length, unwell.length);
  const made = (some: { path: string }[]) => some.filter(({ path }) => path === "/api/contacts/new").length;
  assert.equal(ledger.uncertain.size, made(unwell));
  assert.equal(ledger.kept.size, made(receiver.requests) - made(unwell));
  assert.ok(failures.some(({ answer }) => answer.startsWith("503")));
  assert.ok(failures.some(({ answer }) => answer === "ECONNRESET"));
});
