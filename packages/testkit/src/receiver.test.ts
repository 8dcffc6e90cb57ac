import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Respond, startReceiver } from "./receiver.ts";

test("a request is recorded as it was sent and answered 200", async (t) => {
  const receiver = await receiverOf(t);
  const response = await fetch(`${receiver.url}/hook?a=1`, {
    method: "POST",
    headers: { "x-signature": "abc" },
    body: '{ "a" : 1 }',
  });
  assert.equal(response.status, 200);
  const [request] = await receiver.waitFor(1);
  assert.equal(request?.method, "POST");
  assert.equal(request?.path, "/hook?a=1");
  assert.equal(request?.headers["x-signature"], "abc");
  assert.equal(request?.body, '{ "a" : 1 }');
});

test("each answer may depend on the request and on how many came before", async (t) => {
  const receiver = await receiverOf(t, (request, index) => ({
    status: index === 0 ? 500 : 200,
    headers: { "x-path": request.path },
    body: `answer ${index}`,
  }));
  const first = await fetch(`${receiver.url}/a`);
  const second = await fetch(`${receiver.url}/b`);
  assert.deepEqual([first.status, first.headers.get("x-path"), await first.text()], [500, "/a", "answer 0"]);
  assert.deepEqual(
    [second.status, second.headers.get("x-path"), await second.text()],
    [200, "/b", "answer 1"],
  );
});

test("a dropped request is recorded and its connection reset", async (t) => {
  const receiver = await receiverOf(t, () => ({ drop: true }));
  await assert.rejects(fetch(receiver.url));
  assert.equal((await receiver.waitFor(1)).length, 1);
});

test("a dripped answer arrives whole", async (t) => {
  const receiver = await receiverOf(t, () => ({ body: "drop by drop", dripMs: 1 }));
  assert.equal(await (await fetch(receiver.url)).text(), "drop by drop");
});

test("waiting for more requests than arrive fails and says how many did", async (t) => {
  const receiver = await receiverOf(t);
  await fetch(receiver.url);
  await assert.rejects(receiver.waitFor(2, { timeoutMs: 50 }), /1 of 2 requests received/);
});

test("stopping ends requests that were never answered", async () => {
  const receiver = await startReceiver({ respond: () => ({ delayMs: Number.POSITIVE_INFINITY }) });
  const hanging = assert.rejects(fetch(receiver.url));
  await receiver.waitFor(1);
  await receiver.stop();
  await hanging;
});

async function receiverOf(t: TestContext, respond?: Respond) {
  const receiver = await startReceiver(respond ? { respond } : {});
  t.after(receiver.stop);
  return receiver;
}
