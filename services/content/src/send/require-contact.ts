import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { denied, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

/** Throws PERMISSION_DENIED for a caller who may view no contacts, and NOT_FOUND for a contact that the caller does not see. */
export async function requireContact(findVisible: FindVisible, contactId: number, call: Call): Promise<void> {
  if (reach(call.actor, "lead:leads", Verb.VIEW) === "none") throw denied();
  if (!(await findVisible(ContactSchema, [contactId], call)).has(contactId)) throw notFound();
}
