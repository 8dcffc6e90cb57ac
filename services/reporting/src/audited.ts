import { create, type DescMessage, fromBinary, getOption } from "@bufbuild/protobuf";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { CompanyUpdatedSchema, ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import { columnsOf, toRecord } from "@tidings/store/columns";
import { placeOf } from "@tidings/store/resource";

/** What is written down of an event. */
export interface Audited {
  bundle: string;
  object: string;
  action: string;
  /** The thing as the event tells it. */
  fieldsOf(payload: Uint8Array): Record<string, unknown>;
  /** What changed, where the event says so itself. */
  details?(payload: Uint8Array): object;
}

/** Resources whose events carry them. */
export const AUDITED: DescMessage[] = [
  TagSchema,
  NoteSchema,
  DeviceSchema,
  FieldSchema,
  SegmentSchema,
  CategorySchema,
  StageSchema,
  WebhookSchema,
  RoleSchema,
  UserSchema,
];

const ACTIONS = new Map([
  ["created", "create"],
  ["updated", "update"],
  ["deleted", "delete"],
  ["merged", "merge"],
]);

/** Stamps of a change, which its entry tells anyway. */
const STAMPS = /^(id|version|(date_added|date_modified|created_by|modified_by)(_user)?)$/;

const resources = new Map(
  AUDITED.map((schema) => {
    const columns = columnsOf(schema).filter(({ name }) => !STAMPS.test(name));
    const { events } = placeOf(schema);
    const object = events.split(".")[2] ?? "";
    const [bundle = ""] = getOption(schema, resource).permission.split(":");
    const fieldsOf = (payload: Uint8Array) =>
      payload.length === 0
        ? toRecord(create(schema), columns)
        : toRecord(fromBinary(schema, payload), columns);
    return [events, { bundle, object, fieldsOf }] as const;
  }),
);

/** Contacts and companies say what changed of them, and not what it was. */
const records = new Map<string, { object: string; changedIn(payload: Uint8Array): string[] }>([
  [
    "tidings.contact.contact",
    { object: "contact", changedIn: (payload) => fromBinary(ContactSavedSchema, payload).changed },
  ],
  [
    "tidings.contact.company",
    { object: "company", changedIn: (payload) => fromBinary(CompanyUpdatedSchema, payload).changed },
  ],
]);

/** Undefined for what is not written down. */
export function auditedBySubject(subject: string): Audited | undefined {
  const at = subject.lastIndexOf(".");
  const action = ACTIONS.get(subject.slice(at + 1));
  const place = subject.slice(0, at);
  if (!action) return undefined;
  const known = resources.get(place);
  if (known) return { ...known, action };
  const record = records.get(place);
  if (!record) return undefined;
  const { object, changedIn } = record;
  const details = (payload: Uint8Array) => (action === "update" ? { changed: changedIn(payload) } : {});
  return { bundle: "lead", object, action, fieldsOf: () => ({}), details };
}
