import { create, fromBinary } from "@bufbuild/protobuf";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { CompanyUpdatedSchema, ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { SendActionSchema } from "@tidings/proto/tidings/content/v1/events";
import { resourceSchemas } from "@tidings/proto/tidings/resources";
import { columnsOf, toRecord } from "@tidings/resource/columns";
import { placeOf } from "@tidings/resource/resource";
import { optionOf } from "@tidings/rpc/option";

/** The log entry of an event. */
export interface Audited {
  bundle: string;
  object: string;
  action: string;
  /** The action that the payload names, of a caller about the sends of an entity. Its fields stay as they are. */
  actionIn?(payload: Uint8Array): string;
  /** The entity as the event carries it. */
  fieldsOf(payload: Uint8Array): Record<string, unknown>;
  /** The changes that the event itself carries. */
  details?(payload: Uint8Array): object;
}

const ACTIONS = new Map([
  ["created", "create"],
  ["updated", "update"],
  ["reassigned", "update"],
  ["deleted", "delete"],
  ["merged", "merge"],
]);

/** Stamps of a change, which its entry has anyway. */
const STAMPS = /^(id|version|(date_added|date_modified|created_by|modified_by)(_user)?)$/;

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

/** All others, whose events carry them. */
const resources = new Map(
  resourceSchemas
    .filter((schema) => !records.has(placeOf(schema).events))
    .map((schema) => {
      const columns = columnsOf(schema).filter(({ name }) => !STAMPS.test(name));
      const { events } = placeOf(schema);
      const object = events.split(".")[2] ?? "";
      const [bundle = ""] = optionOf(schema, resource).permission.split(":");
      const fieldsOf = (payload: Uint8Array) =>
        payload.length === 0
          ? toRecord(create(schema), columns)
          : toRecord(fromBinary(schema, payload), columns);
      return [events, { bundle, object, fieldsOf }] as const;
    }),
);

/** The last word of the subject where a caller sent an entity, or decided about its sends. */
const ACTED = "acted";
const SENDS = {
  action: "send",
  actionIn: (payload: Uint8Array) => fromBinary(SendActionSchema, payload).action,
  details: (payload: Uint8Array) =>
    JSON.parse(Buffer.from(fromBinary(SendActionSchema, payload).details).toString()) as object,
};

/** The subjects in a process's stream whose events may be written down. */
export function auditedSubjects(owner: string): string[] {
  return [...ACTIONS.keys(), ACTED].map((verb) => `tidings.${owner}.*.${verb}`);
}

/** Undefined for what is not written down. */
export function auditedBySubject(subject: string): Audited | undefined {
  const at = subject.lastIndexOf(".");
  const [place, verb] = [subject.slice(0, at), subject.slice(at + 1)];
  const action = ACTIONS.get(verb);
  const acted = verb === ACTED && resources.get(place);
  if (acted) return { ...acted, ...SENDS };
  if (!action) return undefined;
  const known = resources.get(place);
  if (known) return { ...known, action };
  const record = records.get(place);
  if (!record) return undefined;
  const { object, changedIn } = record;
  const details = (payload: Uint8Array) => (action === "update" ? { changed: changedIn(payload) } : {});
  return { bundle: "lead", object, action, fieldsOf: () => ({}), details };
}
