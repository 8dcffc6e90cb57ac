import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { publicTokens } from "@tidings/secrets/public-token";
import { eventually } from "@tidings/testkit/eventually";
import { FIRST_FIELD, MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The device id and the signed link prove who a visitor is: nobody gives them to another person's browser, and neither is kept with what is recorded. */

const PUBLIC_TOKEN_KEYS = `proofs:${randomBytes(32).toString("base64")}`;
const stack = await startVisitedStack({ hasOwnHost: true, env: { content: { PUBLIC_TOKEN_KEYS } } });
after(() => stack.stop());
const { baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);
const browse = () => visitor(baseUrl, { host });
type Browser = ReturnType<typeof browse>;

const { form } = await made("forms/new", thankingForm("Proofs", [MAIL_FIELD, FIRST_FIELD]));
await made("pages/new", {
  title: "Hello",
  isPublished: true,
  customHtml: `<p>Hi {contactfield=firstname|friend}!</p>{form=${form.id}}`,
});
const { asset } = await made("assets/new", {
  ...{ title: "Remote", isPublished: true, storageLocation: "remote", file: "https://files.example/x.pdf" },
});
const submit = (browser: Browser, members: Record<string, string>, path = "/form/submit") =>
  browser.ask(path, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ "svcform[formId]": String(form.id), ...members }).toString(),
  });
const helloTo = async (browser: Browser) => (await browser.ask("/hello")).text;
const ANSWERED = { "svcform[mail]": "victim@proofs.example", "svcform[first]": "Secret" };
const isRecorded = (email: string) =>
  eventually(async () =>
    assert.equal((await query(`select 1 from contact.contacts where email = '${email}'`)).length, 1),
  );

test("a link that names a device gives the browser that follows it a device of its own", async () => {
  const assetPath = new URL(asset.downloadUrl).pathname;
  for (const path of [
    "/hello",
    "/nowhere-at-all",
    assetPath,
    `/form/${form.id}`,
    "/mtc/event",
    "/mtc",
    "/mtracking.gif",
    "/dwc/top",
  ]) {
    const [attacker, victim] = [browse(), browse()];
    const device = randomBytes(12).toString("hex").slice(0, 23);
    await victim.ask(`${path}?svc_device_id=${device}&page_url=https%3A%2F%2Fshop.example%2F`);
    assert.notEqual(victim.cookies.get("svc_device_id"), device, path);
    const first = `A${randomBytes(4).toString("hex")}`;
    const email = `${first}@proofs.example`.toLowerCase();
    await submit(victim, { "svcform[mail]": email, "svcform[first]": first });
    await isRecorded(email);
    attacker.cookies.set("svc_device_id", device);
    assert.match(await helloTo(attacker), /Hi friend!/, path);
  }
});

test("the form that a link with a device shows is that of the browser which follows it", async () => {
  const attacker = browse();
  await attacker.ask("/hello");
  const device = attacker.cookies.get("svc_device_id") ?? "";
  const shown = await browse().ask(`/form/${form.id}?svc_device_id=${device}`);
  const [, token = ""] = /name="device" value="([^"]+)"/.exec(shown.text) ?? [];
  assert.ok(token);
  await submit(browse(), { ...ANSWERED, device: token });
  await isRecorded("victim@proofs.example");
  assert.match(await helloTo(attacker), /Hi friend!/);
});

test("a form that another site has a browser send under a device's name leaves no cookie", async () => {
  const device = randomBytes(12).toString("hex").slice(0, 23);
  for (const path of ["/form/submit", "/form/submit/ajax"]) {
    const victim = browse();
    await submit(victim, { "svcform[first]": "Eve", svc_device_id: device }, path);
    assert.equal(victim.cookies.size, 0);
  }
});

test("neither a device id nor a signed link is stored with hits, downloads and submissions, or published", async () => {
  const { contact } = await made("contacts/new", { email: "linked@proofs.example" });
  const ct = publicTokens([PUBLIC_TOKEN_KEYS], "click").sign(`${contact.id} email 7 7`);
  const device = "proofsthatarenotkept001";
  const secrets = `ct=${encodeURIComponent(ct)}&svc_device_id=${device}&utm_source=letter&x=1`;
  const url = `https://shop.example/?${secrets}`;
  const sent = browse();
  await sent.hit({ page_url: url, page_referrer: url, ct, svc_device_id: device });
  await browse().ask(`/mtracking.gif?${secrets}`, { headers: { referer: url } });
  const landed = browse();
  await landed.ask(`/hello?${secrets}`, { headers: { referer: url } });
  await landed.ask(`${new URL(asset.downloadUrl).pathname}?${secrets}`, { headers: { referer: url } });
  await submit(landed, { "svcform[first]": "Ada", "svcform[return]": `${publicUrl}/hello?${secrets}` });
  const known = await query(
    "select url, referer, query from content.page_hits where url like '%utm_source=letter%'",
  );
  assert.equal(known.length, 3);
  for (const hit of known) assert.ok(/[?&]x=1/.test(hit.url) && hit.query.x === "1", JSON.stringify(hit));
  const tables = {
    page_hits: "url || coalesce(t.referer, '') || t.query::text",
    asset_downloads: "t.referer",
    form_submissions: "t.referer",
    outbox: "encode(t.payload, 'escape')",
  };
  for (const [table, text] of Object.entries(tables)) {
    const rows = await query(
      `select ${text} as text from content.${table} t
       where ${text} like '%svc_device_id%' or ${text} like '%ct=%' or ${text} like '%${ct.slice(0, 30)}%'`,
    );
    assert.deepEqual(rows, [], table);
  }
});
