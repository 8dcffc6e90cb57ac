import { SendRefused } from "../send/compose-send.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { e164 } from "./phone-number.ts";
import type { TextSend } from "./text-queue.ts";
import type { TextMessage } from "./text-transport.ts";

/** Addresses a message to the present number of its contact. Throws SendRefused where there is none. */
export async function writeSms(
  { contacts, country }: { contacts: KnownContacts; country: string },
  { contactId, content }: TextSend,
): Promise<TextMessage> {
  const fields = await contacts.fieldsOf(contactId, ["mobile", "phone"]);
  const number = fields.get("mobile")?.trim() || fields.get("phone")?.trim();
  if (!number) throw new SendRefused("Missing phone number for contact.");
  const address = e164(number, country);
  if (address === undefined) throw new SendRefused("The phone number is malformed.");
  return { address, to: [address], values: { text: content } };
}
