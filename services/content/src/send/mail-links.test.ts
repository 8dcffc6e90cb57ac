import assert from "node:assert/strict";
import { test } from "node:test";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { mailLinks } from "./mail-links.ts";

const links = mailLinks([generateSecretKey()], "https://news.example:8443/ignored");
const send = { hash: "0193b3c0-0000-7000-8000-000000000001", contactId: 7, emailId: 3 };

test("each address of a mail is one of the public host, and says whose it is", () => {
  assert.equal(links.host, "news.example");
  for (const [address, path, purpose] of [
    [links.unsubscribe(send), /^\/email\/unsubscribe\/(.+)$/, "unsubscribe"],
    [links.refuseAll(send), /^\/email\/dnc\/(.+)$/, "unsubscribe"],
    [links.webView(send), /^\/email\/view\/(.+)$/, "web view"],
    [links.pixel(send), /^\/email\/(.+)\.gif$/, "open"],
  ] as const) {
    const url = new URL(address);
    assert.deepEqual([url.origin, url.href], ["https://news.example:8443", address]);
    assert.deepEqual(links.read(purpose, path.exec(url.pathname)?.[1] ?? ""), send);
  }
});

test("the unsubscribe links of two sends differ", () => {
  assert.equal(links.unsubscribe(send), links.unsubscribe({ ...send }));
  assert.notEqual(links.unsubscribe(send), links.unsubscribe({ ...send, contactId: 8 }));
});

test("a tracked link carries the parameters of its author and a token, whatever letters they have", () => {
  const plain = new URL(links.tracked(send, "id_of-1", []));
  const token = plain.searchParams.get("ct");
  assert.deepEqual([plain.pathname, plain.search], ["/r/id_of-1", `?ct=${token}`]);
  const tagged = new URL(links.tracked(send, "id", [["utm_source", "a & b=c/ü#?"]]));
  assert.deepEqual(
    [...tagged.searchParams],
    [
      ["utm_source", "a & b=c/ü#?"],
      ["ct", token],
    ],
  );
});

test("a redirect that an author wrote by hand leads nowhere else", () => {
  for (const id of ["../email/x", "a?b=c", "a#b", "//evil.example"])
    assert.match(links.tracked(send, id, []), /^https:\/\/news\.example:8443\/r\/[^/?#]+\?ct=[\w.-]+$/);
});
