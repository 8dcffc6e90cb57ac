import type { IncomingMessage } from "node:http";
import type { VisitSettings } from "../visit/visit-settings.ts";

const LENGTH_MAX = 2_048;

/**
 * The page that a submission leads back to, as the form says: on the public web, on a site that is tracked, or on the one whose page sent the
 * form. Undefined for every other address: nobody is led anywhere else by a link of ours.
 */
export function returnAddress(
  text: string,
  { headers }: IncomingMessage,
  { publicUrl, origins }: Pick<VisitSettings, "publicUrl" | "origins">,
): URL | undefined {
  if (text.length > LENGTH_MAX || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  const senders = [headers.origin, headers.referer].flatMap((sender) => originOf(sender) ?? []);
  const allowed = [
    new URL(publicUrl).origin,
    ...senders,
    ...[...origins].flatMap((origin) => originOf(origin) ?? []),
  ];
  return allowed.includes(url.origin) ? url : undefined;
}

function originOf(text: string | undefined): string | undefined {
  return text && URL.canParse(text) ? new URL(text).origin : undefined;
}
