import type { IncomingMessage } from "node:http";
import { readClick, signClick } from "./click.ts";
import type { KnownContacts } from "./known-contact.ts";
import type { Parameters } from "./parameters.ts";
import { signalsRefusal, type Visit, visitOf } from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";

/** May what the reader of a message does with it be kept of this contact? */
export type MayFollow = (request: IncomingMessage, contactId: number) => Promise<boolean>;

/** The latest answer of a contact to the question for consent: `1`, `0`, or empty where there is none. */
const LATEST_CONSENT = "consent.latest";

/**
 * Asks for the consent of readers (`TRACKING_CONSENT`): a contact who took it back is never followed, and where it is required one who gave it is. Those who
 * ask at the same time share a question. While the contact service is away nobody's answer is known.
 */
export function readerConsent(contacts: KnownContacts, { consent }: VisitSettings): MayFollow {
  return async (request, contactId) => {
    if (consent === "off") return true;
    if (consent === "signal" && signalsRefusal(request.headers)) return false;
    const answer = (await contacts.fieldsOf(contactId, [LATEST_CONSENT])).get(LATEST_CONSENT);
    return consent === "required" ? answer === "1" : answer !== "0";
  };
}

/** A request to the public web, and its parameters. A reader who may not be followed has no browser, and their link names neither contact nor send. */
export async function visitOfReader(
  request: IncomingMessage,
  parameters: Parameters,
  { settings, mayFollow }: { settings: VisitSettings; mayFollow: MayFollow },
): Promise<{ visit: Visit; parameters: Parameters }> {
  const visit = visitOf(request, parameters, settings);
  const click = readClick(settings.tokens.click, parameters.get("ct") ?? "");
  if (click?.contactId === undefined || visit.verdict === "machine") return { visit, parameters };
  if (await mayFollow(request, click.contactId)) return { visit, parameters };
  const { contactId: _reader, sendHash: _send, ...anonymous } = click;
  const ct = signClick(settings.tokens.click, anonymous);
  return { visit: { ...visit, device: undefined }, parameters: new Map([...parameters, ["ct", ct]]) };
}
