import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { Code, denied, Fault, type Violation } from "@tidings/rpc/fault";
import type { Row } from "@tidings/store/database";
import type { Resource } from "@tidings/store/repository";
import { readReference } from "../record/body.ts";
import { mayReach } from "../record/reach.ts";

/** What belongs to a contact: callers send it as `lead`, it is kept by its id. */
export type Belonging = Resource & { lead: Uint8Array; contactId: number };

const NO_CONTACT = -1;

/** The id of the contact that a body names, 0 when it names none. */
export function referredContact({ lead }: Belonging): number {
  const violations: Violation[] = [];
  const id = readReference("lead", lead, violations) ?? 0;
  return violations.length > 0 ? NO_CONTACT : id;
}

/**
 * Gives a new or changed row its contact; a change that names none keeps it. Who may not see the contact is told what is
 * told of one that does not exist, and nothing is given to a contact that the caller may not change.
 */
export function assignContact<T extends Belonging>(
  draft: T,
  before: T | undefined,
  { contacts, call, missing }: { contacts: Map<number, Row>; call: Call; missing: string },
): Fault | undefined {
  if (draft.contactId === 0) draft.contactId = before?.contactId ?? 0;
  if (before && draft.contactId === before.contactId) return undefined;
  const contact = contacts.get(draft.contactId);
  if (!contact || !mayReach(call, Verb.VIEW, contact, "owner_id")) return mandatory(missing);
  if (!mayReach(call, before ? Verb.EDIT : Verb.CREATE, contact, "owner_id")) return denied();
  draft.contactId = Number(contact.id);
  return undefined;
}

function mandatory(message: string): Fault {
  const violations = [{ field: "lead", message }];
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "INVALID", message, violations });
}
