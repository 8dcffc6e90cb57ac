import type { IncomingHttpHeaders } from "node:http";
import { type MachineRules, type Verdict, verdictOf } from "../visit/machine.ts";

/** Mailboxes that load pictures by a proxy when somebody reads the mail. Lists of bots have them. */
const READING_PROXIES = ["(via ggpht.com GoogleImageProxy)", "YahooMailProxy"];
/**
 * Proxies that load pictures in advance, for nobody: Apple's Mail Privacy Protection, which says nothing else, and Gmail's.
 */
const ADVANCE_AGENTS = [
  /^Mozilla\/5\.0$/,
  /^Mozilla\/5\.0 \(Windows NT 10\.0; Win64; x64\) AppleWebKit\/537\.36 \(KHTML, like Gecko\) Chrome\/42\.0\.2311\.135 Safari\/537\.36 Edge\/12\.246 Mozilla\/5\.0$/,
];

/** A browser, as which a proxy that loads pictures for a reader is judged. */
const READER_AGENT = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0";

/** The verdict on a request for the picture of a mail. */
export function readerVerdict(
  request: { method: string; headers: IncomingHttpHeaders; ip: string },
  rules: MachineRules,
): Verdict {
  const agent = request.headers["user-agent"] ?? "";
  if (ADVANCE_AGENTS.some((pattern) => pattern.test(agent)))
    return { verdict: "machine", reason: "prefetch" };
  const isUnwanted = rules.agents.some((word) => agent.toLowerCase().includes(word));
  const isReading = !isUnwanted && READING_PROXIES.some((name) => agent.includes(name));
  // The other rules hold for readers behind a proxy as for all.
  const judged = isReading ? { ...request.headers, "user-agent": READER_AGENT } : request.headers;
  return verdictOf({ ...request, headers: judged }, rules);
}
