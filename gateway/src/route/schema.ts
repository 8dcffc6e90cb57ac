import type { DescMessage } from "@bufbuild/protobuf";

/** A JSON Schema (2020-12), as OpenAPI 3.1 has it. */
export type Schema = Record<string, unknown>;

/** Where messages are described once, under their names. */
export interface Components {
  /** The schema of a message as it is answered, by reference. */
  answered(message: DescMessage): Schema;
  /** The same of an answer that leaves members out, such as those that are null. */
  present(message: DescMessage): Schema;
  /** The schemas of its members. */
  members(message: DescMessage): Record<string, Schema>;
  /** A schema that is no message's, by reference. */
  named(name: string, schema: Schema): Schema;
  /** The schema of a message as it is sent, by reference. */
  sent(message: DescMessage): Schema;
}

export const TEXT: Schema = { type: "string" };
export const TEXT_OR_NULL: Schema = { type: ["string", "null"] };
export const WHOLE_NUMBER: Schema = { type: "integer" };
export const COUNT: Schema = { type: "integer", minimum: 0 };
export const SWITCH: Schema = { type: "boolean" };

/** Remarks on an entity that was taken all the same, with codes for programs. */
export const WARNINGS: Schema = arrayOf(closed({ code: TEXT, message: TEXT }));

/** An object with these members and no others; all of them are there. */
export function closed(properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export function arrayOf(items: Schema): Schema {
  return { type: "array", items };
}

/** An object whose members are named by ids; without any of them some clients get an empty list. */
export function byId(entry: Schema): Schema {
  return { type: "object", patternProperties: { "^\\d+$": entry }, additionalProperties: false };
}

/** An object with the members of a message and some of its own, which are always there. */
export function extended(members: Record<string, Schema>, own: Record<string, Schema>): Schema {
  return closed({ ...members, ...own }, Object.keys(members));
}
