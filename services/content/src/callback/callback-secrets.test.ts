import assert from "node:assert/strict";
import { test } from "node:test";
import { BODY, GENERIC, MAILGUN, SENDGRID, SIGNED_AT, SNS } from "../testing/callback-vectors.ts";
import { readCallbacks } from "./callback-secrets.ts";
import type { CallbackRequest, Checked } from "./check.ts";

const DAY_MS = 86_400_000;

function checkOf(entry: string) {
  const callbacks = readCallbacks([entry]);
  assert.ok(!("problem" in callbacks));
  const [check] = callbacks[0]?.checks ?? [];
  assert.ok(check);
  return async (request: Partial<CallbackRequest>): Promise<Checked> =>
    check({
      headers: {},
      url: "https://shop.example/",
      body: BODY,
      now: SIGNED_AT,
      fetchText: async () => undefined,
      ...request,
    });
}

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
const REFUSED = { refused: "signature" };
const ITEMS = { items: JSON.parse(BODY) };

test("a callback is taken with its signature, and refused with another body, secret, or none", async () => {
  const cases = [
    { entry: `generic:${GENERIC.secret}`, headers: GENERIC.headers, other: "generic:another-secret-01" },
    { entry: `sendgrid:${SENDGRID.secret}`, headers: SENDGRID.headers },
  ];
  for (const { entry, headers, other } of cases) {
    const check = checkOf(entry);
    assert.deepEqual(await check({ headers }), ITEMS);
    assert.deepEqual(await check({ headers, body: BODY.replace("ada", "bob") }), REFUSED);
    assert.deepEqual(await check({}), REFUSED);
    for (const name of Object.keys(headers))
      assert.deepEqual(await check({ headers: { ...headers, [name]: "AAAA" } }), REFUSED);
    if (other) assert.deepEqual(await checkOf(other)({ headers }), REFUSED);
  }
});

test("Basic authentication takes the whole user and password, and nothing else", async () => {
  for (const name of ["sparkpost", "postmark"]) {
    const check = checkOf(`${name}:user:password-of-16-chars`);
    assert.ok("items" in (await check({ headers: basic("user:password-of-16-chars") })));
    for (const text of ["user:password-of-16-char", "user:", "", "other:password-of-16-chars"])
      assert.deepEqual(await check({ headers: basic(text) }), REFUSED);
    assert.deepEqual(
      await check({ headers: { authorization: "Bearer user:password-of-16-chars" } }),
      REFUSED,
    );
  }
});

test("Mailgun's signature is of a token, which the callback hands on to be used once", async () => {
  const check = checkOf(`mailgun:${MAILGUN.secret}`);
  const bodyOf = (signature: object) => JSON.stringify({ signature, "event-data": { event: "delivered" } });
  const { signature } = MAILGUN;
  assert.deepEqual(await check({ body: bodyOf(signature) }), {
    items: [{ event: "delivered" }],
    nonce: "token-1",
  });
  for (const changed of [{ token: "token-2" }, { timestamp: "1798761601" }, { signature: "" }, { token: 1 }])
    assert.deepEqual(await check({ body: bodyOf({ ...signature, ...changed }) }), REFUSED);
  assert.deepEqual(await check({ body: "{" }), { refused: "body" });
});

test("a callback that was signed two days ago, or for tomorrow, is refused", async () => {
  const stale = { refused: "stale" };
  const mailgun = JSON.stringify({ signature: MAILGUN.signature, "event-data": {} });
  for (const now of [SIGNED_AT + 2 * DAY_MS, SIGNED_AT - DAY_MS]) {
    assert.deepEqual(await checkOf(`sendgrid:${SENDGRID.secret}`)({ headers: SENDGRID.headers, now }), stale);
    assert.deepEqual(await checkOf(`mailgun:${MAILGUN.secret}`)({ body: mailgun, now }), stale);
  }
});

function sns() {
  const check = checkOf(`ses:${SNS.topic}`);
  const visited: string[] = [];
  const fetchText = async (url: string) => {
    visited.push(url);
    return url === SNS.certificateUrl ? SNS.certificate : "confirmed";
  };
  const ask = (message: object, now = SIGNED_AT + DAY_MS / 24) =>
    check({
      body: JSON.stringify({ SigningCertURL: SNS.certificateUrl, ...message }),
      now,
      fetchText,
    });
  return { ask, visited };
}

test("a notification of the topic is taken with a signature of version 1 or 2, and its certificate is fetched once", async () => {
  const { ask, visited } = sns();
  for (const version of ["1", "2"] as const) {
    const signed = { ...SNS.notification, SignatureVersion: version, Signature: SNS.signatures[version] };
    assert.deepEqual(await ask(signed), { items: [{ notificationType: "Bounce" }] });
    for (const changed of [
      { Message: "{}" },
      { MessageId: "m-9" },
      { TopicArn: SNS.topic.replace("bounces", "others") },
      { SignatureVersion: version === "1" ? "2" : "1" },
      { Signature: "" },
      { Signature: undefined },
      { Type: "SubscriptionConfirmation" },
      { Type: "constructor" },
      { Subject: "added" },
    ])
      assert.deepEqual(await ask({ ...signed, ...changed }), REFUSED);
    assert.deepEqual(await ask(signed, SIGNED_AT + 2 * DAY_MS), { refused: "stale" });
  }
  assert.deepEqual(visited, [SNS.certificateUrl]);
});

test("a certificate is fetched from the service of the topic's region alone", async () => {
  const { ask, visited } = sns();
  const signed = { ...SNS.notification, SignatureVersion: "2", Signature: SNS.signatures["2"] };
  for (const url of [
    "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem",
    "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-0a.pem",
    "https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-0a.pem",
    "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0a.pem",
    "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a.pem",
    "https://evil.sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem",
    "https://sns.eu-west-1.amazonaws.com/bucket/key.pem",
    "https://sns.eu-west-1.amazonaws.com/?SimpleNotificationService-0a.pem",
    "https://sns.eu-west-1.amazonaws.com\\@evil.example/SimpleNotificationService-0a.pem",
    "https://169.254.169.254/SimpleNotificationService-0a.pem",
    "",
    7,
  ])
    assert.deepEqual(await ask({ ...signed, SigningCertURL: url }), REFUSED);
  assert.deepEqual(visited, []);
});

test("only the subscription of the topic is confirmed, and only with a signature", async () => {
  const { ask, visited } = sns();
  const { SubscribeURL } = SNS.confirmation;
  for (const changed of [
    { TopicArn: SNS.topic.replace("bounces", "others") },
    { SubscribeURL: "https://evil.example/" },
    { Token: "t-2" },
  ])
    assert.deepEqual(await ask({ ...SNS.confirmation, ...changed }), REFUSED);
  assert.ok(!visited.includes(SubscribeURL));
  assert.deepEqual(await ask(SNS.confirmation), { items: [] });
  assert.deepEqual(visited, [SNS.certificateUrl, SubscribeURL]);
});

test("a secret that cannot be read is named by its place and provider, and nothing of it is shown", () => {
  const bad = [
    "generic",
    "generic:short",
    "other:0123456789abcdef",
    "toString:0123456789abcdef",
    "sendgrid:c2VjcmV0",
    "ses:arn:aws:sqs:eu-west-1:123456789012:bounces",
    "postmark:user-without-password",
    ":0123456789abcdef",
  ];
  for (const entry of bad) {
    const read = readCallbacks([`generic:${GENERIC.secret}`, entry]);
    assert.ok("problem" in read, entry);
    assert.match(read.problem, /^entry 2 /);
    const secret = entry.slice(entry.indexOf(":") + 1);
    assert.ok(!read.problem.includes(secret) || secret === "generic", read.problem);
  }
  const two = readCallbacks([`generic:${GENERIC.secret}`, "generic:another-secret-01"]);
  assert.ok(!("problem" in two));
  assert.deepEqual(
    two.map(({ name, checks }) => [name, checks.length]),
    [["generic", 2]],
  );
});
