import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer, connect as dial, type Socket } from "node:net";
import { after, test } from "node:test";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { type Actor, actorSigner, actorVerifier } from "../actor.ts";
import { rpcClient } from "../client.ts";
import { Code, type Fault } from "../fault.ts";
import { implement, serve } from "../server.ts";
import { connect } from "./connection.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const sign = actorSigner(privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"), "contact");
const trusted = `user:${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`;
const admin: Actor = { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} };
const outgoing = (budgetMs = 5_000) => ({ actor: admin, deadlineMs: Date.now() + budgetMs, requestId: "" });

type Work = (id: number, tag: string) => Promise<string> | string;

/** A replica that does `work` and counts what it was asked. */
async function replica(host: string, port: number, work: Work) {
  const asked: number[] = [];
  const unused = () => assert.fail("not part of this test");
  const implementation = implement(TagService, {
    getTag: async ({ id }) => {
      asked.push(id);
      return { id, tag: await work(id, "") };
    },
    createTag: async ({ tag }) => ({ tag: { tag: await work(0, tag?.tag ?? "") } }),
    listTags: unused,
    updateTag: unused,
    deleteTag: unused,
    batchCreateTags: unused,
    batchUpdateTags: unused,
    batchDeleteTags: unused,
  });
  const verifyActor = actorVerifier([trusted], "contact");
  const log = createLog("rpc", "silent");
  const server = await serve([implementation], { host, port, log, verifyActor, inFlightMax: 1_000 });
  return { asked, ...server };
}

function clientOf(address: string, lookUp?: () => Promise<string[]>) {
  const connection = connect(address, lookUp ? { lookUp } : {});
  after(() => connection.close());
  return rpcClient(TagService, connection, sign);
}

/** A way to a port that can be cut off. */
async function cuttableWay(port: number) {
  const sockets = new Set<Socket>();
  const way = createServer((incoming) => {
    const outgoing = dial(port, "127.0.0.1");
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from.pipe(to).on("error", () => undefined);
      from.on("error", () => undefined).on("close", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  after(() => way.close());
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const address = way.address();
  assert.ok(address && typeof address === "object");
  return { address: `127.0.0.1:${address.port}`, cut };
}

test("all replicas behind a name get their share, and one that stops answering gets little", async () => {
  const release = Promise.withResolvers<string>();
  let isStuck = false;
  const one = await replica("127.0.0.1", 0, () => "one");
  const two = await replica("127.0.0.2", one.port, () => (isStuck ? release.promise : "two"));
  after(() => Promise.all([one.drain(), two.drain()]));
  const client = clientOf(`tags:${one.port}`, async () => ["127.0.0.1", "127.0.0.2"]);
  // Until both lines stand.
  while (two.asked.length === 0) await client.getTag({ id: 1 }, outgoing());
  const [onesBefore, twosBefore] = [one.asked.length, two.asked.length];
  for (let id = 0; id < 400; id += 1) await client.getTag({ id }, outgoing());
  const [ones, twos] = [one.asked.length - onesBefore, two.asked.length - twosBefore];
  assert.ok(ones > 100 && twos > 100, `${ones} and ${twos} of 400`);
  isStuck = true;
  const answers = await Promise.allSettled(
    Array.from({ length: 400 }, async (_, id) => {
      // One after the other, as requests come.
      for (let turn = 0; turn < id; turn += 1) await null;
      return client.getTag({ id }, outgoing(1_000));
    }),
  );
  const lost = answers.filter(({ status }) => status === "rejected").length;
  release.resolve("two");
  assert.ok(lost > 0 && lost < 300, `${lost} of 400 were not answered`);
});

test("a replica whose name comes up late is found sooner than those that join others", async () => {
  const server = await replica("127.0.0.1", 0, () => "there");
  after(() => server.drain());
  let isNamed = false;
  const client = clientOf(`tags:${server.port}`, async () => {
    if (!isNamed) throw new Error("no such name");
    return ["127.0.0.1"];
  });
  await assert.rejects(client.createTag({ tag: {} }, outgoing()), { code: Code.UNAVAILABLE });
  isNamed = true;
  const ask = async () => assert.ok(await client.createTag({ tag: {} }, outgoing()));
  await eventually(ask, { timeoutMs: 4_000 });
});

test("the successors of replicas that are all gone are found sooner than those that join others", async () => {
  const old = await replica("127.0.0.1", 0, () => "old");
  const successor = await replica("127.0.0.2", old.port, () => "successor");
  after(() => successor.drain());
  let addresses = ["127.0.0.1"];
  const client = clientOf(`tags:${old.port}`, async () => addresses);
  assert.equal((await client.getTag({ id: 1 }, outgoing())).tag, "old");
  await old.drain();
  addresses = ["127.0.0.2"];
  const ask = async () => assert.equal((await client.getTag({ id: 1 }, outgoing())).tag, "successor");
  await eventually(ask, { timeoutMs: 3_000 });
});

test("a call right after the return of a replica is answered, however often it was not there", async () => {
  const gone = await replica("127.0.0.1", 0, () => "gone");
  await gone.drain();
  const client = clientOf(`127.0.0.1:${gone.port}`);
  for (let round = 0; round < 5; round += 1) {
    for (let failures = 0; failures < 6; failures += 1)
      await assert.rejects(client.createTag({ tag: {} }, outgoing()), { code: Code.UNAVAILABLE });
    const back = await replica("127.0.0.1", gone.port, () => "back");
    after(() => back.drain());
    assert.equal((await client.createTag({ tag: {} }, outgoing())).tag?.tag, "back");
    await back.drain();
  }
});

test("a request and an answer of ten megabytes go and come whole", async () => {
  const server = await replica("127.0.0.1", 0, (_, tag) => tag.toUpperCase());
  after(() => server.drain());
  const client = clientOf(`127.0.0.1:${server.port}`);
  const { tag } = await client.createTag({ tag: { tag: "long".repeat(2_500_000) } }, outgoing());
  assert.equal(tag?.tag, "LONG".repeat(2_500_000));
});

test("an answer that is too long is an error of its call alone", async () => {
  const server = await replica("127.0.0.1", 0, (id) => "x".repeat(id));
  after(() => server.drain());
  const client = clientOf(`127.0.0.1:${server.port}`);
  const [long, short] = await Promise.allSettled([
    client.getTag({ id: 40_000_000 }, outgoing()),
    client.getTag({ id: 4 }, outgoing()),
  ]);
  assert.equal(long.status === "rejected" && (long.reason as Fault).code, Code.RESOURCE_EXHAUSTED);
  assert.equal(short.status === "fulfilled" && short.value.tag, "xxxx");
});

test("when a connection breaks a read is made again, and a write fails as UNAVAILABLE", async () => {
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<string>();
  let calls = 0;
  const server = await replica("127.0.0.1", 0, () => {
    calls += 1;
    if (calls === 2) arrived.resolve();
    return calls <= 2 ? release.promise : "again";
  });
  after(() => server.drain());
  const way = await cuttableWay(server.port);
  const client = clientOf(way.address);
  const read = client.getTag({ id: 1 }, outgoing());
  const write = client.createTag({ tag: { tag: "once" } }, outgoing());
  await arrived.promise;
  way.cut();
  await assert.rejects(write, ({ code }: Fault) => code === Code.UNAVAILABLE);
  assert.equal((await read).tag, "again");
  release.resolve("too late");
});

test("a replica that is back is found", async () => {
  const first = await replica("127.0.0.1", 0, () => "first");
  const client = clientOf(`127.0.0.1:${first.port}`);
  assert.equal((await client.getTag({ id: 1 }, outgoing())).tag, "first");
  await first.drain();
  await assert.rejects(client.getTag({ id: 1 }, outgoing()), ({ code }: Fault) => code === Code.UNAVAILABLE);
  const second = await replica("127.0.0.1", first.port, () => "second");
  after(() => second.drain());
  const untilMs = Date.now() + 5_000;
  const ask = async (): Promise<string> => {
    try {
      return (await client.getTag({ id: 1 }, outgoing())).tag;
    } catch (error) {
      if (Date.now() > untilMs) throw error;
      return ask();
    }
  };
  assert.equal(await ask(), "second");
});
