import type { IncomingMessage } from "node:http";
import { readClick, sourceOf } from "./click.ts";
import { utmOf } from "./page-hit.ts";
import type { Parameters } from "./parameters.ts";
import { proofNames, withoutProofs } from "./proofs.ts";
import type { VisitSettings } from "./visit-settings.ts";

const URL_LENGTH_MAX = 2_048;

/** The members of a fact of a visit by which a page or a file of ours was asked for: its address, and the signed link that led there. */
export function askedBy(
  { url = "" }: IncomingMessage,
  parameters: Parameters,
  { publicUrl, tokens, prefix }: VisitSettings,
) {
  const proofs = proofNames(prefix);
  const query = Object.fromEntries([...parameters].filter(([name]) => !proofs.includes(name)));
  return {
    ...sourceOf(readClick(tokens.click, parameters.get("ct") ?? "")),
    url: withoutProofs(new URL(url, publicUrl).href, prefix).slice(0, URL_LENGTH_MAX),
    query,
    utm: utmOf(query),
    ...{ remoteHost: "", timeZone: "", locale: "" },
  };
}
