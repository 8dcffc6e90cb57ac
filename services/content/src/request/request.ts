import { LIMITS } from "../send/contactable.ts";
import type { Outcome } from "../send/outcomes.ts";

/** An occasion on which contacts get an item. */
export interface OccasionOf {
  /** The email, text message or marketing message. */
  itemId: number;
  occasion: string;
  /** Each once. */
  contactIds: number[];
}

/** Sends that another service asks for. */
export interface AskedSends extends OccasionOf {
  source: string;
  sourceId: number;
  isMarketing: boolean;
  tokens: Record<string, string>;
}

/** The reason of the contact service that holds against a send; empty where there is none. Limits put a send off, and refuse none. */
export function noOf(refusal: string): string {
  return LIMITS.has(refusal) ? "" : refusal;
}

export function refusedAll(contactIds: number[], reason: string): Outcome[] {
  return contactIds.map((contactId) => ({ contactId, state: "refused", reason }));
}

/** One answer for each contact, in their order: its send, or why it has none. */
export function withRefusals(
  contactIds: number[],
  outcomes: Outcome[],
  { made, refusals }: { made: ReadonlySet<string>; refusals: ReadonlyMap<number, string> },
): Outcome[] {
  const byContact = new Map(outcomes.map((outcome) => [outcome.contactId, outcome]));
  return contactIds.map((contactId) => {
    const outcome = byContact.get(contactId);
    return outcome
      ? { ...outcome, isNew: made.has(outcome.hash ?? "") }
      : { contactId, state: "refused", reason: refusals.get(contactId) ?? "not_found" };
  });
}
