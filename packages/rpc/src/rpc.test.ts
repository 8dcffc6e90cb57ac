import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { createLog } from "@tidings/runtime/log";
import { type Actor, actorSigner, actorVerifier } from "./actor.ts";
import { type Outgoing, rpcClient } from "./client.ts";
import type { Handlers } from "./definition.ts";
import { Code, Fault, invalid, notFound } from "./fault.ts";
import { implement, type RpcServer, serve } from "./server.ts";
import { type Connection, connect } from "./stream/connection.ts";
import { connectAlone } from "./testing/alone.ts";

const keys = keyPair();
const log = createLog("rpc", "silent");
const admin: Actor = { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} };

/** The handler of the running test. */
let getTag: Handlers<typeof TagService>["getTag"] = () => ({});
const unused = () => {
  throw new Error("not part of this test");
};
const handlers: Handlers<typeof TagService> = {
  getTag: (request, call) => getTag(request, call),
  listTags: unused,
  createTag: () => {
    throw invalid([{ field: "tag", message: "A value is required." }]);
  },
  updateTag: unused,
  deleteTag: unused,
  batchCreateTags: unused,
  batchUpdateTags: unused,
  batchDeleteTags: unused,
};

let server: RpcServer;
before(async () => {
  const verifyActor = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  server = await serve([implement(TagService, handlers)], { port: 0, log, verifyActor, inFlightMax: 4 });
});
after(() => server.drain());

function outgoing(actor: Actor = admin, budgetMs = 5_000): Outgoing {
  return { actor, deadlineMs: Date.now() + budgetMs, requestId: "request-1" };
}

function hasCode(code: Code) {
  return (error: unknown) => error instanceof Fault && error.code === code;
}

for (const [way, open] of [
  ["on a line", connect],
  ["alone", connectAlone],
] as [string, (address: string) => Connection][]) {
  describe(`a call that goes ${way}`, () => {
    function clientWith(privateKey: string) {
      const connection = open(`127.0.0.1:${server.port}`);
      after(() => connection.close());
      return rpcClient(TagService, connection, actorSigner(privateKey, "contact"));
    }

    test("a handler learns the actor, the request id and a deadline shorter than the caller's", async () => {
      const sent = outgoing();
      const budgetMs = sent.deadlineMs - Date.now();
      getTag = ({ id }, call) => {
        assert.deepEqual(call.actor, admin);
        assert.equal(call.requestId, "request-1");
        assert.ok(call.deadlineMs - Date.now() < budgetMs);
        return { id, tag: "red" };
      };
      const { id, tag } = await clientWith(keys.privateKey).getTag({ id: 7 }, sent);
      assert.deepEqual({ id, tag }, { id: 7, tag: "red" });
    });

    test("a fault crosses the wire with its reason and every violation", async () => {
      await assert.rejects(clientWith(keys.privateKey).createTag({}, outgoing()), (error: Fault) => {
        assert.equal(error.code, Code.INVALID_ARGUMENT);
        assert.equal(error.reason, "INVALID");
        assert.deepEqual(error.violations, [{ field: "tag", message: "A value is required." }]);
        return true;
      });
    });

    test("an unexpected error reveals nothing to the caller", async () => {
      getTag = () => {
        throw new Error("relation tags does not exist");
      };
      await assert.rejects(clientWith(keys.privateKey).getTag({ id: 1 }, outgoing()), (error: Fault) => {
        assert.equal(error.code, Code.INTERNAL);
        assert.equal(error.message, "Internal error.");
        return true;
      });
    });

    test("a call that outlives its deadline ends as DEADLINE_EXCEEDED", async () => {
      getTag = () => new Promise(() => undefined);
      await assert.rejects(
        clientWith(keys.privateKey).getTag({ id: 1 }, outgoing(admin, 200)),
        hasCode(Code.DEADLINE_EXCEEDED),
      );
    });

    test("an actor signed with another key is refused", async () => {
      getTag = () => ({});
      const stranger = clientWith(keyPair().privateKey);
      await assert.rejects(stranger.getTag({ id: 1 }, outgoing()), hasCode(Code.UNAUTHENTICATED));
    });

    test("an actor without the right is refused before the handler runs", async () => {
      getTag = () => assert.fail("the handler ran");
      const nobody: Actor = { ...admin, admin: false };
      await assert.rejects(
        clientWith(keys.privateKey).getTag({ id: 1 }, outgoing(nobody)),
        hasCode(Code.PERMISSION_DENIED),
      );
    });

    test("NOT_FOUND stays NOT_FOUND", async () => {
      getTag = () => {
        throw notFound();
      };
      await assert.rejects(
        clientWith(keys.privateKey).getTag({ id: 1 }, outgoing()),
        hasCode(Code.NOT_FOUND),
      );
    });
  });
}

test("a server that is not there is UNAVAILABLE", async () => {
  const connection = connect("127.0.0.1:1");
  after(() => connection.close());
  const client = rpcClient(TagService, connection, actorSigner(keys.privateKey, "contact"));
  await assert.rejects(client.getTag({ id: 1 }, outgoing()), hasCode(Code.UNAVAILABLE));
});

test("draining waits for the call in flight", async () => {
  const verifyActor = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  let finish: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    getTag = () => {
      resolve();
      return new Promise((done) => {
        finish = () => done({ id: 1, tag: "late" });
      });
    };
  });
  const own = await serve([implement(TagService, handlers)], { port: 0, log, verifyActor, inFlightMax: 4 });
  const connection = connect(`127.0.0.1:${own.port}`);
  after(() => connection.close());
  const answer = rpcClient(TagService, connection, actorSigner(keys.privateKey, "contact")).getTag(
    { id: 1 },
    outgoing(),
  );
  await started;
  const drained = own.drain();
  finish();
  assert.equal((await answer).tag, "late");
  await drained;
});

test("no call is lost when connections are renewed, and none is made twice", async () => {
  const made: string[] = [];
  const renewing = await serve(
    [
      implement(TagService, {
        ...handlers,
        createTag: async ({ tag }) => {
          made.push(tag?.tag ?? "");
          return {};
        },
      }),
    ],
    {
      port: 0,
      log,
      verifyActor: actorVerifier([`user+client:${keys.publicKey}`], "contact"),
      inFlightMax: 256,
    },
  );
  const connection = connect(`127.0.0.1:${renewing.port}`, { streamAgeMs: 100 });
  const client = rpcClient(TagService, connection, actorSigner(keys.privateKey, "contact"));
  const sent: string[] = [];
  const callSteadily = async (worker: number) => {
    const untilMs = Date.now() + 2_000;
    for (let count = 0; Date.now() < untilMs; count += 1) {
      const tag = `${worker} ${count}`;
      sent.push(tag);
      await client.createTag({ tag: { tag } }, outgoing());
    }
  };
  await Promise.all(Array.from({ length: 120 }, (_, worker) => callSteadily(worker)));
  connection.close();
  await renewing.drain();
  assert.deepEqual(made.toSorted(), sent.toSorted());
});

function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}
