import assert from "node:assert/strict";
import { test } from "node:test";
import type { EmailRevision } from "./email-revision.ts";
import { compileMail } from "./mail-template.ts";
import { type TrackLinks, untracked } from "./track-links.ts";

const REVISION: EmailRevision = {
  ...{ emailId: 1, version: 1, name: "News", subject: "News", language: "en" },
  ...{ fromAddress: null, fromName: null, replyToAddress: null, bccAddress: null, preheaderText: null },
  ...{
    utmTags: [],
    customHtml: null,
    plainText: null,
    assetAttachments: [],
    dynamicContent: [],
    headers: [],
  },
};
const trackLinks: TrackLinks = async (addresses) =>
  // Names of links have no braces.
  new Map(addresses.map((address) => [address, encodeURIComponent(address).replaceAll(/%7[BD]/g, "_")]));

async function written(members: Partial<EmailRevision>, track = trackLinks) {
  const revision = { ...REVISION, ...members };
  const { html, text } = await compileMail(revision, { given: [], trackLinks: track, hasPixel: false });
  const values = {
    contactFields: new Map([["website", "https://ada.example/"]]),
    valueOf: ({ name, argument = "" }: { name: string; argument: string | undefined }) =>
      name === "trackedlink" || name === "trackedfield" ? `https://t.example/${argument}` : undefined,
    ...{ dates: { now: 0, timeZone: "UTC", locale: "en" }, lengthMax: 10_000 },
  };
  return { html: html?.render(values) ?? "", text: text.render(values) };
}

test("addresses in the text of an email are tracked, but for those with tokens in them", async () => {
  const plainText =
    "See https://shop.example/a?b=1, or (http://shop.example). https://x.example/{contactfield=website}";
  const { text } = await written({ plainText });
  assert.equal(
    text,
    "See https://t.example/https%3A%2F%2Fshop.example%2Fa%3Fb%3D1, or (https://t.example/http%3A%2F%2Fshop.example). https://x.example/https://ada.example/",
  );
});

test("a text that is made of the HTML has the links of the HTML tracked, and those that the author left alone as they are", async () => {
  const customHtml =
    '<a href="https://shop.example/?a=1&amp;b=2">Shop</a> <a href="https://bare.example/" svc:disable-tracking>Bare</a>';
  const { text } = await written({ customHtml });
  assert.equal(
    text,
    "Shop (https://t.example/https%3A%2F%2Fshop.example%2F%3Fa%3D1%26b%3D2) Bare (https://bare.example/)",
  );
});

for (const [address, shown] of [
  ["www.shop.example/a", "https://t.example/http%3A%2F%2Fwww.shop.example%2Fa"],
  ["shop.example", "https://t.example/http%3A%2F%2Fshop.example"],
  ["//shop.example/a", "https://t.example/https%3A%2F%2Fshop.example%2Fa"],
  ["index.html", "index.html"],
  ["/a", "/a"],
  ["#a", "#a"],
  ["mailto:a@shop.example", "mailto:a@shop.example"],
  ["tel:+43", "tel:+43"],
  ["{contactfield=website}", "https://t.example/_contactfield%3Dwebsite_%20website|"],
  ["%7Bcontactfield%3Dwebsite%7D", "https://t.example/%257Bcontactfield%253Dwebsite%257D%20website|"],
  [
    "{contactfield=blog|https://a.example/?b&amp;c}",
    "https://t.example/_contactfield%3Dblog%7Chttps%3A%2F%2Fa.example%2F%3Fb%26c_%20blog|https://a.example/?b&amp;c",
  ],
  ["{contactfield=website|true}", "https%3A%2F%2Fada.example%2F"],
] as const)
  test(`a link to ${address} is written as ${shown}`, async () => {
    const { html } = await written({ customHtml: `<a href="${address}">x</a>` });
    assert.equal(html, `<a href="${shown}">x</a>`);
  });

test("no link is tracked where links are not", async () => {
  const { html, text } = await written(
    { customHtml: '<a href="https://shop.example/">x</a>', plainText: "https://shop.example/" },
    untracked,
  );
  assert.deepEqual([html, text], ['<a href="https://shop.example/">x</a>', "https://shop.example/"]);
});
