import assert from "node:assert/strict";
import { test } from "node:test";
import { judgedIn } from "./judged.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { uploader } from "./uploader.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** Files that readers get by a link of their mail. */

const stack = await startMailingStack({ hasOwnHost: true });
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);
const browser = (agent = BROWSER) => visitor(baseUrl, { host, agent });

const judged = judgedIn(stack);
const GMAIL = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const { name: file } = await uploader(baseUrl).file("assets", "terms.txt", "The terms");
const { asset } = await made("assets/new", {
  title: "Terms",
  storageLocation: "local",
  file,
  isPublished: true,
});
const { email } = await made("emails/new", {
  ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
  customHtml: `<html><body><a href="{assetlink=${asset.id}}">Terms</a> <a href="https://shop.example/">Shop</a></body></html>`,
});
const linkOf = ({ paths }: SentMail) => paths.find((path) => path.includes("/asset/")) ?? "";
const mailed = () => sendToReader(stack, stack.sink, email.id);
const sendOf = async ({ contactId }: SentMail) => {
  const [send] = await query(
    `select is_read, open_count, machine_click_count from content.sends where contact_id = ${contactId}`,
  );
  return [send?.is_read, send?.open_count, send?.machine_click_count];
};
const counts = async () => {
  const { downloadCount, uniqueDownloadCount } = ((await api("GET", `assets/${asset.id}`)).body as Any).asset;
  return [downloadCount, uniqueDownloadCount];
};
const downloadsOf = async ({ contactId }: SentMail) =>
  (
    await query(
      `select asset_id, email_id, source, source_id, verdict from content.asset_downloads where contact_id = ${contactId}`,
    )
  ).map(({ ...row }) => row);

test("a person's download by a link of a mail marks the mail read; a scanner's counts nowhere", async () => {
  const [lone, scanned, read, bot] = [await mailed(), await mailed(), await mailed(), await mailed()];
  const reader = browser();
  for (let time = 0; time < 2; time += 1) {
    const { status, text } = await reader.ask(linkOf(lone));
    assert.deepEqual([status, text], [200, "The terms"]);
  }
  for (const link of [linkOf(scanned), scanned.links[0] ?? ""]) await browser().ask(link);
  // Somebody saw the pictures of this one: the download does not wait.
  await browser(GMAIL).ask(read.pixel);
  await browser().ask(linkOf(read));
  assert.equal((await downloadsOf(read)).length, 1);
  await browser("Barracuda Sentinel (EE)").ask(linkOf(bot));
  const row = { asset_id: asset.id, email_id: email.id, source: "email", source_id: email.id };
  assert.deepEqual(await sendOf(lone), [false, 0, 0]);
  await judged(async () => {
    assert.deepEqual(await sendOf(lone), [true, 1, 0]);
    assert.deepEqual(await sendOf(scanned), [false, 0, 2]);
  });
  assert.deepEqual(
    [await sendOf(read), await sendOf(bot)],
    [
      [true, 1, 0],
      [false, 0, 1],
    ],
  );
  assert.deepEqual(await downloadsOf(lone), Array(2).fill({ ...row, verdict: "human" }));
  assert.deepEqual(await downloadsOf(read), [{ ...row, verdict: "human" }]);
  assert.deepEqual([await downloadsOf(scanned), await downloadsOf(bot)], [[], []]);
  // Three downloads by two contacts; the machines have rows that are nobody's.
  assert.deepEqual(await counts(), [3, 2]);
  const [machines] = await query(
    `select count(*)::int as count, array_agg(distinct verdict_reason) as reasons from content.asset_downloads where contact_id is null`,
  );
  assert.deepEqual([machines?.count, machines?.reasons.includes("scanner")], [2, true]);
  // The browser keeps the id of its device, which is the contact's of the mail.
  const [device] = await query(
    `select d.contact_id from content.visitor_devices d join content.asset_downloads a on a.tracking_id = d.id
     where a.contact_id = ${lone.contactId} limit 1`,
  );
  assert.equal(device?.contact_id, lone.contactId);
  const { email: counted } = (await api("GET", `emails/${email.id}`)).body as Any;
  assert.equal(counted.readCount, 2);
});

test("a file that is not published is refused, and its link proves that the mail was read all the same", async () => {
  const mail = await mailed();
  await api("PATCH", `assets/${asset.id}/edit`, { isPublished: false });
  const before = await counts();
  assert.equal((await browser().ask(linkOf(mail))).status, 401);
  await judged(async () => assert.deepEqual(await sendOf(mail), [true, 1, 0]));
  assert.deepEqual(await counts(), before);
});
