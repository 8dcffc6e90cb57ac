import type { IncomingMessage } from "node:http";
import type { VisitSettings } from "../visit/visit-settings.ts";

type Sites = Pick<VisitSettings, "publicUrl" | "origins">;

/** Is this address on the public web itself, or on a site that `TRACKING_ORIGINS` names? `*` names none. */
export function isOnNamedSite(address: string, { publicUrl, origins }: Sites): boolean {
  if (!URL.canParse(address)) return false;
  const { origin } = new URL(address);
  return origin === new URL(publicUrl).origin || origins.has(origin);
}

/**
 * Does a named site ask for this script? Every site may include a script with the visitor's cookies, and read what it does. Browsers say whether
 * the site is the same (Fetch Metadata, 2.3), and which one it is; without either it may be any.
 */
export function isAskedByNamedSite({ headers }: IncomingMessage, sites: Sites): boolean {
  const site = headers["sec-fetch-site"];
  return site === "same-origin" || site === "same-site" || isOnNamedSite(headers.referer ?? "", sites);
}
