import { COUNT, closed, type Schema, SWITCH, TEXT, TEXT_OR_NULL, WHOLE_NUMBER } from "../route/schema.ts";
import { describeFields } from "./fields.ts";

/** Settings as their author sent them. */
const SETTINGS: Schema = { type: ["object", "array", "null"], additionalProperties: true };

/** An entity as others show it that refer to it, by the word for its kind. */
const SHOWN: Record<string, Schema> = {
  category: closed({
    ...{ createdByUser: TEXT_OR_NULL, modifiedByUser: TEXT_OR_NULL, id: COUNT, title: TEXT, alias: TEXT },
    ...{ description: TEXT_OR_NULL, color: TEXT_OR_NULL, bundle: TEXT },
  }),
  segment: closed({
    ...{ createdByUser: TEXT_OR_NULL, modifiedByUser: TEXT_OR_NULL, id: COUNT, name: TEXT, alias: TEXT },
    description: TEXT_OR_NULL,
  }),
  email: closed({
    ...{ id: COUNT, name: TEXT, subject: TEXT_OR_NULL, language: TEXT, isPublished: SWITCH },
    variantSettings: SETTINGS,
  }),
  page: closed({
    ...{ id: COUNT, title: TEXT, alias: TEXT, language: TEXT, isPublished: SWITCH },
    variantSettings: SETTINGS,
  }),
  dynamic_content: closed({ id: COUNT, name: TEXT, language: TEXT, isPublished: SWITCH }),
  form: closed({ id: COUNT, name: TEXT, alias: TEXT, isPublished: SWITCH }),
  contact: closed({
    ...{ id: COUNT, points: WHOLE_NUMBER, color: TEXT_OR_NULL, fields: describeFields("Contact") },
  }),
  point_group: closed({ id: COUNT, name: TEXT, description: TEXT_OR_NULL }),
};

const nameOf = (kind: string) =>
  `Referred${kind.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`;

/** Components of the description. */
export const referredComponents: Record<string, Schema> = Object.fromEntries(
  Object.entries(SHOWN).map(([kind, schema]) => [nameOf(kind), schema]),
);

/** An entity of a kind, as others show it. */
export function shown(kind: string): Schema {
  return { $ref: `#/components/schemas/${nameOf(kind)}` };
}

/** The entity of a kind that is referred to, as callers may see it, or its id. Assets are ids. */
export function referred(kind: string): Schema {
  return SHOWN[kind] ? { anyOf: [shown(kind), { type: "integer" }] } : { type: "integer" };
}
