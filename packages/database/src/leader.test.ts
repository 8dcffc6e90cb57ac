import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { after, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { electLeader } from "./leader.ts";

const database = await createTestDatabase();
const url = database.url("webhook");
const opened: (() => unknown)[] = [];
after(async () => {
  for (const close of opened) await close();
  await database.drop();
});

const log = createLog("test", "silent");
/** After a silence another process leads within this time. */
const TAKEN_OVER = { timeoutMs: 15_000 };

function candidate(name: string): { process: ChildProcess; isLeader(): boolean } {
  const child = fork(new URL("./testing/leader-process.ts", import.meta.url), [url, name]);
  opened.push(() => child.kill("SIGKILL"));
  let isLeader = false;
  child.on("message", (message: { isLeader: boolean }) => {
    isLeader = message.isLeader;
  });
  return { process: child, isLeader: () => isLeader };
}

test("a single process leads, and another one as soon as the leader is gone", async () => {
  const first = candidate("gone");
  await eventually(() => assert.ok(first.isLeader()));
  const second = candidate("gone");
  first.process.kill("SIGKILL");
  await eventually(() => assert.ok(second.isLeader()));
});

test("a leader that is paused is replaced within 15 seconds, and knows it when it goes on", async () => {
  const first = candidate("paused");
  await eventually(() => assert.ok(first.isLeader()));
  const second = candidate("paused");
  first.process.kill("SIGSTOP");
  await eventually(() => assert.ok(second.isLeader()), TAKEN_OVER);
  first.process.kill("SIGCONT");
  await eventually(() => assert.ok(!first.isLeader()));
  assert.ok(second.isLeader());
});

test("a leader that the database cannot be heard by any more gives up, and another one leads", async () => {
  const proxy = await startProxy(url);
  opened.push(proxy.stop);
  const deafened = electLeader({ url: proxy.url, name: "deaf", log });
  opened.push(deafened.stop);
  await eventually(() => assert.ok(deafened.isLeader()));
  const other = electLeader({ url, name: "deaf", log });
  opened.push(other.stop);
  proxy.goDeaf();
  await eventually(() => assert.ok(!deafened.isLeader() && other.isLeader()), TAKEN_OVER);
});
