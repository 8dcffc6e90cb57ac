import type { Request } from "autocannon";
import { nextNumber } from "../sample-contact.ts";
import type { Workload } from "../workloads.ts";
import { cookieOf, FORM_FIELDS, type PublicSite } from "./site.ts";

/** Visitors at once. */
export const VISITORS = 64;
const SUBMITTERS = 16;
/** Headers of a browser: a program would be a machine's, and nobody. */
export const BROWSER = {
  "user-agent":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
  "accept-language": "en-GB,en;q=0.8",
};

/** Lines of the table: the same requests to the public web and to the bare server. `drained` ends when nothing is on its way. */
export function publicWorkloads(site: PublicSite, drained: () => Promise<void>): Workload[] {
  return [
    {
      name: "public-hit",
      title: "a hit of a known visitor",
      connections: VISITORS,
      goal: 0.2,
      request: () => hitOf(site),
      settled: drained,
    },
    {
      name: "public-page",
      title: "landing page with 5 values, hit",
      connections: VISITORS,
      goal: 0.2,
      request: () => ({
        method: "GET",
        path: site.pagePath,
        headers: { ...BROWSER, cookie: cookieOf(anyDevice(site)) },
      }),
      settled: drained,
    },
    {
      name: "public-submit",
      title: "a form of 10 fields, followed up",
      connections: SUBMITTERS,
      goal: 0.15,
      request: () => submissionOf(site),
      settled: drained,
      isCountedSettled: true,
    },
  ];
}

/** A hit as the script on a page sends it, by one of the known browsers. `url` is the page. */
export function hitOf(
  site: Pick<PublicSite, "devices">,
  device: number = anyDevice(site),
  url: string = `https://shop.example/products/${nextNumber() % 1_000}`,
): Request & { headers: Record<string, string>; body: string } {
  const members = {
    page_title: "A product",
    page_language: "en",
    preferred_locale: "en_GB",
    page_referrer: "shop.example",
    page_url: url,
    counter: "3",
    timezone_offset: "0",
    timezone: "Europe/London",
    resolution: "1920x1080",
    platform: "Win32",
    do_not_track: "false",
  };
  return {
    method: "POST",
    path: "/mtc/event",
    headers: { ...BROWSER, "content-type": "application/json", cookie: cookieOf(device) },
    body: JSON.stringify(members),
  };
}

function submissionOf(site: PublicSite): Request {
  const device = anyDevice(site);
  const number = nextNumber();
  const values = FORM_FIELDS.map((name): [string, string] => [
    `svcform[${name}]`,
    name === "email" ? (site.emails[device - 1] ?? "") : `${name} ${number}`,
  ]);
  return {
    method: "POST",
    path: site.submitPath,
    headers: {
      ...BROWSER,
      "content-type": "application/x-www-form-urlencoded",
      cookie: cookieOf(device),
    },
    body: new URLSearchParams(values).toString(),
  };
}

export function anyDevice({ devices }: Pick<PublicSite, "devices">): number {
  return 1 + Math.floor(Math.random() * devices);
}
