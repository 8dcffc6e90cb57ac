import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as send } from "node:http";
import { after, test } from "node:test";
import { AUTHORIZATION, startScene } from "./testing/scene.ts";

test("draining waits for the request in flight and then ends at once, though its client keeps the connection", async () => {
  let finish: () => void = () => undefined;
  let arrived: () => void = () => undefined;
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const scene = await startScene({
    handlers: {
      getTag: ({ id }) => {
        arrived();
        return new Promise((resolve) => {
          finish = () => resolve({ id, tag: "late" });
        });
      },
    },
  });
  after(scene.stop);
  const agent = new Agent({ keepAlive: true });
  after(() => agent.destroy());
  const request = send({
    port: scene.port,
    path: "/api/tags/1",
    agent,
    headers: { authorization: AUTHORIZATION },
  }).end();
  await isThere;
  const startedAt = performance.now();
  const drained = scene.drain();
  finish();
  const [response] = await once(request, "response");
  assert.equal(response.statusCode, 200);
  response.resume();
  await drained;
  const seconds = (performance.now() - startedAt) / 1000;
  assert.ok(seconds < 5, `draining took ${seconds.toFixed(1)} s`);
});
