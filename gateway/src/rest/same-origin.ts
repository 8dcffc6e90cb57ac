import type { IncomingMessage } from "node:http";
import { Code, Fault } from "@tidings/rpc/fault";

/**
 * Does a request come from a page of ours, or from no page at all? Browsers of this decade say where it was made in
 * Sec-Fetch-Site, all of them in Origin; `sites` are the words of the first that count as ours.
 */
export function isSameOrigin(
  { headers }: IncomingMessage,
  apiOrigin: string | undefined,
  sites: string[] = ["same-origin"],
): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && !sites.includes(String(site))) return false;
  const { origin } = headers;
  if (origin === undefined) return true;
  if (apiOrigin !== undefined) return origin === apiOrigin;
  return URL.canParse(origin) && new URL(origin).host === headers.host;
}

export function foreignOrigin(): Fault {
  const message = "A page of another site sent this request, and other sites may not change anything here.";
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "FOREIGN_ORIGIN", message });
}
