import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { utmOf } from "../visit/page-hit.ts";
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
  const queries = [own, ...(page ? [new URL(page).searchParams] : [])].map((query) =>
    Object.fromEntries(query),
  );
  const [found] = queries.flatMap((query) => {
    const utm = utmOf(query);
    return utm ? [{ utm, query, url: page }] : [];
  });
  return found;
}

/** A visitor of whom no browser is known, or may be: they came by a campaign all the same. */
export function withoutBrowser({ utm, url, query }: CameBy, at: number): Sighting {
  return {
    ...{ deviceId: "", isNewDevice: false, at, ip: "", userAgent: "", timeZone: "", locale: "" },
    ...{ url, referer: "", remoteHost: "", query, utm },
  };
}
