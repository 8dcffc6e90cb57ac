import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import type { Checked } from "../callback/check.ts";
import { consentWordOf } from "./consent-word.ts";
import { readGenericText } from "./generic-text.ts";
import { readTextCallbacks, reportAddresses } from "./text-callbacks.ts";
import { readTwilio, twilioCheck } from "./twilio.ts";

const NOW = 1_798_761_600_000;
/** The example of the libraries that Twilio publishes. */
const PUBLISHED = {
  secret: "12345",
  url: "https://mycompany.com/myapp.php?foo=1&bar=2",
  form: {
    ...{ CallSid: "CA1234567890ABCDE", Caller: "+14158675309", Digits: "1234" },
    ...{ From: "+14158675309", To: "+18005551212" },
  },
  signature: "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
};

async function checked(
  changes: Partial<Record<"url" | "body" | "secret" | "signature", string>> = {},
): Promise<Checked> {
  const { url, form, secret, signature } = PUBLISHED;
  const body = new URLSearchParams(form).toString();
  const sent = { url, body, secret, signature, ...changes };
  const headers = { "x-twilio-signature": sent.signature };
  return twilioCheck(sent.secret)({
    ...{ headers, url: sent.url, body: sent.body, now: NOW },
    fetchText: async () => undefined,
  });
}

const REFUSED = { refused: "signature" };

test("the published example passes the check, and no other address, form, secret or signature does", async () => {
  const taken = await checked();
  assert.deepEqual(taken, { items: [{ form: PUBLISHED.form, send: "", at: NOW }] });
  for (const changes of [
    { url: "https://mycompany.com/myapp.php?foo=1&bar=3" },
    { url: "http://mycompany.com/myapp.php?foo=1&bar=2" },
    { body: "Digits=1234" },
    { body: "" },
    { secret: "12346" },
    { signature: "" },
    { signature: PUBLISHED.signature.toLowerCase() },
  ])
    assert.deepEqual(await checked(changes), REFUSED, JSON.stringify(changes));
});

test("an address may be signed with its port, and each value of a repeated name is signed once", async () => {
  const sign = (text: string) => createHmac("sha1", PUBLISHED.secret).update(text).digest("base64");
  const body = "b=2&a=1&b=3&b=2";
  const taken = await checked({
    body,
    signature: sign("https://mycompany.com:443/myapp.php?foo=1&bar=2a1b2b3"),
  });
  assert.ok("items" in taken);
  const many = Array.from({ length: 201 }, (_, index) => `n${index}=1`).join("&");
  assert.deepEqual(await checked({ body: many }), { refused: "body" });
});

const HASH = "018f3b1e-7a1c-7d4e-8f00-0123456789ab";
const kindsOf = (form: object, send = HASH) =>
  readTwilio({ form: { MessageSid: "SM1", To: "+4915100000001", ...form }, send, at: NOW })?.map(
    ({ kind }) => kind,
  );

test("a status says whether a message is there, and a code why it is not", () => {
  for (const [status, kind] of [
    ...["accepted", "queued", "sending", "sent"].map((one) => [one, "taken"]),
    ["delivered", "delivered"],
  ])
    assert.deepEqual(kindsOf({ MessageStatus: status }), [kind]);
  for (const [code, kind] of [
    ["30005", "hard"],
    ["30006", "hard"],
    ["21614", "hard"],
    ["21610", "unsubscribe"],
    ["30007", "blocked"],
    ["30003", "soft"],
    ["", "soft"],
    ["NaN", "soft"],
  ])
    for (const MessageStatus of ["failed", "undelivered"])
      assert.deepEqual(kindsOf({ MessageStatus, ErrorCode: code }), [kind], code);
  assert.deepEqual(kindsOf({ MessageStatus: "canceled" }), []);
  assert.equal(kindsOf({}), undefined);
  assert.equal(kindsOf({ MessageSid: "", MessageStatus: "sent" }), undefined);
  assert.equal(kindsOf({ MessageStatus: "sent", To: "" }, "no hash"), undefined);
  for (const odd of [undefined, null, 1, [], {}, { form: [] }]) assert.equal(readTwilio(odd), undefined);
});

test("a message to us is a reply with its whole text, and with the consent that the provider heard", () => {
  const form = { MessageSid: "SM2", From: "+4915100000001", Body: "  Yes\n please ", SmsStatus: "received" };
  const reply = { kind: "reply", id: "SM2", at: NOW, address: "+4915100000001", text: "  Yes\n please " };
  assert.deepEqual(readTwilio({ form, send: "", at: NOW }), [{ ...reply, asked: undefined }]);
  const [stopped] = readTwilio({ form: { ...form, OptOutType: "STOP" }, send: "", at: NOW }) ?? [];
  assert.deepEqual(stopped, { ...reply, asked: "stop" });
  assert.equal(readTwilio({ form: { ...form, From: "" }, send: "", at: NOW }), undefined);
});

test("words of consent stand alone, in any case and between any signs", () => {
  for (const text of ["stop", " STOP\n", "Stop!", "stopall", "UNSUBSCRIBE", "cancel", "end", "quit."])
    assert.equal(consentWordOf(text), "stop", text);
  for (const text of ["start", " UNSTOP "]) assert.equal(consentWordOf(text), "start", text);
  for (const text of ["", "stop it", "nonstop", "s t o p", "yes", "st\u0000op"])
    assert.equal(consentWordOf(text), undefined);
});

test("a generic item is a report or a reply with a time, and names a send or a number", () => {
  const time = "2026-11-26T12:00:00Z";
  const at = Date.parse(time);
  assert.deepEqual(readGenericText({ event: "hard", hash: HASH, code: 7, reason: "gone", time, id: "1" }), [
    { kind: "hard", id: "1", at, hash: HASH, address: "", code: 7, text: "gone" },
  ]);
  assert.deepEqual(readGenericText({ event: "reply", address: "+491", text: "Hi", time }), [
    { kind: "reply", id: "", at, address: "+491", text: "Hi", asked: undefined },
  ]);
  for (const odd of [
    ...[null, 7, [], {}, { event: "hard", hash: HASH }, { event: "hard", time }],
    ...[
      { event: "lost", hash: HASH, time },
      { event: "reply", address: "+491", time },
    ],
    { event: "reply", text: "Hi", time },
  ])
    assert.equal(readGenericText(odd), undefined, JSON.stringify(odd));
});

test("entries of SMS_CALLBACKS name a provider and a long secret, and a problem names nothing of it", () => {
  const callbacks = readTextCallbacks([
    "twilio:0123456789abcdef",
    "generic:0123456789abcdef",
    "twilio:fedcba9876543210",
  ]);
  assert.ok(!("problem" in callbacks));
  assert.deepEqual(
    callbacks.map(({ name, checks }) => [name, checks.length]),
    [
      ["twilio", 2],
      ["generic", 1],
    ],
  );
  const addressOf = reportAddresses({ SMS_CALLBACKS: callbacks, PUBLIC_URL: "https://shop.example" });
  assert.equal(addressOf?.("1"), "https://shop.example/sms/twilio/callback?send=1");
  assert.equal(reportAddresses({ SMS_CALLBACKS: [], PUBLIC_URL: "https://shop.example" }), undefined);
  for (const [entry, words] of [
    ["twilio:short", "entry 1 (twilio) needs a secret of at least 16 characters"],
    ["mailgun:0123456789abcdef", "entry 1 is not written as name:secret with a name of generic, twilio"],
    ["constructor:0123456789abcdef", "entry 1 is not written as name:secret with a name of generic, twilio"],
  ])
    assert.deepEqual(readTextCallbacks([entry ?? ""]), { problem: words });
});
