import type { IncomingMessage } from "node:http";
import type { Range } from "@tidings/outbound/address";
import type { PublicTokens } from "@tidings/secrets/public-token";
import { isInRanges } from "../visit/address.ts";
import type { Visit } from "../visit/visit.ts";
import { readShown, SHOWN_AT } from "./showing.ts";

/** The member of a form in which only machines write: aliases of fields have no hyphens. */
export const TRAP = "more-details";

/** A person needs longer to read a form and fill it in. */
const HURRIED_MS = 2_000;
/** A single hint proves nothing: programs of sites send forms, and browsers fill them in fast. */
const HINTS_MIN = 2;

export interface SuspicionRules {
  /** Addresses from which every submission is spam. */
  blocked: Range[];
  shownAt: PublicTokens;
}

/** The sender of a submission, by all that may give a machine away. */
export interface Sender {
  formId: number;
  members: ReadonlyMap<string, string>;
  visit: Pick<Visit, "verdict" | "reason">;
  request: Pick<IncomingMessage, "headers">;
}

/**
 * The signs by which a submission is spam, separated by commas; undefined for one that is good. A form without `shown-at` stands on somebody's
 * site, or is sent by a program: that is no sign.
 */
export function suspicionOf(
  { formId, members, visit, request: { headers } }: Sender,
  { blocked, shownAt }: SuspicionRules,
  now: number,
): string | undefined {
  if (members.get(TRAP)) return "trap";
  if (isInRanges(String(headers["x-forwarded-for"] ?? ""), blocked)) return "blocked_address";
  const shown = readShown(members.get(SHOWN_AT) ?? "", { formId }, { shownAt })?.at;
  const hints = [
    visit.verdict === "machine" && visit.reason !== "excluded" && "machine",
    shown !== undefined && now - shown < HURRIED_MS && "hurried",
    // Browsers name the origin of every form that they send (Fetch, 3.2), and this one was in a browser.
    shown !== undefined && headers.origin === undefined && "no_origin",
  ].filter((hint) => hint !== false);
  return hints.length >= HINTS_MIN ? hints.join(",") : undefined;
}
