import type { DescMessage } from "@bufbuild/protobuf";
import { closed, type Schema } from "../route/schema.ts";
import type { OpenMembers } from "./components.ts";

const VALUE: Schema = { type: ["string", "number", "boolean", "array", "null"] };
const GROUPS: Record<string, string[]> = {
  Contact: ["core", "social", "personal", "professional"],
  Company: ["core", "professional", "other"],
};

/** A field of a contact with its value. */
const ENTRY: Schema = { type: "object" };

/** Contacts and companies with any fields. */
export const generalMembers: OpenMembers = {
  answered: (message) =>
    fieldsOf(
      message,
      { type: "object", additionalProperties: ENTRY },
      { type: "object", additionalProperties: VALUE },
    ),
  sent: () => ({}),
};

function fieldsOf({ name }: DescMessage, group: Schema, all: Schema): Schema {
  const groups = GROUPS[name];
  if (!groups) throw new Error(`${name} has no fields of its own`);
  return { type: "object", additionalProperties: { oneOf: [group, all, { type: "array", maxItems: 0 }] } };
}
