import assert from "node:assert/strict";
import { test } from "node:test";
import { EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { judgedIn } from "./judged.ts";
import { parsed, startMailingStack } from "./mailing-stack.ts";
import { publishedOn } from "./published.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** Recorded cases: the requests of people, proxies and scanners for the parts of a mail to many, and the verdict on each. */

const stack = await startMailingStack({ hasOwnHost: true });
const { baseUrl, publicUrl, made, query, mailsTo } = stack;
const { host } = new URL(publicUrl);

/** Agents as they came. */
const GMAIL = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const APPLE_PRIVACY = "Mozilla/5.0";
const BARRACUDA = "Barracuda Sentinel (EE)";
const THUNDERBIRD = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0";

type Part = "picture" | "one" | "two" | "view" | "trap";
type Step = [part: Part, agent: string];

interface Case {
  name: string;
  steps: Step[];
  isRead: boolean;
  opens: number;
  machineOpens: number;
  machineClicks: number;
}

const NOTHING = { isRead: false, opens: 0, machineOpens: 0, machineClicks: 0 };
const CASES: Case[] = [
  {
    ...{ ...NOTHING, isRead: true, opens: 1 },
    name: "a person whose program loads the picture, and who follows a link",
    steps: [
      ["picture", THUNDERBIRD],
      ["one", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, isRead: true, opens: 1 },
    name: "a lone click without pictures",
    steps: [["one", BROWSER]],
  },
  {
    ...{ ...NOTHING, isRead: true, opens: 2 },
    name: "a person whose mailbox loads pictures by a proxy, twice",
    steps: [
      ["picture", GMAIL],
      ["picture", GMAIL],
    ],
  },
  {
    ...{ ...NOTHING, machineOpens: 1 },
    name: "a privacy proxy that loads the picture in advance, and nobody after it",
    steps: [["picture", APPLE_PRIVACY]],
  },
  {
    ...{ ...NOTHING, isRead: true, opens: 1, machineOpens: 1 },
    name: "a privacy proxy in advance, and a person who follows a link afterwards",
    steps: [
      ["picture", APPLE_PRIVACY],
      ["one", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, machineClicks: 2 },
    name: "a scanner as a browser that follows all links in a burst",
    steps: [
      ["one", BROWSER],
      ["two", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, machineOpens: 1, machineClicks: 2 },
    name: "a scanner that follows the links and the web view",
    steps: [
      ["one", BROWSER],
      ["two", BROWSER],
      ["view", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, machineClicks: 2 },
    name: "a slow scanner that follows one link and the one that no person sees",
    steps: [
      ["one", BROWSER],
      ["trap", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, machineClicks: 2 },
    name: "a scanner that follows the link that no person sees first",
    steps: [
      ["trap", BROWSER],
      ["one", BROWSER],
    ],
  },
  {
    ...{ ...NOTHING, machineClicks: 1 },
    name: "a scanner that says what it is",
    steps: [["one", BARRACUDA]],
  },
  {
    ...{ ...NOTHING, isRead: true, opens: 1, machineClicks: 1 },
    name: "a scanner that says what it is, and a person who sees the pictures later",
    steps: [
      ["one", BARRACUDA],
      ["picture", THUNDERBIRD],
    ],
  },
  { ...NOTHING, name: "a mail that nothing asks for", steps: [] },
];

const { list } = await made("segments/new", { name: "Readers" });
const readers = await Promise.all(
  CASES.map(async (one, index) => {
    const address = `case-${index}@example.org`;
    const { contact } = await made("contacts/new", { email: address });
    await made(`segments/${list.id}/contact/${contact.id}/add`, {});
    return { ...one, address, contactId: contact.id };
  }),
);
const { email } = await made("emails/new", {
  ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: [list.id] },
  customHtml: `<html><body><a href="https://shop.example/one">One</a> <a href="https://shop.example/two">Two</a>
    <a href="{webview_url}">View</a> <a href="{unsubscribe_url}">Leave</a></body></html>`,
});
await made(`emails/${email.id}/send`, {});

async function partsOf(address: string): Promise<Record<Part, string>> {
  await eventually(() => assert.equal(mailsTo(address).length, 1));
  const { html } = await parsed(mailsTo(address)[0]);
  const paths = [...String(html).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = ""]) => {
    const { pathname, search } = new URL(link.replaceAll("&amp;", "&"));
    return pathname + search;
  });
  const [one = "", two = ""] = paths.filter((path) => path.startsWith("/r/"));
  const find = (start: string) => paths.find((path) => path.startsWith(start)) ?? "";
  const picture = paths.find((path) => path.endsWith(".gif")) ?? "";
  return { one, two, picture, view: find("/email/view/"), trap: find("/email/more/") };
}

test("each recorded case has its verdict", async (t) => {
  await Promise.all(
    readers.map(async ({ address, steps }) => {
      const parts = await partsOf(address);
      for (const [part, agent] of steps) await visitor(baseUrl, { host, agent }).ask(parts[part]);
    }),
  );
  await judgedIn(stack)(async () => assert.deepEqual(await query("select from content.mail_clicks"), []));
  for (const { name, contactId, isRead, opens, machineOpens, machineClicks } of readers)
    await t.test(name, async () => {
      const [send] = await query(
        `select is_read, open_count, machine_open_count, machine_click_count from content.sends where contact_id = ${contactId}`,
      );
      assert.deepEqual(
        { ...send },
        {
          ...{ is_read: isRead, open_count: opens },
          ...{ machine_open_count: machineOpens, machine_click_count: machineClicks },
        },
      );
    });
});

test("a send keeps what its opens came from, and nothing of machines", async () => {
  const { sends } = (await stack.api("GET", `sends?emailId=${email.id}`)).body as unknown as {
    sends: { contactId: number; ip?: string; openDetails: { useragent: string; inBrowser: boolean }[] }[];
  };
  const opensOf = (name: string) => {
    const { contactId } = readers.find((reader) => reader.name.startsWith(name)) ?? {};
    const { ip, openDetails = [] } = sends.find((send) => send.contactId === contactId) ?? {};
    return [Boolean(ip), ...openDetails.map(({ useragent, inBrowser }) => [useragent, inBrowser])];
  };
  assert.deepEqual(opensOf("a person whose mailbox"), [true, [GMAIL, false], [GMAIL, false]]);
  assert.deepEqual(opensOf("a lone click"), [true, [BROWSER, false]]);
  assert.deepEqual(opensOf("a scanner that follows the links"), [false]);
  assert.deepEqual(opensOf("a mail that nothing"), [false]);
});

test("the event of an open has the address and the opens that its send keeps", async () => {
  const { contactId } = readers.find(({ name }) => name.startsWith("a lone click")) ?? {};
  const opened = (await publishedOn(stack, "tidings.content.email.opened", EmailSendsSchema))
    .flatMap(({ sends }) => sends)
    .find((send) => send.contactId === contactId);
  const details = JSON.parse(Buffer.from(opened?.openDetails ?? []).toString()) as { useragent: string }[];
  assert.deepEqual(
    [opened?.ip !== "", details.map(({ useragent }) => useragent), Number(opened?.emailVersion) > 0],
    [true, [BROWSER], true],
  );
});

test("the link that no person sees stands in mails to many alone, is hidden and not read aloud, and is an unknown address when forged", async () => {
  const [reader] = readers;
  const { html } = await parsed(mailsTo(reader?.address ?? "")[0]);
  const [tag = ""] = /<a href="[^"]*\/email\/more\/[^>]*><\/a>/.exec(String(html)) ?? [];
  for (const attribute of ['aria-hidden="true"', 'tabindex="-1"', 'style="display:none"'])
    assert.ok(tag.includes(attribute), tag);
  const { contact } = await made("contacts/new", { email: "direct@example.org" });
  await made(`emails/${email.id}/contact/${contact.id}/send`, {});
  const direct = await parsed(mailsTo("direct@example.org")[0]);
  assert.ok(!String(direct.html).includes("/email/more/"));
  assert.equal((await visitor(baseUrl, { host }).ask("/email/more/AAAA.BBBB")).status, 404);
});
