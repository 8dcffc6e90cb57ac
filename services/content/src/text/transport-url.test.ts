import assert from "node:assert/strict";
import { test } from "node:test";
import { e164 } from "./phone-number.ts";
import { readPushUrl, readTextUrl, readTweetUrl } from "./transport-url.ts";

test("a URL of text messages says the address, the authorization, the sender and the body", () => {
  assert.deepEqual(readTextUrl("form+https://ac%40me:p%3Aw@api.example/v1/send?from=+4915112345&key=a%26b"), {
    ...{ kind: "form", country: "1", url: "https://api.example/v1/send?key=a%26b", from: "+4915112345" },
    authorization: `Basic ${Buffer.from("ac@me:p:w").toString("base64")}`,
    template: undefined,
  });
  assert.deepEqual(
    readTextUrl('json+https://t0ken@api.example/x?country=49&body={"to":["{to}"],"m":"{text}"}'),
    {
      ...{
        kind: "json",
        country: "49",
        url: "https://api.example/x",
        from: "",
        authorization: "Bearer t0ken",
      },
      template: { to: ["{to}"], m: "{text}" },
    },
  );
  assert.deepEqual(readTextUrl("log:?country=49"), { kind: "log", country: "49" });
});

test("a URL that cannot be read is refused in words without what is secret in it", () => {
  const urls = [
    ...["", "x", "log", "log:x", "https://u:secret@h/", "form+ftp://h/", "form+https://", "log:?country=0"],
    ...["form+https://u:secret@h/", "form+https://:secret@h/?from=1", "form+https://u:secret%@h/?from=1"],
    ...[
      "json+https://h/",
      "json+https://h/?body=secret",
      'json+https://h/?body={"to":"{to}"}',
      "json+https://h/?body=1",
    ],
    ...['json+https://h/?body={"a":"{to} {text} {from}"}', "form+https://secret%0a@h/?from=1"],
  ];
  for (const url of urls) {
    const read = readTextUrl(url);
    assert.ok("problem" in read, url);
    assert.doesNotMatch(read.problem, /secret/);
  }
});

test("a URL of tweets or notifications names what its messages need, and a scheme for its token", () => {
  const said = { kind: "json", url: "https://h/2/tweets", from: "" };
  assert.deepEqual(readTweetUrl('json+https://t@h/2/tweets?body={"text":"{text}"}'), {
    ...{ ...said, authorization: "Bearer t", template: { text: "{text}" } },
  });
  assert.deepEqual(readPushUrl('json+https://t@h/2/tweets?scheme=Key&body=["{to}","{text}"]'), {
    ...{ ...said, authorization: "Key t", template: ["{to}", "{text}"] },
  });
  assert.deepEqual([readTweetUrl("log:"), readPushUrl("log:")], [{ kind: "log" }, { kind: "log" }]);
  for (const url of [
    "form+https://h/",
    "log",
    'json+https://h/?body={"a":"{to}"}',
    "json+https://h/?scheme=a%20b",
  ])
    for (const read of [readTweetUrl, readPushUrl]) assert.ok("problem" in read(url), url);
  const odd = 'json+https://secret@h/?scheme=a:b&body={"a":"{to} {text}"}';
  assert.deepEqual(readPushUrl(odd), {
    problem: "has a parameter scheme that is no word such as Bearer or Key",
  });
});

test("numbers are written in E.164 form, those without a code of a country with the given one", () => {
  const numbers: [string, string, string | undefined][] = [
    ["+49 (0) 151 / 123-456.78", "1", "+4915112345678"],
    ["0049 151 12345678", "1", "+4915112345678"],
    ["0151 12345678", "49", "+4915112345678"],
    ["(415) 555-2671", "1", "+14155552671"],
    ["1 415 555 2671", "1", "+14155552671"],
    ["555-2671", "1", undefined],
    ["+1", "1", undefined],
    ["+1234567890123456", "1", undefined],
    ["+0123456789", "1", undefined],
    ["ada@example.org", "49", undefined],
    ["+49151\r\nBcc: 1", "49", undefined],
    ["٠١٥١١٢٣٤٥٦٧٨", "49", undefined],
    ["", "49", undefined],
  ];
  for (const [text, country, number] of numbers) assert.equal(e164(text, country), number, text);
});
