import assert from "node:assert/strict";
import { test } from "node:test";
import { contentConfig } from "./config.ts";

test("a callback secret that cannot be read ends the process with the name of its variable, and nothing of the secret", () => {
  assert.throws(
    () => contentConfig({ MAIL_CALLBACKS: "generic:0123456789abcdef,mailgun:c2VjcmV0" }),
    ({ message }: Error) =>
      /^ {2}MAIL_CALLBACKS: entry 2 \(mailgun\) needs a secret of at least 16 characters$/m.test(message) &&
      !message.includes("c2VjcmV0"),
  );
});

test("a DKIM key that cannot be read ends the process with the name of its variable, and nothing of the key", () => {
  assert.throws(
    () => contentConfig({ MAIL_DKIM_KEYS: "mail.example:s1:c2VjcmV0" }),
    ({ message }: Error) =>
      /^ {2}MAIL_DKIM_KEYS: entry 1 has a key that is no unencrypted private key in PKCS 8$/m.test(message) &&
      !message.includes("c2VjcmV0"),
  );
});

test("an inbox that cannot be read, or has one variable of two, ends the process with the name of the variable, and nothing of the URL", () => {
  const cases: [object, RegExp][] = [
    [
      { MAIL_INBOX_URL: "imaps://reader:c2VjcmV0@inbox.example/%zz" },
      /^ {2}MAIL_INBOX_URL: the URL has a folder/m,
    ],
    [
      { MAIL_INBOX_URL: "smtp://reader:c2VjcmV0@inbox.example" },
      /^ {2}MAIL_INBOX_URL: the URL is neither imaps: nor imap:$/m,
    ],
    [
      { MAIL_INBOX_ADDRESS: "bounces+c2VjcmV0@inbox.example" },
      /^ {2}MAIL_INBOX_ADDRESS: it is no address of letters/m,
    ],
    [
      { MAIL_INBOX_ADDRESS: "nineteen-characters@inbox.example" },
      /^ {2}MAIL_INBOX_ADDRESS: its part before the @ has more than 18/m,
    ],
  ];
  for (const [env, message] of cases)
    assert.throws(
      () => contentConfig({ ...env }),
      (error: Error) => message.test(error.message) && !error.message.includes("c2VjcmV0"),
    );
});

test("a URL of a channel that cannot be read ends the process with the name of its variable, and nothing of the URL", () => {
  for (const [variables, message] of [
    [
      { SMS_URL: "form+https://account:c2VjcmV0@api.example/" },
      /^ {2}SMS_URL: the URL names no sender \(from\)$/m,
    ],
    [
      { TWEET_URL: "form+https://c2VjcmV0@api.example/?from=1" },
      /^ {2}TWEET_URL: the URL is none of log: and json\+https:$/m,
    ],
    [
      { PUSH_URL: 'json+https://c2VjcmV0@api.example/?body={"text":"{text}"}' },
      /^ {2}PUSH_URL: the URL has a parameter body without \{to\} or \{text\}$/m,
    ],
  ] as const)
    assert.throws(
      () => contentConfig(variables),
      (error: Error) => message.test(error.message) && !error.message.includes("c2VjcmV0"),
    );
});

test("an entry of SMS_CALLBACKS that cannot be read ends the process with the name of the variable, and nothing of a secret", () => {
  assert.throws(
    () => contentConfig({ SMS_CALLBACKS: "generic:0123456789abcdef,twilio:c2VjcmV0" }),
    ({ message }: Error) =>
      /^ {2}SMS_CALLBACKS: entry 2 \(twilio\) needs a secret of at least 16 characters$/m.test(message) &&
      !message.includes("c2VjcmV0"),
  );
});

test("a mail transport or rate that cannot be read ends the process with the name of its variable, and nothing of its value", () => {
  const MAIL_FROM = "shop@mail.example";
  for (const [variables, message] of [
    [
      { MAIL_URL: "smtp://mail.example, smtp://user:c2VjcmV0@" },
      /^ {2}MAIL_URL: the URL at place 2 is no URL$/m,
    ],
    [{ MAIL_RATE: "c2VjcmV0" }, /^ {2}MAIL_RATE: a rate is a number with/m],
    [{ MAIL_DOMAIN_RATES: "example.org=5/s,c2VjcmV0" }, /^ {2}MAIL_DOMAIN_RATES: an entry is a domain/m],
  ] as const)
    assert.throws(
      () => contentConfig({ MAIL_FROM, ...variables }),
      (error: Error) => message.test(error.message) && !error.message.includes("c2VjcmV0"),
    );
});

test("a former unsubscribe secret that is short ends the process with the name of the variable, and nothing of the secret", () => {
  assert.throws(
    () => contentConfig({ FORMER_UNSUBSCRIBE_SECRETS: "c2VjcmV0" }),
    ({ message }: Error) =>
      /^ {2}FORMER_UNSUBSCRIBE_SECRETS: entry 1 needs at least 16 characters$/m.test(message) &&
      !message.includes("c2VjcmV0"),
  );
});
