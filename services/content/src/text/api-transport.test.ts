import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parseRanges } from "@tidings/outbound/address";
import { createLog } from "@tidings/runtime/log";
import { type Answer, startReceiver } from "@tidings/testkit/receiver";
import { openTextTransport } from "./open-transport.ts";
import { readPushUrl, readTextUrl } from "./transport-url.ts";

let answer: Answer = {};
const provider = await startReceiver({ respond: () => answer });
after(provider.stop);
const { ranges } = parseRanges(["127.0.0.1/32"]);
const log = createLog("test", "silent");

function transportOf(text: string, allowed = ranges, read: typeof readPushUrl = readTextUrl) {
  const url = read(text);
  assert.ok(!("problem" in url));
  const transport = openTextTransport(url, { log, allowed, plural: "text messages" });
  after(() => transport.close());
  return transport;
}

const at = `127.0.0.1:${provider.port}/send`;
const template = '{"to":["{to}"],"as":"{from}","parts":[{"n":1,"text":"> {text}"}]}';
const json = `json+http://t0ken@${at}?from=Shop&v=2&body=${encodeURIComponent(template)}`;
const content = 'Say "{to}" \n & {from}';
const message = { address: "+4915112345678", to: ["+4915112345678"], values: { text: content } };
const handOver = (mayBegin = () => true) => transportOf(json).handOver(message, mayBegin);

test("a JSON template gets the values in its texts, which are not read for names, and a token is a Bearer", async () => {
  answer = { status: 202 };
  assert.equal((await handOver()).state, "taken");
  const [request] = provider.requests;
  assert.deepEqual(JSON.parse(request?.body ?? ""), {
    ...{ to: ["+4915112345678"], as: "Shop" },
    parts: [{ n: 1, text: `> ${content}` }],
  });
  assert.deepEqual(
    [request?.path, request?.headers.authorization, request?.headers["content-type"]],
    ["/send?v=2", "Bearer t0ken", "application/json"],
  );
});

test("several addresses are items of a list, and members without a value are left out", async () => {
  const push = encodeURIComponent(
    '{"ids":["{to}"],"all":"{to}","title":{"en":"{heading}"},"url":"{url}","text":"{text} {nobody}","ttl":60}',
  );
  const url = `json+http://k3y@${at}?scheme=Key&body=${push}`;
  const values = { heading: "Hi", text: "{url}", url: "" };
  answer = { body: '{"id":"9"}' };
  const sent = { address: "a,b", to: ["a", "b"], values };
  assert.deepEqual(await transportOf(url, ranges, readPushUrl).handOver(sent, () => true), {
    ...{ state: "taken", code: 200, text: '{"id":"9"}' },
  });
  const request = provider.requests.at(-1);
  assert.equal(request?.headers.authorization, "Key k3y");
  assert.deepEqual(JSON.parse(request?.body ?? ""), {
    ...{ ids: ["a", "b"], all: "a,b", title: { en: "Hi" }, text: "{url} {nobody}", ttl: 60 },
  });
});

test("each status of a provider says whether this message, or all of them, is refused, and for how long", async () => {
  const outcome = async (status: number) => {
    answer = { status, ...(status === 302 && { headers: { location: `http://${at}` } }) };
    const handed = await handOver();
    return handed.state === "refused" && !handed.isForGood ? "deferred" : handed.state;
  };
  const statuses = { taken: [200, 201, 204], refused: [400, 409, 422], deferred: [500, 502, 504] };
  const away = [302, 401, 402, 403, 404, 405, 429, 503];
  for (const [state, all] of Object.entries({ ...statuses, away }))
    for (const status of all) {
      const before = provider.requests.length;
      assert.equal(await outcome(status), state, String(status));
      assert.equal(provider.requests.length, before + 1);
    }
});

test("the reason is the provider's words as plain text, and short", async () => {
  const reasonOf = async (body: string, type = "application/json") => {
    answer = { status: 400, body, headers: { "content-type": type } };
    const handed = await handOver();
    return "text" in handed ? handed.text : "";
  };
  assert.equal(await reasonOf('{"error":{"message":"<b>No</b> such number\\u0000"}}'), "No such number");
  assert.equal(await reasonOf("No credit", "text/plain; charset=utf-8"), "No credit");
  assert.equal((await reasonOf(`{"message":"${"x".repeat(5_000)}"}`)).length, 500);
  for (const odd of ["", "<html>", "[]", "null", '{"message":{}}', '{"error":null}'])
    assert.equal(await reasonOf(odd), "The provider of text messages answered 400.", odd);
});

test("a message that may not begin, or whose provider has a private address, does not leave", async () => {
  const before = provider.requests.length;
  assert.deepEqual(await handOver(() => false), { state: "not begun" });
  const blocked = await transportOf(json, []).handOver(message, () => true);
  assert.equal(
    "text" in blocked && blocked.text,
    "The provider of text messages cannot be reached: blocked_address.",
  );
  assert.deepEqual(await transportOf("log:").handOver(message, () => false), { state: "not begun" });
  assert.equal((await transportOf("log:").handOver(message, () => true)).state, "taken");
  assert.equal(provider.requests.length, before);
});
