import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import {
  CompanyUpdatedSchema,
  ContactMergedSchema,
  ContactSavedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { companyRead } from "../definition/find-subject.ts";
import type { ContactChange } from "./follow.ts";

/** A company of which something changed that segments may read. */
export interface CompanyChange {
  companyId: number;
  changed: string[] | "gone";
}

export interface Changes {
  contacts: ContactChange[];
  companies: CompanyChange[];
}

/** The changes in events that segments may read. */
export function changesOf(events: Event[]): Changes {
  const changes: Changes = { contacts: [], companies: [] };
  for (const event of events) READERS[event.subject.slice(PREFIX.length)]?.(event, changes);
  return changes;
}

const PREFIX = "tidings.contact.";

/** A device may have changed hands. */
const readDevice = ({ payload }: Event, { contacts }: Changes) => {
  const { contact, previousContactId } = fromBinary(DeviceSchema, payload);
  const ids = [contact?.id, previousContactId].filter((id) => id !== undefined);
  for (const contactId of ids) contacts.push({ contactId, changed: ["devices"] });
};

const readSave = ({ aggregateId, payload }: Event, { contacts }: Changes) => {
  const { changed } = fromBinary(ContactSavedSchema, payload);
  contacts.push({ contactId: aggregateId, changed: [...changed, "date_modified"] });
};

const READERS: Record<string, ((event: Event, changes: Changes) => void) | undefined> = {
  "contact.created": ({ aggregateId }, { contacts }) =>
    contacts.push({ contactId: aggregateId, changed: "all" }),
  "contact.updated": readSave,
  "contact.reassigned": readSave,
  // The activities of the merged contact belong to this one now.
  "contact.merged": ({ payload }, { contacts }) =>
    contacts.push({ contactId: fromBinary(ContactMergedSchema, payload).mergedIntoId, changed: "all" }),
  "device.created": readDevice,
  "device.updated": readDevice,
  "device.deleted": readDevice,
  "company.updated": ({ aggregateId, payload }, { companies }) => {
    const { changed } = fromBinary(CompanyUpdatedSchema, payload);
    companies.push({ companyId: aggregateId, changed: changed.flatMap(readsOfCompany) });
  },
  "company.deleted": ({ aggregateId }, { companies }) =>
    companies.push({ companyId: aggregateId, changed: "gone" }),
};

/** The subjects of the events that segments follow. */
export const CHANGE_SUBJECTS = Object.keys(READERS).map((name) => PREFIX + name);

/** Contacts carry the name of their primary company in a field of their own. */
function readsOfCompany(alias: string): string[] {
  return alias === "companyname" ? [companyRead(alias), "company"] : [companyRead(alias)];
}
