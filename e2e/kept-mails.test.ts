import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { axeViolations } from "./axe.ts";
import { signIn, startBrowser, takeScreenshot } from "./browser.ts";
import { PDF } from "./multipart.ts";
import { newPerson, PASSWORD } from "./people.ts";
import { openSession } from "./session.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { uploader } from "./uploader.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The page `/mail`: mails that are kept as files in place of being sent. */

const folder = await temporaryFolder();
after(() => folder.remove());
const [stack, browser] = await Promise.all([
  startVisitedStack({
    hasOwnHost: true,
    env: { content: { MAIL_URL: `file:${folder.path}`, MAIL_FROM: "Shop <shop@mail.example>" } },
  }),
  startBrowser(),
]);
after(async () => {
  await browser.close();
  await stack.stop();
});
const { api, baseUrl, publicUrl, made } = stack;
const admin = await openSession(baseUrl, ADMINISTRATOR);

let count = 0;
async function sentTo(
  members: object,
  contactMembers: object = {},
): Promise<{ contactId: number; address: string }> {
  const address = `ada-${++count}@example.org`;
  const { contact } = await made("contacts/new", { email: address, firstname: "Ada", ...contactMembers });
  const { email } = await made("emails/new", {
    name: "News",
    subject: "News",
    emailType: "template",
    ...members,
  });
  const answer = await api("POST", `emails/${email.id}/contact/${contact.id}/send`);
  assert.deepEqual(answer.body, { success: 1 });
  return { contactId: contact.id, address };
}

const HOSTILE = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;

/** Changes the file of a mail, before the page has seen it. */
async function edit(address: string, changed: (mail: string) => string): Promise<void> {
  for (const name of await readdir(folder.path)) {
    const path = join(folder.path, name);
    const mail = await readFile(path, "latin1");
    if (mail.includes(address)) await writeFile(path, changed(mail), "latin1");
  }
}

async function listed(search: string): Promise<{ path: string; name: string }[]> {
  const response = await admin(`/mail?search=${encodeURIComponent(search)}`);
  assert.equal(response.status, 200);
  const links = (await response.text()).matchAll(/<h2><a href="([^"]+)">(.*?)<\/a>/g);
  return [...links].map(([, path = "", name = ""]) => ({ path, name }));
}

test("an administrator finds a mail, sees it in a frame where nothing of it runs, and follows its link", async () => {
  const { name: file } = await uploader(baseUrl).file("assets", "terms.pdf", PDF);
  const { asset } = await made("assets/new", {
    title: "Terms",
    storageLocation: "local",
    file,
    isPublished: true,
  });
  const opened = `${publicUrl}/robots.txt`;
  const { address } = await sentTo({
    subject: "Offer",
    customHtml: `<!doctype html><html><head><meta http-equiv="refresh" content="0;url=https://evil.example/"></head><body>
        <h1>Hello {contactfield=firstname}</h1><script>document.body.textContent = "it ran"</script>
        <form action="/api/contacts/1/delete" method="post"><button>Press</button></form>
        <img src="${baseUrl}/api/contacts" alt="A picture"><a href="${opened}">To the shop</a></body></html>`,
    plainText: "Hello in text",
    assetAttachments: [asset.id],
  });
  // No subject of an email has tags. Files may have whatever somebody wrote into them.
  await edit(address, (mail) =>
    mail
      .replace("Hello in text", "Hello in </code><b>text</b>")
      .replace(/^Subject: Offer/m, `Subject: Offer ${HOSTILE}\r\nX-Hostile: ${HOSTILE}`),
  );
  const context = await browser.newContext({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  const page = await context.newPage();
  const asked: string[] = [];
  const dialogs: string[] = [];
  // One that the policy of a page forbids begins and is never finished.
  context.on("requestfinished", (request) => asked.push(request.url()));
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(`${baseUrl}/mail`);
  await signIn(page);
  await page.getByText("Nothing leaves").waitFor();
  await page.getByLabel("Subject, sender or recipient").fill(address.toUpperCase());
  await page.keyboard.press("Enter");
  await page.waitForURL(/search=/);
  await takeScreenshot(page, "kept-mails");
  const listViolations = await axeViolations(page);
  await page.getByRole("link", { name: `Offer ${HOSTILE}` }).click();
  const frame = page.frameLocator("iframe");
  await frame.getByRole("heading", { name: "Hello" }).waitFor();
  await frame.getByRole("button", { name: "Press" }).click();
  await frame.getByText("To the shop").waitFor();
  await takeScreenshot(page, "kept-mail");
  assert.deepEqual([listViolations, await axeViolations(page)], [[], []]);
  const widths = await page.evaluate<number[]>("[document.documentElement.scrollWidth, innerWidth]");
  assert.ok(Number(widths[0]) <= Number(widths[1]), `the page is ${widths[0]} px wide`);

  await page.getByText("Text", { exact: true }).click();
  await page.getByText("Hello in </code><b>text</b>").first().waitFor();
  await page.getByText("Headers", { exact: true }).click();
  await page.getByText("X-EMAIL-ID", { exact: true }).waitFor();
  await page.getByText(HOSTILE, { exact: true }).waitFor();
  const link = page.getByRole("link", { name: "Terms.pdf" });
  const downloading = page.waitForEvent("download");
  await link.click();
  const download = await downloading;
  assert.ok((await readFile(await download.path())).equals(PDF));

  const popup = context.waitForEvent("page");
  await frame.getByRole("link", { name: "To the shop" }).click();
  await (await popup).waitForURL(opened);
  assert.deepEqual(dialogs, []);
  const { origin, host } = new URL(publicUrl);
  const stray = asked.filter((url) => /evil|\/api\/|\.gif$/.test(url));
  assert.deepEqual(stray, [], "the mail loaded nothing, and its picture counted no open");
  assert.equal(new URL(download.url()).host, host);
  assert.ok(asked.some((url) => url.startsWith(`${origin}/email/kept/`)));
  await context.close();
});

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** A mail with parts that its HTML names. */
const RELATED = `Content-Type: multipart/related; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>
<img id="one" src="cid:one%40mail" alt="One"><IMG SRC=CID:one@mail alt="Again"><img src="cid:evil" alt="SVG"><img src="cid:none" alt="None">
<iframe src="cid:one@mail"></iframe>\r\n--x\r\nContent-Type: image/png\r\nContent-ID: <one@mail>\r\nContent-Transfer-Encoding: base64\r\n\r\n${PNG}
\r\n--x\r\nContent-Type: image/svg+xml\r\nContent-ID: <evil>\r\n\r\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>\r\n--x--\r\n`;

test("pictures within a mail are shown in its frame, by signed addresses, and no other part is", async () => {
  const { address } = await sentTo({ subject: "Pictured", customHtml: "<p>Hello</p>" });
  await edit(address, (mail) => {
    const head = mail.slice(0, mail.indexOf("\r\n\r\n")).replace(/\r\nContent-[\s\S]*?(?=\r\n\S|$)/gi, "");
    return `${head}\r\n${RELATED}`;
  });
  const [mail] = await listed(address);
  const view = await (await admin(mail?.path ?? "")).text();
  const frame = /<iframe[^>]* src="([^"]+)"/.exec(view)?.[1] ?? "";
  const { host, origin } = new URL(publicUrl);
  const look = (path: string) => visitor(baseUrl, { host }).ask(path);
  const shown = await look(frame.slice(origin.length));
  const pictures = [...shown.text.matchAll(/src="?(http[^" >]+\/email\/kept\/[^" >]+)/gi)].map(
    ([, url = ""]) => url,
  );
  assert.equal(pictures.length, 2, shown.text);
  for (const left of ["cid:evil", "cid:none", '<iframe src="cid:one@mail">'])
    assert.ok(shown.text.includes(left));
  const path = (pictures[0] ?? "").slice(origin.length);
  const { status, headers } = await look(path);
  assert.deepEqual([status, headers["content-type"]], [200, "image/png"]);
  assert.match(String(headers["content-security-policy"]), /sandbox/);
  assert.equal((await look(path.replace(/\.[^.]*$/, `.${"A".repeat(22)}`))).status, 404);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${baseUrl}/mail`);
  await signIn(page);
  await page.goto(baseUrl + (mail?.path ?? ""));
  const image = page.frameLocator("iframe").first().locator("#one");
  await eventually(async () =>
    assert.equal(
      await image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth),
      1,
    ),
  );
  await context.close();
});

test("/mail is for administrators, and a made-up id or address is a 404", async () => {
  const anonymous = await fetch(`${baseUrl}/mail`, { redirect: "manual" });
  assert.deepEqual(
    [anonymous.status, anonymous.headers.get("location")],
    [303, "/oauth/v2/authorize_login?next=%2Fmail"],
  );
  const { username } = await newPerson(stack, { "email:emails": ["full"], "lead:leads": ["full"] });
  const person = await openSession(baseUrl, { username, password: PASSWORD });
  const { address } = await sentTo({ customHtml: "<p>Secret</p>" });
  const [mail] = await listed(address);
  for (const path of ["/mail", mail?.path ?? ""]) {
    const response = await person(path);
    assert.equal(response.status, 403);
    assert.doesNotMatch(await response.text(), /Secret|example\.org/);
  }
  await writeFile(join(folder.path, "other.eml"), "Subject: Not ours\r\n\r\n");
  const names = ["other", "nobody@mail.example", "x".repeat(2_000)];
  for (const name of names) assert.equal((await admin(`/mail/${name}`)).status, 404, name);
  // No path of the gateway has such characters.
  for (const name of ["..%2F..%2Fetc%2Fpasswd", "..%5cother", "%00"])
    assert.equal((await admin(`/mail/${name}`)).status, 400, name);
  const view = await (await admin(mail?.path ?? "")).text();
  const frame = /<iframe[^>]* src="([^"]+)"/.exec(view)?.[1] ?? "";
  const { host, origin } = new URL(publicUrl);
  const shown = async (path: string) => (await visitor(baseUrl, { host }).ask(path)).status;
  const path = frame.slice(origin.length);
  assert.equal(await shown(path), 200);
  for (const forged of [`${path}x`, path.replace(/\.[^.]*$/, `.${"A".repeat(22)}`), "/email/kept/1"])
    assert.equal(await shown(forged), 404, forged);
  assert.deepEqual(await listed("Not ours"), []);
  for (const query of ["after=x", "after=9%20", "search[]=1", `search=${"%F0%9F%92%A9".repeat(500)}`])
    assert.equal((await admin(`/mail?${query}`)).status, 200, query);
});

test("the mails of a contact that is deleted are deleted, from the page and from the folder", async () => {
  const { contactId, address } = await sentTo({ customHtml: "<p>Hello</p>" });
  const { address: kept } = await sentTo({ customHtml: "<p>Hello</p>" });
  const [mail] = await listed(address);
  const name = `${decodeURIComponent(mail?.path.split("/")[2] ?? "")}.eml`;
  assert.ok((await readdir(folder.path)).includes(name));
  assert.equal((await api("DELETE", `contacts/${contactId}/delete`)).status, 200);
  await eventually(async () => assert.deepEqual(await listed(address), []));
  assert.ok(!(await readdir(folder.path)).includes(name));
  assert.equal((await admin(mail?.path ?? "")).status, 404);
  assert.equal((await listed(kept)).length, 1);
});
