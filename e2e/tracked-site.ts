import assert from "node:assert/strict";
import { eventually } from "@tidings/testkit/eventually";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { startBrowser } from "./browser.ts";
import { startPageServer } from "./page-server.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { BROWSER } from "./visitor.ts";

export interface PageParts {
  /** Calls of the queue that stand in the page. One page view when absent. */
  calls?: string;
  /** HTML before the snippet. */
  before?: string;
  body?: string;
}

/** The product, a browser, and a tracked site of another origin. `content` are variables of the content service. */
export async function startTrackedVisits({ content = {} }: { content?: Record<string, string> } = {}) {
  const starting = startVisitedStack({ hasOwnHost: true, env: { content } });
  const [stack, browser] = await Promise.all([starting, startBrowser()]);
  const site = await startTrackedSite(stack.publicUrl);
  return {
    stack,
    browser,
    site,
    async stop() {
      await browser.close();
      site.stop();
      await stack.stop();
    },
  };
}

/** A site of another origin than the public web, whose pages include the usual snippet. */
async function startTrackedSite(publicUrl: string) {
  const pages = new Map<string, string>();
  const { origin, stop } = await startPageServer(pages);
  return {
    origin,
    stop,
    pages,
    /** Puts a page there, and answers its address. The title is its path. */
    page(path: string, { calls = "mt('send','pageview');", before = "", body = "" }: PageParts = {}): string {
      pages.set(
        path,
        `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${path}</title>${before}<script>${snippet(publicUrl)}${calls}</script></head><body>${body}</body></html>`,
      );
      return origin + path;
    },
  };
}

/** As another product of this kind writes it. */
function snippet(publicUrl: string): string {
  return `(function(w,d,t,u,n,a,m){w['MauticTrackingObject']=n;
w[n]=w[n]||function(){(w[n].q=w[n].q||[]).push(arguments)},a=d.createElement(t),
m=d.getElementsByTagName(t)[0];a.async=1;a.src=u;m.parentNode.insertBefore(a,m)
})(window,document,'script','${publicUrl}/mtc.js','mt');`;
}

/** Runs `work` in a browser without a past. */
export async function visitWith(
  browser: Browser,
  options: BrowserContextOptions,
  work: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ userAgent: BROWSER, ...options });
  try {
    await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

/** Waits until the script has taken the calls of the page: it has sent what these send by then. */
export async function scriptIsReady(page: Page): Promise<void> {
  await page.waitForFunction("typeof mt === 'function' && !('q' in mt) && !/getElements/.test(mt)");
}

/** Each name under which the browser keeps a value for this page. */
export async function keptBy(page: Page): Promise<{ local: string[]; session: string[]; cookies: string[] }> {
  const stored = (await page.evaluate(
    "({ local: Object.keys(localStorage).sort(), session: Object.keys(sessionStorage).sort() })",
  )) as { local: string[]; session: string[] };
  const cookies = (await page.context().cookies()).map(({ name }) => name).sort();
  return { ...stored, cookies };
}

/** Parameters of each hit, beacon and slot that the page asks the public web for, from now on. */
export function sentBy(page: Page, publicUrl: string): URLSearchParams[] {
  const sent: URLSearchParams[] = [];
  page.on("request", (request) => {
    const { origin, pathname, searchParams } = new URL(request.url());
    if (origin === publicUrl && pathname !== "/mtc.js")
      sent.push(new URLSearchParams(request.postData() ?? searchParams));
  });
  return sent;
}

export function eventuallyEqual<T>(read: () => Promise<T>, expected: T): Promise<void> {
  return eventually(async () => assert.deepEqual(await read(), expected));
}
