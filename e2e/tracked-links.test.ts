import assert from "node:assert/strict";
import { after, test } from "node:test";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Tracked links: where `/r/<id>` and `/redirect/<id>` lead, and where they do not. */

const TOKEN_KEY = generateSecretKey();
const stack = await startVisitedStack({ env: { content: { PUBLIC_TOKEN_KEYS: TOKEN_KEY } } });
after(() => stack.stop());
const { baseUrl, made, query } = stack;

const { contact } = await made("contacts/new", {
  ...{ email: "a+b@links.example", firstname: "Zoë & Co/#?=%0D", lastname: "" },
});
const ct = publicTokens([TOKEN_KEY], "click").sign(`${contact.id} email 7 7`);

let links = 0;
async function linkTo(url: string): Promise<string> {
  const id = (++links).toString(16).padStart(25, "0");
  await query(
    `insert into content.page_redirects (redirect_id, url) values ('${id}', '${url.replaceAll("'", "''")}')`,
  );
  return id;
}
const follow = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await visitor(baseUrl).ask(path, { headers });
  const { location, "cache-control": cache } = answer.headers;
  return { status: answer.status, location, cache, text: answer.text };
};

const CASES: [what: string, target: string, query: string, location: string][] = [
  ["an address as it stands", "https://shop.example/a?b=c#d", "", "https://shop.example/a?b=c#d"],
  [
    "values of the contact, encoded",
    "https://shop.example/?m={contactfield=email}&n={contactfield=firstname}",
    `ct=${ct}`,
    `https://shop.example/?m=a%2Bb%40links.example&n=${encodeURIComponent("Zoë & Co/#?=%0D")}`,
  ],
  [
    "a default in place of a blank value",
    "https://shop.example/{contactfield=lastname|no%20one}/x",
    `ct=${ct}`,
    "https://shop.example/no%2520one/x",
  ],
  [
    "nothing of a contact without a signed link",
    "https://shop.example/?m={contactfield=email}",
    "",
    "https://shop.example/?m=",
  ],
  [
    "nothing of a contact with a forged link",
    "https://shop.example/?m={contactfield=email}",
    `ct=${publicTokens([generateSecretKey()], "click").sign(`${contact.id} email 7 7`)}`,
    "https://shop.example/?m=",
  ],
  [
    "neither ct nor a foreign query",
    "https://shop.example/?own=1",
    `ct=${ct}&evil=2&own=3`,
    "https://shop.example/?own=1",
  ],
  [
    "utm parameters, in place of its own",
    "https://shop.example/?utm_source=a&x=1",
    "utm_source=b&utm_medium=c&other=d",
    "https://shop.example/?utm_source=b&x=1&utm_medium=c",
  ],
];

for (const [what, target, asked, location] of CASES)
  test(`a tracked link leads on with ${what}`, async () => {
    const id = await linkTo(target);
    for (const path of ["r", "redirect"]) {
      const answer = await follow(`/${path}/${id}${asked && `?${asked}`}`);
      assert.deepEqual([answer.status, answer.location, answer.cache], [302, location, "no-store"]);
    }
  });

test("targets that are no web address, and links that are not there, are 404", async () => {
  for (const target of [
    "javascript:alert(1)",
    "data:text/html,<script>1</script>",
    "ftp://files.example/",
    "//evil.example/",
    "/local",
    "mailto:a@links.example",
    "{contactfield=firstname}",
  ]) {
    const { status, location } = await follow(`/r/${await linkTo(target)}?ct=${ct}`);
    assert.deepEqual([status, location], [404, undefined], target);
  }
  for (const path of [`/r/${"f".repeat(25)}`, "/r/1", `/r/${"0".repeat(24)}G`, `/r/${"1".repeat(26)}`, "/r/"])
    assert.equal((await follow(path)).status, 404, path);
});

test("no query says where a link leads", async () => {
  const id = await linkTo("https://shop.example/kept");
  for (const asked of [
    "url=https://evil.example",
    "return=https://evil.example",
    "redirectUrl=//evil.example",
  ]) {
    const { location } = await follow(`/r/${id}?${asked}`);
    assert.equal(location, "https://shop.example/kept", asked);
  }
});

test("a link that was taken back ends within seconds where it was remembered, and HEAD follows as GET does", async () => {
  const id = await linkTo("https://shop.example/back");
  assert.equal((await follow(`/r/${id}`)).status, 302);
  assert.equal((await visitor(baseUrl).ask(`/r/${id}`, { method: "HEAD" })).status, 302);
  await query(`update content.page_redirects set is_published = false where redirect_id = '${id}'`);
  await eventually(async () => assert.equal((await follow(`/r/${id}`)).status, 404), { timeoutMs: 20_000 });
});

test("a link that is a field of the contact leads where it was signed to lead, and nowhere else", async () => {
  const targets = publicTokens([TOKEN_KEY], "link target");
  const [id, other] = [await linkTo("{contactfield=website}"), await linkTo("{contactfield=website|}")];
  const url = "https://ada.example/a?b=1&c=%20#d";
  const led = await follow(`/r/${id}?ct=${ct}&to=${targets.sign(`${id} ${url}`)}`);
  assert.deepEqual([led.status, led.location], [302, url]);
  for (const to of [
    "",
    "https://evil.example/",
    targets.sign(`${other} ${url}`),
    targets.sign(`${id} javascript:alert(1)`),
    publicTokens([TOKEN_KEY], "click").sign(`${id} ${url}`),
    publicTokens([generateSecretKey()], "link target").sign(`${id} ${url}`),
  ]) {
    const { status, location } = await follow(`/r/${id}?ct=${ct}&to=${encodeURIComponent(to)}`);
    assert.deepEqual([status, location], [404, undefined], to);
  }
  const fixed = await linkTo("https://shop.example/fixed");
  const { location } = await follow(`/r/${fixed}?ct=${ct}&to=${targets.sign(`${fixed} ${url}`)}`);
  assert.equal(location, "https://shop.example/fixed");
});
