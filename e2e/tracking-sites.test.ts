import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { newPerson } from "./people.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The sites that use tracking, as administrators see them. */

const SHOP = "https://shop.example";
const stack = await startVisitedStack({ env: { content: { TRACKING_ORIGINS: SHOP } } });
after(() => stack.stop());
const { api, baseUrl, database } = stack;

interface Site {
  host: string;
  lastHit: string | null;
  hits: number;
  refused: Record<string, number>;
  consent: number;
  machine: number;
}

const sites = async (): Promise<Site[]> => {
  const { status, body, text } = await api("GET", "tracking/sites");
  assert.equal(status, 200, text);
  return (body as unknown as { sites: Site[] }).sites;
};
const site = async (host: string) => (await sites()).find((each) => each.host === host);
const at = (address: string) => ({ page_url: address });

test("hits, machines, refusals and what was left out are added up by the host of the page", async () => {
  const startedAt = Date.now() - 1_000;
  const browser = visitor(baseUrl);
  for (let index = 0; index < 3; index += 1) await browser.hit(at(`${SHOP.toUpperCase()}/${index}`));
  await visitor(baseUrl, { agent: "Googlebot/2.1" }).hit(at(`${SHOP}/machine`));
  await visitor(baseUrl).hit(at(`${SHOP}/refusing`), { dnt: "1" });
  await visitor(baseUrl).hit({ ...at(`${SHOP}/link`), ct: "forged" });
  await visitor(baseUrl).hit({
    ...at(`${SHOP}/long`),
    page_title: "t".repeat(3_000),
    ["n".repeat(300)]: "x",
  });
  await visitor(baseUrl).ask(`/mtc/event?page_url=${encodeURIComponent(`${SHOP}/body`)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"page_title": ',
  });
  await visitor(baseUrl).hit(at("https://other.example/"), { origin: "https://other.example" });
  await eventually(async () => {
    const { lastHit, ...counts } = (await site("shop.example")) as Site;
    assert.deepEqual(counts, {
      host: "shop.example",
      hits: 5,
      refused: { ct: 1, page_title: 1, other: 1, body: 1 },
      consent: 1,
      machine: 1,
    });
    assert.ok(Date.parse(lastHit ?? "") >= startedAt);
    const other = await site("other.example");
    assert.deepEqual(other, {
      host: "other.example",
      lastHit: null,
      hits: 0,
      refused: { origin: 1 },
      consent: 0,
      machine: 0,
    });
  });
});

test("hostile addresses are one site or none, and beyond 1,000 sites all others are counted together", async () => {
  const hostile = [
    "javascript:alert(1)",
    "https://",
    "file:///etc/passwd",
    "https://a b/",
    "\u202Ehttps://x",
    "x".repeat(9_000),
  ];
  for (const address of hostile) assert.equal((await visitor(baseUrl).hit(at(address))).json.success, 1);
  await visitor(baseUrl).hit(at(`https://user:secret@BÜCHER.example:8443/?token=1`));
  const named = async (name: string) =>
    Promise.all(
      Array.from({ length: 60 }, (_, index) => visitor(baseUrl).hit(at(`https://${name}${index}.example/`))),
    );
  await eventually(async () => {
    assert.equal((await site("unknown"))?.refused.page_url, hostile.length);
    assert.equal((await site("xn--bcher-kva.example:8443"))?.hits, 1);
  });
  await queryAsSuperuser(
    database,
    "insert into content.tracked_sites (host) select 'full' || n || '.example' from generate_series(1, 1000) n",
  );
  // A busy gateway refuses some.
  const taken = (await named("late")).filter(({ status }) => status === 200);
  assert.ok(taken.length > 0);
  await eventually(async () => assert.equal((await site("others"))?.hits, taken.length));
  assert.ok((await sites()).length <= 1_001);
  await queryAsSuperuser(
    database,
    "update content.tracked_sites set date_modified = now() - interval '31 days'",
  );
  await visitor(baseUrl).hit(at("https://after-a-month.example/"));
  await eventually(async () => assert.equal((await site("after-a-month.example"))?.hits, 1));
});

test("a user who is no administrator gets 403 for the sites", async () => {
  const person = await newPerson({ api, baseUrl }, { "page:pages": ["full"], "lead:leads": ["full"] });
  assert.equal((await person.api("GET", "tracking/sites")).status, 403);
});
