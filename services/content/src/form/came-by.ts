import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { utmOf } from "../visit/page-hit.ts";
import { cleanText } from "../visit/parameters.ts";
import type { Sighting, Utm } from "../visit/sighting.ts";

/** The action that records by which campaign a visitor came (engines.md 5.6). */
export const ADD_UTM_TAGS = "lead.addutmtags";

/** The campaign by which the visitor of a form came. */
export interface CameBy {
  utm: Utm;
  /** The page of the form, with its parameters. */
  url: string;
  query: Record<string, string>;
}

/** Reads the campaign from the address of the submission, or else from that of the page, where the form records it. */
export function cameByOf(form: Form, own: URLSearchParams, page: string): CameBy | undefined {
  if (!form.actions.some(({ type }) => type === ADD_UTM_TAGS)) return undefined;
  // Its other parameters name the form, and may prove who the visitor is.
  const ofCampaign = [...own].filter(([name]) => name.startsWith("utm_"));
  const queries = [queryOf(ofCampaign), queryOf(page ? new URL(page).searchParams : [])];
  const [found] = queries.flatMap((query) => {
    const utm = utmOf(query);
    return utm ? [{ utm, query, url: page }] : [];
  });
  return found;
}

/** The parameters of an address as the database takes them. */
export function queryOf(entries: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries([...entries].map(([name, text]) => [cleanText(name, 191), cleanText(text)]));
}

/** A visitor of whom no browser is known, or may be: they came by a campaign all the same. */
export function withoutBrowser({ utm, url, query }: CameBy, at: number): Sighting {
  return {
    ...{ deviceId: "", isNewDevice: false, at, ip: "", userAgent: "", timeZone: "", locale: "" },
    ...{ url, referer: "", remoteHost: "", query, utm },
  };
}
