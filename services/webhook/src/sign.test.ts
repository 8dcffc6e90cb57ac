import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { generateSecret, signatureHeaders } from "./sign.ts";

const ID = "0198f2a4-7f0e-7cc0-a5a4-0d3e3f1e2d3c";
const BODY = '{"svc.lead_post_save_new":[{"contact":{"id":1,"name":"Zoë"}}]}';
const now = () => Math.floor(Date.now() / 1000);
const signed = (secret: string, timestampSeconds = now()) =>
  signatureHeaders({ scheme: "standard", secret, id: ID, timestampSeconds, body: BODY });

test("the reference library verifies what we sign with a generated secret", () => {
  const secret = generateSecret("standard");
  const headers = signed(secret);
  assert.deepEqual(new Webhook(secret).verify(BODY, headers), JSON.parse(BODY));
});

test("the reference library verifies what we sign with a secret of any other form", () => {
  const secret = "sesame, öffne dich";
  const headers = signed(secret);
  assert.ok(new Webhook(Buffer.from(secret).toString("base64")).verify(BODY, headers));
});

test("receivers of an older product get the HMAC of the body alone, under the secret as it stands", () => {
  const body = '{"x":"ö"}';
  const headers = signatureHeaders({
    scheme: "body",
    secret: "open sesame",
    id: ID,
    timestampSeconds: now(),
    body,
  });
  const expected = createHmac("sha256", "open sesame").update(body).digest("base64");
  assert.equal(headers["webhook-signature"], expected);
  assert.match(generateSecret("body"), /^[0-9a-f]{64}$/);
});

test("another body, id, secret or an old timestamp does not verify", () => {
  const secret = generateSecret("standard");
  const headers = signed(secret);
  assert.throws(() => new Webhook(secret).verify(`${BODY} `, headers));
  assert.throws(() => new Webhook(secret).verify(BODY, { ...headers, "webhook-id": "other" }));
  assert.throws(() => new Webhook(generateSecret("standard")).verify(BODY, headers));
  assert.throws(() => new Webhook(secret).verify(BODY, signed(secret, now() - 600)));
});

test("a generated secret holds 32 random bytes", () => {
  const [one, other] = [generateSecret("standard"), generateSecret("standard")];
  assert.notEqual(one, other);
  assert.match(one, /^whsec_/);
  assert.equal(Buffer.from(one.slice("whsec_".length), "base64").length, 32);
});
