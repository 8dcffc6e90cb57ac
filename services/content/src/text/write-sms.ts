import { SendRefused } from "../send/compose-send.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { e164 } from "./phone-number.ts";
import type { TextSend } from "./text-queue.ts";
import type { TextMessage } from "./text-transport.ts";

interface SmsWriting {
  contacts: KnownContacts;
  country: string;
  /** The address to which a provider reports of a send; undefined where it does not. */
  reportsOf: ((hash: string) => string) | undefined;
}

/** Addresses a message to the number that was chosen, or to the present one of its contact. Throws SendRefused where there is none. */
export async function writeSms(
  { contacts, country, reportsOf }: SmsWriting,
  { contactId, hash, content, address: chosen }: TextSend,
): Promise<TextMessage> {
  const values = { text: content, hash, ...(reportsOf && { reports: reportsOf(hash) }) };
  if (chosen !== undefined) return { address: chosen, to: [chosen], values };
  const fields = await contacts.fieldsOf(contactId, ["mobile", "phone"]);
  const number = fields.get("mobile")?.trim() || fields.get("phone")?.trim();
  if (!number) throw new SendRefused("Missing phone number for contact.");
  const address = e164(number, country);
  if (address === undefined) throw new SendRefused("The phone number is malformed.");
  return { address, to: [address], values };
}
