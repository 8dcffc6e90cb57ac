import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { startTestStack } from "./stack.ts";

const exports: Buffer[] = [];
const collector = createServer(async (request, response) => {
  exports.push(await buffer(request));
  response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
}).listen(0, "127.0.0.1");
await once(collector, "listening");

const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  OTEL_BSP_SCHEDULE_DELAY: "100",
};
const stack = await startTestStack({ env: { contact: tracing, webhook: tracing, gateway: tracing } });
const receiver = await startReceiver();
after(async () => {
  await stack.stop();
  await receiver.stop();
  collector.close();
});

test("one trace joins a PATCH, its event's publication, the fan-out and the delivery", async () => {
  const triggers = ["svc.lead_post_save_new", "svc.lead_post_save_update"];
  await stack.api("POST", "hooks/new", { name: "Traced", webhookUrl: receiver.url, triggers });
  const { body } = await stack.api("POST", "contacts/new", { firstname: "Ada" });
  await receiver.waitFor(1); // so that the fan-out takes the next event by itself

  const traceId = randomBytes(16);
  const traceparent = `00-${traceId.toString("hex")}-${randomBytes(8).toString("hex")}-01`;
  const path = `contacts/${body.contact.id}/edit`;
  const answer = await stack.api("PATCH", path, { city: "London" }, { traceparent });
  assert.equal(answer.status, 200, answer.text);
  await receiver.waitFor(2);

  await eventually(() => {
    const names = exports.flatMap((message) => spanNames(message, traceId));
    for (const expected of [
      /PATCH/,
      /UpdateContact/,
      /^publish tidings\.contact\.contact\.updated$/,
      /^consume tidings\.contact\./,
      /^deliver webhook$/,
    ])
      assert.ok(
        names.some((name) => expected.test(name)),
        `${expected} is not among ${names}`,
      );
  });
});

const TRACE_ID = 0x0a;
const BEFORE_NAME = [TRACE_ID, 0x12, 0x1a, 0x22];
const NAME = 0x2a;

/**
 * Names of the spans of a trace in an OTLP export. A span is written as its trace id (field 1), span id (2), trace state
 * (3), parent (4) and name (5), each as tag, length and bytes. What has a trace id and no name is a link to a span.
 */
function spanNames(message: Buffer, traceId: Buffer): string[] {
  const names: string[] = [];
  const start = Buffer.concat([Buffer.from([TRACE_ID, traceId.length]), traceId]);
  for (let at = message.indexOf(start); at >= 0; at = message.indexOf(start, at + 1)) {
    let field = at;
    while (BEFORE_NAME.includes(message[field] ?? 0)) field += 2 + (message[field + 1] ?? 0);
    if (message[field] !== NAME) continue;
    const length = message[field + 1] ?? 0;
    names.push(message.subarray(field + 2, field + 2 + length).toString());
  }
  return names;
}
