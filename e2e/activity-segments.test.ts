import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { parsed, startMailingStack } from "./mailing-stack.ts";
import { contactsOf } from "./newsletters.ts";
import { fieldsOf, startTextProvider } from "./text-provider.ts";
import { visitor } from "./visitor.ts";

/** Segments by what contacts did: each kind of filter, from the request of a visitor to the member of a segment. */

const texts = await startTextProvider();
const stack = await startMailingStack({ content: texts.content });
const { baseUrl, made, query, mailsTo } = stack;

const PHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1";
const NUMBER = "+491701234567";
const [ada] = await contactsOf(stack, [
  { email: "ada@example.org", mobile: NUMBER },
  { email: "bob@example.org" },
]);
const { page } = await made("pages/new", {
  title: "Spring sale",
  customHtml: "<p>Hello</p>",
  isPublished: true,
});
const { asset } = await made("assets/new", {
  ...{ title: "Guide", storageLocation: "remote", file: "https://example.org/guide.pdf", isPublished: true },
});
const { list } = await made("segments/new", { name: "Readers" });
await made(`segments/${list.id}/contact/${ada}/add`, {});
const { email } = await made("emails/new", {
  ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: [list.id] },
  customHtml: '<html><body><a href="https://shop.example/offer">Offer</a></body></html>',
});
const { sms } = await made("smses/new", {
  ...{ name: "News", message: "Look: https://shop.example/text", isPublished: true },
});

/** The first visitor of all has no address. */
const KNOWN = { glue: "and", object: "lead", type: "email", field: "email", operator: "!empty" };

/** A filter that holds for a contact who did everything below, and not for one who did nothing. */
const FILTERS: [field: string, operator: string, value?: unknown][] = [
  ["hit_url", "contains", "shop.example/spring"],
  ["hit_url_date", "gte", "2020-01-01 00:00"],
  ["hit_url_count", "gte", "4"],
  ["sessions", "=", "1"],
  ["referer", "startsWith", "https://search.example/"],
  ["url_title", "=", "Spring at the shop"],
  ["source", "=", "email"],
  ["source_id", "=", String(email.id)],
  ["page_id", "=", "1"],
  ["redirect_id", "=", "1"],
  ["email_id", "=", "1"],
  ["email_clicked_link_date", "gte", "2020-01-01 00:00"],
  ["sms_clicked_link", "=", "1"],
  ["sms_clicked_link_date", "gte", "2020-01-01 00:00"],
  ["lead_email_sent", "in", [email.id]],
  ["lead_email_received", "in", [email.id]],
  ["lead_email_sent_date", "gte", "2020-01-01 00:00"],
  ["lead_email_read_date", "gte", "2020-01-01 00:00"],
  ["lead_email_read_count", "gte", "1"],
  ["lead_asset_download", "in", [asset.id]],
  ["utm_campaign", "=", "spring"],
  ["utm_content", "=", "banner"],
  ["utm_medium", "=", "cpc"],
  ["utm_source", "=", "search"],
  ["utm_term", "=", "shoes"],
  ["device_type", "in", ["smartphone"]],
  ["device_brand", "in", ["Apple"]],
  ["device_model", "=", "iPhone"],
  ["device_os", "in", ["iOS"]],
  ["notification", "=", "1"],
];
const segments = await Promise.all(
  FILTERS.map(async ([field, operator, value]) => {
    const own = {
      glue: "and",
      object: "behaviors",
      type: "text",
      field,
      operator,
      properties: { filter: value },
    };
    const { list } = await made("segments/new", { name: `By ${field}`, filters: [KNOWN, own] });
    return { field, id: list.id as number };
  }),
);

const membersOf = async (id: number) => {
  const rows = await query(
    `select contact_id from contact.segment_contacts where segment_id = ${id} and not manually_removed`,
  );
  return rows.map(({ contact_id }) => contact_id as number);
};
const pathOf = (link: string) => {
  const { pathname, search } = new URL(link.replaceAll("&amp;", "&"));
  return pathname + search;
};

test("a contact becomes a member of the segments that ask for its activities, by each kind of filter", async (t) => {
  await made(`emails/${email.id}/send`, {});
  await made(`smses/${sms.id}/contact/${ada}/send`, {});
  await eventually(() => assert.equal(mailsTo("ada").length, 1));
  const { html } = await parsed(mailsTo("ada")[0]);
  const links = [...String(html).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = ""]) => link);
  const [picture, click] = [
    links.find((link) => link.endsWith(".gif")),
    links.find((link) => link.includes("/r/")),
  ];
  const [text] = texts.requestsTo(NUMBER);
  const [, inText = ""] = /(http\S+)/.exec(text ? (fieldsOf(text).Body ?? "") : "") ?? [];

  const browser = visitor(baseUrl, { agent: PHONE });
  await browser.ask(pathOf(picture ?? ""));
  await browser.ask(pathOf(click ?? ""));
  await browser.ask(pathOf(inText));
  await browser.ask(`/${page.alias}`);
  await browser.ask(`/asset/${asset.id}:${asset.alias}`);
  const tags = "utm_campaign=spring&utm_content=banner&utm_medium=cpc&utm_source=search&utm_term=shoes";
  await browser.hit({
    ...{ page_url: `https://shop.example/spring?${tags}`, page_title: "Spring at the shop" },
    page_referrer: "https://search.example/?q=shoes",
  });
  const device = { svc_device_id: browser.cookies.get("svc_device_id") ?? "", push_id: "push-id-1" };
  await browser.ask(`/notification/subscribe?${new URLSearchParams(device)}`);

  for (const { field, id } of segments)
    await t.test(field, () => eventually(async () => assert.deepEqual(await membersOf(id), [ada])));
});
