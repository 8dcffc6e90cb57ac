import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import type { BrowserContext, FrameLocator, Page } from "playwright-core";
import { axeViolations } from "./axe.ts";
import { signIn, startBrowser, takeScreenshot, withPage } from "./browser.ts";
import { FIRST_FIELD, MAIL_FIELD } from "./form-fields.ts";
import { judgedIn } from "./judged.ts";
import { ONE_CLICK } from "./unsubscribe-link.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** Readers of mails in a real browser: from a form by way of `/mail` to a page that knows them, and out of all emails and back. */

const folder = await temporaryFolder();
after(() => folder.remove());
const [stack, browser] = await Promise.all([
  startVisitedStack({
    hasOwnHost: true,
    env: {
      content: {
        SHOW_PREFERENCES: "true",
        ...{ MAIL_URL: `file:${folder.path}`, MAIL_FROM: "Shop <shop@mail.example>" },
      },
    },
  }),
  startBrowser(),
]);
after(async () => {
  await browser.close();
  await stack.stop();
});
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const visit = (work: (page: Page, context: BrowserContext) => Promise<void>, options = {}) =>
  withPage(browser, { userAgent: BROWSER, viewport: { width: 320, height: 700 }, ...options }, work);
const judged = judgedIn(stack);

/** Opens the mail to an address at `/mail`, as an administrator: the frame with its HTML. */
async function openMail(page: Page, address: string): Promise<FrameLocator> {
  await page.goto(`${baseUrl}/mail`);
  if ((await page.getByRole("button", { name: "Sign in" }).count()) > 0) await signIn(page);
  await page.getByText("Nothing leaves").waitFor();
  const mails = page.locator("h2 a");
  await eventually(
    async () => {
      await page.goto(`${baseUrl}/mail?search=${encodeURIComponent(address)}`);
      assert.ok((await mails.count()) > 0, "no mail was sent yet");
    },
    { timeoutMs: 30_000, intervalMs: 200 },
  );
  await mails.first().click();
  return page.frameLocator("iframe");
}

/** Follows a link in a mail, which opens a tab of its own. */
async function follow(page: Page, frame: FrameLocator, name: string): Promise<Page> {
  const opening = page.context().waitForEvent("page");
  await frame.getByRole("link", { name }).click();
  const opened = await opening;
  await opened.waitForLoadState();
  return opened;
}

const headingOf = (page: Page) => page.getByRole("heading").first().textContent();

test("a form leads to a mail at /mail, and the tracked link in it to a page that has its reader's values at once", async () => {
  const address = "grace@readers.example";
  const { page: guide } = await made("pages/new", {
    ...{ title: "Guide", alias: "guide", isPublished: true },
    customHtml: `<h1>Welcome {contactfield=firstname|stranger}</h1><p>You are {contactfield=email|unknown}.</p>`,
  });
  const { email } = await made("emails/new", {
    ...{ name: "Guide", subject: "A guide for {contactfield=firstname}", isPublished: true },
    customHtml: `<html lang="en"><body><h1>Hello {contactfield=firstname}</h1><a href="${publicUrl}/guide">Read</a></body></html>`,
  });
  const { form } = await made("forms/new", {
    ...{
      name: "Order a guide",
      isPublished: true,
      postAction: "message",
      postActionProperty: "It is on its way",
    },
    fields: [MAIL_FIELD, { ...FIRST_FIELD, label: "Name" }, { label: "Send", alias: "send", type: "button" }],
    actions: [{ name: "Mail", type: "email.send.lead", properties: { email: email.id } }],
  });
  await visit(async (page) => {
    await page.goto(`${publicUrl}/form/${form.id}`);
    await page.getByLabel("E-mail").fill(address);
    await page.getByLabel("Name").fill("Grace");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("It is on its way").waitFor();
  });
  // This browser has never been on the public web: the link alone says who reads.
  await visit(async (page, context) => {
    const asked: string[] = [];
    context.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const frame = await openMail(page, address);
    assert.equal(await headingOf(page), "A guide for Grace");
    await assertAccessible(page);
    await frame.getByRole("heading", { name: "Hello Grace" }).waitFor();
    const opened = await follow(page, frame, "Read");
    assert.equal(await headingOf(opened), "Welcome Grace");
    await opened.getByText(`You are ${address}.`).waitFor();
    assert.ok(asked.some((path) => path.startsWith("/r/")));
    await takeScreenshot(opened, "page-of-a-reader");
    await opened.goto(`${publicUrl}/guide`);
    assert.equal(await headingOf(opened), "Welcome Grace", "the browser is known without the link");
  });
  await visit(async (page) => {
    await page.goto(`${publicUrl}/guide`);
    assert.equal(await headingOf(page), "Welcome stranger");
  });

  // Link and page are one click in the mail, which a person made.
  await judged(async () => {
    const [send] = await query(
      `select is_read, machine_click_count from content.sends where email_id = ${email.id}`,
    );
    assert.deepEqual([send?.is_read, send?.machine_click_count], [true, 0]);
    const hits = await query(
      `select h.page_id, h.email_id, h.verdict from content.page_hits h join contact.contacts c on c.id = h.contact_id
       where c.email = '${address}' and h.source = 'email' order by h.id`,
    );
    assert.deepEqual(
      hits.map(({ page_id, email_id, verdict }) => [page_id, email_id, verdict]),
      [
        [null, email.id, "human"],
        [guide.id, null, "human"],
      ],
    );
  });
});

const LINKS = `<html lang="en"><body><p>Hello</p><p><a href="{unsubscribe_url}">What I get</a> <a href="{dnc_url}">Leave</a></p></body></html>`;
let count = 0;
/** A contact who has got an email, and may get it again. */
async function reader(members: object = {}) {
  const address = `reader-${++count}@readers.example`;
  const { contact } = await made("contacts/new", { email: address });
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", isPublished: true, customHtml: LINKS, ...members },
  });
  const send = async (): Promise<boolean> => {
    const answer = await api("POST", `emails/${email.id}/contact/${contact.id}/send`);
    return Boolean((answer.body as { success: unknown }).success);
  };
  const getsMails = (expected: boolean) => eventually(async () => assert.equal(await send(), expected));
  return { id: contact.id as number, address, emailId: email.id as number, getsMails };
}

/** A page for readers is accessible, and no wider than the narrowest screen, by day and by night. */
async function assertAccessible(page: Page): Promise<void> {
  const title = await page.title();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await axeViolations(page), [], `${title}, ${colorScheme}`);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.equal(width, 320, title);
  }
}

for (const javaScriptEnabled of [true, false])
  test(`a reader leaves all emails by hand, says why, comes back and chooses, ${javaScriptEnabled ? "on pages that axe finds nothing on" : "without script"}`, async () => {
    const { form } = await made("forms/new", {
      ...{ name: "Why", isPublished: true, postAction: "message", postActionProperty: "Thank you" },
      fields: [
        { label: "Why do you leave?", alias: "why", type: "text" },
        { label: "Send", alias: "send", type: "button" },
      ],
    });
    const { id, address, getsMails } = await reader({ unsubscribeForm: form.id });
    await getsMails(true);
    await visit(
      async (page) => {
        const arrived = async (shown: Page, heading: string) => {
          await shown.getByRole("heading", { name: heading, exact: true }).waitFor();
          if (javaScriptEnabled) await assertAccessible(shown);
        };
        const press = (shown: Page, name: string) => shown.getByRole("button", { name, exact: true }).click();
        const frame = await openMail(page, address);
        const leaving = await follow(page, frame, "Leave");
        await arrived(leaving, "Unsubscribe from everything");
        await getsMails(true);
        await press(leaving, "Unsubscribe from everything");
        await arrived(leaving, "You are unsubscribed");
        await getsMails(false);
        await leaving.getByLabel("Why do you leave?").fill("Too many");
        await press(leaving, "Send");
        await leaving.getByText("Thank you").waitFor();

        const choosing = await follow(page, frame, "What I get");
        await eventually(async () => {
          await choosing.reload();
          assert.match((await choosing.textContent("main")) ?? "", /You get no emails from us at the moment/);
        });
        await arrived(choosing, "Your preferences");
        await press(choosing, "Subscribe again");
        await arrived(choosing, "You are subscribed again");
        await getsMails(true);
        await press(choosing, "Unsubscribe");
        await arrived(choosing, "You are unsubscribed");
        await getsMails(false);
        await press(choosing, "Subscribe again");
        await getsMails(true);

        const chosen = await follow(page, frame, "What I get");
        await chosen.getByLabel("At most").fill("700");
        await press(chosen, "Save");
        await arrived(chosen, "Saved");
      },
      { javaScriptEnabled },
    );
    await eventually(async () => {
      const { contact } = (await api("GET", `contacts/${id}`)).body as Any;
      assert.deepEqual([contact.frequencyRules.email.frequencyNumber, contact.doNotContact], [700, []]);
      const { submissions } = (await api("GET", `forms/${form.id}/submissions`)).body as Any;
      assert.deepEqual(
        submissions.map(({ results }: Any) => results.why),
        ["Too many"],
      );
    });
  });

test("a mail program unsubscribes by one POST to the address in List-Unsubscribe, and the link in the mail leads back", async () => {
  const { list } = await made("segments/new", { name: "Readers", isPublished: true });
  const { id, address, emailId, getsMails } = await reader({ emailType: "list", lists: [list.id] });
  await made(`segments/${list.id}/contact/${id}/add`, {});
  await eventually(async () => assert.equal((await made(`emails/${emailId}/dry-run`, {})).wouldSend, 1));
  assert.equal((await made(`emails/${emailId}/send`, {})).sentCount, 1);
  await visit(async (page) => {
    const frame = await openMail(page, address);
    await page.getByText("Headers", { exact: true }).click();
    const header = (name: string) => page.locator(`dt:text-is("${name}") + dd`).textContent();
    assert.equal(await header("List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    const link = new URL(/<(https?:[^>]*)>/.exec((await header("List-Unsubscribe")) ?? "")?.[1] ?? "");
    assert.equal(link.host, host);
    const { status, headers } = await visitor(baseUrl, { host }).ask(link.pathname, {
      ...{ method: "POST", body: ONE_CLICK },
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.deepEqual([status, headers.location, headers["set-cookie"]], [200, undefined, undefined]);
    await getsMails(false);
    const opened = await follow(page, frame, "What I get");
    await eventually(async () => {
      await opened.reload();
      await opened.getByRole("button", { name: "Subscribe again" }).click({ timeout: 2_000 });
    });
    await opened.getByRole("heading", { name: "You are subscribed again" }).waitFor();
    await getsMails(true);
  });
});
