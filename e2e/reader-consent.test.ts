import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { type MailingStack, startMailingStack } from "./mailing-stack.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** Opens and clicks of readers who may not be followed, by TRACKING_CONSENT. */

const GMAIL = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const REFUSING: Record<string, string> = { dnt: "1" };

async function sceneOf(stack: MailingStack) {
  const { baseUrl, publicUrl, made, query } = stack;
  const { host } = new URL(publicUrl);
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
    customHtml:
      '<html><body><a href="https://shop.example/one">One</a> <a href="{webview_url}">View</a></body></html>',
  });
  return {
    /** A mail to a new contact, who gave these answers. */
    async mailed(...answers: boolean[]): Promise<SentMail> {
      const mail = await sendToReader(stack, stack.sink, email.id);
      for (const given of answers)
        await made(`contacts/${mail.contactId}/consents`, { given, where: "Counter 3" });
      return mail;
    },
    see: ({ pixel }: SentMail, headers = {}) =>
      visitor(baseUrl, { host, agent: GMAIL }).ask(pixel, { headers }),
    view: ({ view }: SentMail, headers = {}) =>
      visitor(baseUrl, { host, agent: BROWSER }).ask(view, { headers }),
    follow: ({ links }: SentMail, headers = {}) =>
      visitor(baseUrl, { host }).ask(links[0] ?? "", { headers }),
    async sendOf({ contactId }: SentMail) {
      const [row] = await query(
        `select is_read, open_count, machine_open_count, machine_click_count, state,
           (select count(*)::int from content.mail_clicks c where c.send_hash = s.hash) as waiting,
           (select count(*)::int from content.page_hits h where h.contact_id = s.contact_id) as hits
         from content.sends s where contact_id = ${contactId}`,
      );
      return { ...row };
    },
    linkHits: async () =>
      (
        await query(
          `select coalesce(sum(hits), 0)::int as hits from content.channel_url_trackables where channel_id = ${email.id}`,
        )
      )[0]?.hits,
  };
}

const UNREAD = {
  ...{ is_read: false, open_count: 0, machine_open_count: 0, machine_click_count: 0, state: "sent" },
  ...{ waiting: 0, hits: 0 },
};
const READ = { ...UNREAD, is_read: true, open_count: 1 };

test("where consent is required the opens and clicks of a contact who gave none are nobody's, and those of one who did are theirs", async () => {
  const stack = await startMailingStack({ hasOwnHost: true, content: { TRACKING_CONSENT: "required" } });
  const { mailed, see, view, follow, sendOf, linkHits } = await sceneOf(stack);
  const [silent, agreed, withdrawn] = [await mailed(), await mailed(true), await mailed(true, false)];
  await stack.query(`update content.sends set state = 'unknown' where contact_id = ${silent.contactId}`);
  for (const mail of [silent, withdrawn]) {
    assert.equal((await see(mail)).headers["content-type"], "image/gif");
    assert.equal((await view(mail)).status, 200);
    const { status, headers } = await follow(mail);
    assert.deepEqual([status, headers.location], [302, "https://shop.example/one"]);
    assert.equal(headers["set-cookie"], undefined);
    // An open by nobody still proves that the mail arrived.
    assert.deepEqual(await sendOf(mail), UNREAD);
  }
  await eventually(async () => assert.equal(await linkHits(), 2));
  await see(agreed);
  assert.deepEqual(await sendOf(agreed), READ);
});

test("a browser that asks to be left alone, and a contact who took consent back, are nobody; any others are known", async () => {
  const stack = await startMailingStack({ hasOwnHost: true });
  const { mailed, see, view, follow, sendOf } = await sceneOf(stack);
  const [signalling, withdrawn, silent] = [await mailed(true), await mailed(false), await mailed()];
  for (const act of [see, view, follow]) {
    await act(signalling, REFUSING);
    await act(withdrawn);
  }
  for (const mail of [signalling, withdrawn]) assert.deepEqual(await sendOf(mail), UNREAD);
  await see(silent);
  assert.deepEqual(await sendOf(silent), READ);
});

test("with TRACKING_CONSENT=off an open is known, whatever the browser signals", async () => {
  const stack = await startMailingStack({ hasOwnHost: true, content: { TRACKING_CONSENT: "off" } });
  const { mailed, see, sendOf } = await sceneOf(stack);
  const mail = await mailed(false);
  await see(mail, REFUSING);
  assert.deepEqual(await sendOf(mail), READ);
});
