import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { type Actor, actorSigner, actorVerifier } from "./actor.ts";
import { Fault } from "./fault.ts";

const keys = keyPair();
const user: Actor = { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} };
const service: Actor = { kind: "service", id: null, name: "Delivery", admin: false, permissions: {} };

function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}

const withReason = (reason: string) => (error: unknown) => error instanceof Fault && error.reason === reason;

test("a token says who a call is for to the process it was made for", () => {
  const verify = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  assert.deepEqual(verify(actorSigner(keys.privateKey, "contact")(user)), user);
});

test("a process cannot pass on a token that was made for it", () => {
  const verify = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  assert.throws(() => verify(actorSigner(keys.privateKey, "webhook")(user)), withReason("ACTOR_INVALID"));
});

test("a key speaks only for the kinds of actor it was trusted with", () => {
  const verify = actorVerifier([`service:${keys.publicKey}`], "contact");
  assert.deepEqual(verify(actorSigner(keys.privateKey, "contact")(service)), service);
  assert.throws(() => verify(actorSigner(keys.privateKey, "contact")(user)), withReason("ACTOR_INVALID"));
});

test("a key that nobody trusts, a changed token and none at all are refused", () => {
  const verify = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  const [payload = "", signature] = actorSigner(keys.privateKey, "contact")(user).split(".");
  const other = Buffer.from(Buffer.from(payload, "base64url").toString().replace("Ada", "Eve"));
  for (const token of [
    actorSigner(keyPair().privateKey, "contact")(user),
    `${other.toString("base64url")}.${signature}`,
    "",
    ".",
    "x.y",
  ])
    assert.throws(() => verify(token), withReason("ACTOR_INVALID"), token);
});

test("a token of a process whose clock is off by more than a minute has an error of its own, either way", (t) => {
  const verify = actorVerifier([`user+client:${keys.publicKey}`], "contact");
  for (const skewMs of [-90_000, 90_000]) {
    const now = Date.now();
    t.mock.timers.enable({ apis: ["Date"], now: now + skewMs });
    const token = actorSigner(keys.privateKey, "contact")(user);
    t.mock.timers.reset();
    assert.throws(() => verify(token), withReason("ACTOR_EXPIRED"), String(skewMs));
  }
});

test("a key without the kinds it may speak for stops the process at its start", () => {
  for (const text of [keys.publicKey, `admin:${keys.publicKey}`, `user+:${keys.publicKey}`])
    assert.throws(() => actorVerifier([text], "contact"), /kinds/);
});
