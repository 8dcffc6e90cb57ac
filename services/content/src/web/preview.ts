import type { IncomingMessage, ServerResponse } from "node:http";
import { type Timestamp, timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Preview as AskedPreview } from "@tidings/proto/tidings/content/v1/preview";
import { notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { invalid } from "@tidings/rpc/fault";
import type { EndingTokens } from "@tidings/secrets/public-token";
import { PREVIEW_POLICY } from "./policy.ts";

/** A page, form or email as a contact would find it at a time. */
export interface Preview {
  kind: "page" | "form" | "email";
  id: number;
  /** Undefined: somebody who is not known. */
  contactId: number | undefined;
  /** In milliseconds since 1970. */
  at: number;
}

const PARAMETER = "preview";
const HOURS = 24;
const HOURS_MAX = 720;
const HOUR_MS = 3_600_000;

export interface PreviewLinkOptions {
  tokens: EndingTokens;
  publicUrl: string;
  findVisible: FindVisible;
}

/** Signs the address of a preview. The caller has checked that what it shows may be viewed. */
export type LinkPreview = (
  kind: Preview["kind"],
  asked: { id: number; preview?: AskedPreview | undefined },
  call: Call,
) => Promise<{ url: string; expiresAt: Timestamp }>;

/** Throws INVALID_ARGUMENT for a contact that the caller may not view, and for more hours than a link may work. */
export function previewLinks({ tokens, publicUrl, findVisible }: PreviewLinkOptions): LinkPreview {
  return async (kind, { id, preview }, call) => {
    const { contactId, at, hours = HOURS } = preview ?? {};
    if (hours < 1 || hours > HOURS_MAX)
      throw invalid([notValid("hours", `This value is a whole number from 1 to ${HOURS_MAX}.`)]);
    const isVisible =
      contactId === undefined || (await findVisible(ContactSchema, [contactId], call)).has(contactId);
    if (!isVisible) throw invalid([notValid("contactId", `There is no contact ${contactId}.`)]);
    const endsAt = Date.now() + hours * HOUR_MS;
    const shownAt = at ? timestampDate(at).getTime() : Date.now();
    const token = tokens.sign([kind, id, contactId ?? "", shownAt].join(" "), endsAt);
    const url = new URL(`/${kind}/preview/${id}`, publicUrl);
    url.searchParams.set(PARAMETER, token);
    return { url: url.href, expiresAt: timestampFromMs(endsAt) };
  };
}

/** The preview that the address of a request was signed for; undefined for one that we did not sign, or whose end has come. */
export function readPreview(
  tokens: EndingTokens,
  kind: Preview["kind"],
  { url = "" }: IncomingMessage,
): Preview | undefined {
  const { pathname, searchParams } = new URL(url, "http://preview.invalid");
  const text = tokens.read(searchParams.get(PARAMETER) ?? "");
  const [signedKind, id, contactId, at] = text?.split(" ") ?? [];
  if (signedKind !== kind || pathname !== `/${kind}/preview/${id}`) return undefined;
  return { kind, id: Number(id), contactId: Number(contactId) || undefined, at: Number(at) };
}

/** Does the address of a request say that it was signed for a preview, rightly or not? */
export function claimsPreview({ url = "" }: IncomingMessage): boolean {
  return new URL(url, "http://preview.invalid").searchParams.has(PARAMETER);
}

/** Is this the address of a preview? What a script on such a page reports is no visit. */
export function isPreviewAddress(address: string, publicUrl: string): boolean {
  if (!URL.canParse(address)) return false;
  const { origin, pathname } = new URL(address);
  return origin === new URL(publicUrl).origin && /^\/(?:page|form|email)\/preview\//.test(pathname);
}

/** The headers of every preview: its address is for nobody else, and what it shows is not sent from it. */
export function setPreviewHeaders(response: ServerResponse, policy = PREVIEW_POLICY): void {
  response.setHeader("content-security-policy", policy);
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-robots-tag", "noindex, nofollow, noarchive");
}
