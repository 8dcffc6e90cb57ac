import assert from "node:assert/strict";
import { test } from "node:test";
import { readerVerdict } from "./reader-verdict.ts";

/** Requests for the picture of a mail as they were seen from mail programs, proxies and scanners. */
const CASES: [agent: string, verdict: string, reason: string][] = [
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)", "human", ""],
  ["Mozilla/5.0 (Windows NT 10.0; WOW64; rv:60.0) Gecko/20100101 Thunderbird/60.9.0", "human", ""],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "human",
    "",
  ],
  ["Mozilla/4.0 (compatible; ms-office; MSOffice 16)", "human", ""],
  ["Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.4266; Pro)", "unknown", "agent"],
  // Proxies that load the picture for a reader.
  ["Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)", "human", ""],
  ["YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html", "human", ""],
  // Proxies that load it in advance.
  ["Mozilla/5.0", "machine", "prefetch"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0",
    "machine",
    "prefetch",
  ],
  // Scanners that say so, and programs.
  ["Barracuda Sentinel (EE)", "machine", "agent"],
  ["Googlebot/2.1 (+http://www.google.com/bot.html)", "machine", "agent"],
  ["curl/8.5.0", "machine", "agent"],
  ["", "machine", "agent"],
];
const RULES = { agents: [], networks: [], excluded: [] };

test("the picture of a mail is loaded by a reader, by a proxy for one, or by a machine in advance", () => {
  for (const [agent, verdict, reason] of CASES) {
    const request = { method: "GET", headers: { "user-agent": agent }, ip: "192.0.2.1" };
    assert.deepEqual(readerVerdict(request, RULES), { verdict, reason }, agent);
  }
});

test("a word of BOT_AGENTS and a header for prefetching make a reader's proxy a machine", () => {
  const agent = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
  const request = { method: "GET", headers: { "user-agent": agent }, ip: "192.0.2.1" };
  assert.equal(readerVerdict(request, { ...RULES, agents: ["googleimageproxy"] }).verdict, "machine");
  const early = { ...request, headers: { ...request.headers, "sec-purpose": "prefetch" } };
  assert.deepEqual(readerVerdict(early, RULES), { verdict: "machine", reason: "prefetch" });
});
