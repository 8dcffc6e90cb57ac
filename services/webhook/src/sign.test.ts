import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { generateSecret, signatureHeaders } from "./sign.ts";

const ID = "0198f2a4-7f0e-7cc0-a5a4-0d3e3f1e2d3c";
const BODY = '{"svc.lead_post_save_new":[{"contact":{"id":1,"name":"Zoë"}}]}';
const now = () => Math.floor(Date.now() / 1000);

test("the reference library verifies what we sign with a generated secret", () => {
  const secret = generateSecret();
  const headers = signatureHeaders(secret, ID, now(), BODY);
  assert.deepEqual(new Webhook(secret).verify(BODY, headers), JSON.parse(BODY));
});

test("the reference library verifies what we sign with a secret of any other form", () => {
  const secret = "sesame, öffne dich";
  const headers = signatureHeaders(secret, ID, now(), BODY);
  assert.ok(new Webhook(Buffer.from(secret).toString("base64")).verify(BODY, headers));
});

test("another body, id, secret or an old timestamp does not verify", () => {
  const secret = generateSecret();
  const headers = signatureHeaders(secret, ID, now(), BODY);
  assert.throws(() => new Webhook(secret).verify(`${BODY} `, headers));
  assert.throws(() => new Webhook(secret).verify(BODY, { ...headers, "webhook-id": "other" }));
  assert.throws(() => new Webhook(generateSecret()).verify(BODY, headers));
  assert.throws(() => new Webhook(secret).verify(BODY, signatureHeaders(secret, ID, now() - 600, BODY)));
});

test("a generated secret holds 32 random bytes", () => {
  const [one, other] = [generateSecret(), generateSecret()];
  assert.notEqual(one, other);
  assert.match(one, /^whsec_/);
  assert.equal(Buffer.from(one.slice("whsec_".length), "base64").length, 32);
});
