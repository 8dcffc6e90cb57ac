import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { readThemeFile } from "@tidings/content/theme/theme-archive";
import type { Page } from "playwright-core";
import { axeViolations } from "./axe.ts";
import { startBrowser, takeScreenshot, withPage } from "./browser.ts";
import { fetchApi } from "./client.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { PNG } from "./multipart.ts";
import { sendToReader } from "./sent-mail.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { authorizationOf } from "./uploader.ts";
import { visitor } from "./visitor.ts";

/** Mails that are written into the themes of the product: on narrow screens, in dark mode, and as text alone. */

const [stack, browser] = await Promise.all([startMailingStack({ hasOwnHost: true }), startBrowser()]);
after(() => browser.close());
const { baseUrl, publicUrl, made, sink } = stack;

/** The HTML of a theme for emails, as the API gives it to authors. */
async function themeFor(key: string): Promise<string> {
  const headers = { authorization: authorizationOf(ADMINISTRATOR) };
  const { bytes } = await fetchApi(baseUrl, { path: `themes/${key}`, headers });
  const archive = Readable.from([bytes]);
  return (await readThemeFile(archive, "html/email.html")) ?? "";
}

const LINK = "https://shop.example/offers?of=spring&sort=price";
const LONG_LINK = `https://shop.example/${"a-very-long-path/".repeat(10)}`;
const CONTENT = `<p>{webview_text}</p><h1>Hello {contactfield=firstname}, have a look at our Frühjahrsgartenmöbelsonderangebote</h1>
  <p>Benches &amp; tables are <b>cheaper</b>, {contactfield=lastname|dear reader}: <a href="${LINK.replace("&", "&amp;")}">all offers</a>, or <a href="mailto:help@shop.example">ask us</a>.</p>
  <p><a href="${LONG_LINK}">${LONG_LINK}</a></p><ul><li>A bench</li><li>A table</li></ul>
  <img src="data:image/png;base64,${PNG.toString("base64")}" width="1200" height="300" alt="A bench under a tree">`;
/** Rules for pages that do not apply to mails, such as those about landmarks, are none of these. */
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** How light the ground of the heading and its letters are, from 0 to 1. Without a colour the ground is white, as axe has it. */
function lightness(page: Page): Promise<[ground: number, letters: number]> {
  return page.evaluate(`(() => {
    const lightness = (colour) => Math.max(...colour.match(/[\\d.]+/g).slice(0, 3)) / 255;
    const heading = document.querySelector("h1");
    let ground = heading;
    while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
    return [ground ? lightness(getComputedStyle(ground).backgroundColor) : 1, lightness(getComputedStyle(heading).color)];
  })()`);
}

for (const key of ["blank", "card", "letter"]) {
  const sent = async () => {
    const { email } = await made("emails/new", {
      ...{ name: key, subject: "Offers for {contactfield=firstname}", isPublished: true },
      customHtml: (await themeFor(key)).replace("{content}", CONTENT),
    });
    return sendToReader(stack, sink, email.id);
  };

  test(`a mail in the theme ${key} fits a screen of 320 px and is legible by day and in dark mode`, async () => {
    const { html, view } = await sent();
    await withPage(browser, { viewport: { width: 320, height: 700 } }, async (page) => {
      for (const show of [() => page.setContent(html), () => page.goto(publicUrl + view)])
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await show();
          assert.equal(await page.title(), "Offers for Ada");
          assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320);
          assert.deepEqual(await axeViolations(page, WCAG), [], colorScheme);
          const [ground, letters] = await lightness(page);
          assert.ok(
            colorScheme === "dark" ? ground < 0.2 && letters > 0.8 : ground > 0.8 && letters < 0.2,
            `${colorScheme}: ${letters} on ${ground}`,
          );
          await takeScreenshot(page, `mail-${key}-${colorScheme}`);
        }
      await page.setViewportSize({ width: 1200, height: 800 });
      assert.ok(Number(await page.evaluate("document.querySelector('h1').offsetWidth")) <= 608);
    });
  });

  test(`the text part of a mail in the theme ${key} says all that its HTML does`, async () => {
    const { text, unsubscribe, view } = await sent();
    const lines = [
      `Having trouble reading this email? ${publicUrl}${view}`,
      "Hello Ada, have a look at our Frühjahrsgartenmöbelsonderangebote",
      `Benches & tables are cheaper, dear reader: all offers (${LINK}), or ask us (help@shop.example).`,
      LONG_LINK,
      "* A bench",
      "* A table",
      "A bench under a tree",
      `Unsubscribe to no longer receive emails from us: ${publicUrl}${unsubscribe}`,
    ];
    assert.deepEqual((await withTargets(text)).split("\n").filter(Boolean), lines);
  });
}

/** The text with the addresses that its tracked links lead to. */
async function withTargets(text: string): Promise<string> {
  const tracked = [...new Set(text.match(/http\S*\/r\/[0-9a-f]{25}\?ct=[\w.-]+/g))];
  assert.equal(tracked.length, 2);
  const { host } = new URL(publicUrl);
  const targets = await Promise.all(
    tracked.map(async (link) => {
      const { pathname, search } = new URL(link);
      const { headers } = await visitor(baseUrl, { host }).ask(pathname + search);
      return String(headers.location);
    }),
  );
  return tracked.reduce((all, link, index) => all.replace(link, targets[index] ?? ""), text);
}
