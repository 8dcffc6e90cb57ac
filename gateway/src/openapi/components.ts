import { type DescField, type DescMessage, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence, TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  also,
  choices,
  input_only as inputOnly,
  internal,
  keyed,
  length_max as lengthMax,
  max,
  min,
  open_members as openMembers,
  raw_json as rawJson,
  reference,
  required,
  sent_id as sentId,
} from "@tidings/proto/tidings/api/v1/options";
import { FormedJsonSchema } from "@tidings/proto/tidings/type/v1/formed_json";
import { ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { initialOf, isOutputOnly } from "@tidings/resource/stamps";
import { optionOf } from "@tidings/rpc/option";
import type { NestedForm } from "../rest/message-json.ts";
import { arrayOf, byId, type Components, closed, type Schema } from "../route/schema.ts";
import { describeFields } from "./fields.ts";
import { jsonMembers, sentJson } from "./json-members.ts";
import { referred, referredComponents } from "./referred.ts";

/**
 * Describes messages as they are answered (`Tweet`) and sent (`TweetInput`), each once. An answer has no other members than those
 * described; a body may have others, which are ignored. Its members are all there, unless the request selects some.
 */
export function openComponents(nested: NestedForm) {
  const schemas: Record<string, Schema> = { ...referredComponents };
  const described = new Map<string, DescMessage>();
  const once = (name: string, message: DescMessage, describe: () => Schema): Schema => {
    const known = described.get(name);
    if (known && known !== message) throw new Error(`two messages are called ${name}`);
    if (!known) {
      described.set(name, message);
      schemas[name] = describe();
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  const components: Components = {
    answered: (message) => once(message.name, message, () => closed(components.members(message))),
    present: (message) =>
      once(`${message.name}Part`, message, () => {
        const members = membersOf(message, components.present, nested);
        return closed(members, Object.keys(members));
      }),
    members: (message) => membersOf(message, components.answered, nested),
    named(name, schema) {
      schemas[name] = schema;
      return { $ref: `#/components/schemas/${name}` };
    },
    sent: (message) => once(`${message.name}Input`, message, () => sentObject(message, components)),
  };
  return { components, schemas };
}

/** Describes a message that is within another one. */
type Within = Components["answered"];

function membersOf(message: DescMessage, within: Within, nested: NestedForm): Record<string, Schema> {
  return Object.fromEntries(
    message.fields
      .filter((field) => ![inputOnly, internal, sentId].some((option) => optionOf(field, option)))
      .map((field) => [field.jsonName, answeredMember(field, within, nested)]),
  );
}

const SCALARS: Partial<Record<ScalarType, Schema>> = {
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.INT32]: { type: "integer" },
  [ScalarType.DOUBLE]: { type: "number" },
};
/** `2024-05-01T10:00:00+00:00` */
const DATE: Schema = { type: "string", format: "date-time" };

function answeredMember(field: DescField, within: Within, nested: NestedForm): Schema {
  const value = answeredValue(field, within, nested);
  // A deleted entity has no id any more, and an app that acts for itself is a user without one.
  const isNullable =
    field.presence === Presence.EXPLICIT || field.fieldKind === "message" || field.name === "id";
  return isNullable ? orNull(value) : value;
}

function answeredValue(field: DescField, within: Within, nested: NestedForm): Schema {
  if (field.fieldKind === "message") {
    if (field.message === TimestampSchema) return DATE;
    if (field.message === FormedJsonSchema) return describeFields(field.parent.name);
    return field.message === ReferenceSchema ? referred(optionOf(field, reference)) : within(field.message);
  }
  if (field.fieldKind === "list" && field.message) {
    if (field.message === ReferenceSchema) return arrayOf(orNull(referred(optionOf(field, reference))));
    const item = within(field.message);
    const isKeyed = nested === "byId" && optionOf(field, keyed);
    return isKeyed ? { anyOf: [byId(item), { type: "array", maxItems: 0 }] } : arrayOf(item);
  }
  return plainValue(field);
}

function plainValue(field: DescField): Schema {
  if (optionOf(field, rawJson)) return jsonMember(field);
  if (field.fieldKind === "list" && field.listKind === "scalar") return arrayOf(scalar(field.scalar, field));
  if (field.fieldKind === "scalar") return scalar(field.scalar, field);
  throw new Error(`${field.parent.typeName}.${field.name} has no schema`);
}

function jsonMember({ parent, jsonName }: DescField): Schema {
  const schema = jsonMembers[`${parent.name}.${jsonName}`];
  if (!schema) throw new Error(`${parent.name}.${jsonName} is not described in json-members.ts`);
  return schema;
}

function scalar(type: ScalarType, { parent, name }: DescField): Schema {
  const schema = SCALARS[type];
  if (!schema) throw new Error(`${parent.typeName}.${name} has no schema`);
  return schema;
}

function orNull(schema: Schema): Schema {
  const { type, anyOf } = schema;
  if (Array.isArray(anyOf) && !anyOf.some((one) => one.type === "null"))
    return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (type === undefined)
    return anyOf || schema.oneOf || schema.$ref ? { anyOf: [schema, { type: "null" }] } : schema;
  const types = Array.isArray(type) ? type : [type];
  return { ...schema, type: types.includes("null") ? types : [...types, "null"] };
}

function sentObject(message: DescMessage, components: Components): Schema {
  const fields = message.fields.filter(
    (field) => !isOutputOnly(field) && ![internal, openMembers].some((option) => optionOf(field, option)),
  );
  const properties = Object.fromEntries(
    fields.flatMap((field) => {
      const schema = sentMember(field, components);
      const older = optionOf(field, also);
      return [
        [field.jsonName, schema] as const,
        ...(older === "" ? [] : [[older, { ...schema, deprecated: true }] as const]),
      ];
    }),
  );
  const needed = fields.filter(
    (field) => optionOf(field, required) && initialOf(field) === "" && optionOf(field, also) === "",
  );
  return {
    type: "object",
    properties,
    // Fields of the installation are members, too.
    ...(message.fields.some((field) => optionOf(field, openMembers)) && { additionalProperties: true }),
    // A change names only what it changes; a creation names these too.
    ...(needed.length > 0 && {
      description: `A new one needs ${needed.map(({ jsonName }) => jsonName).join(", ")}.`,
    }),
  };
}

/** Switches and numbers may also come as text, as forms have them; references as an object with an id. */
function sentMember(field: DescField, components: Components): Schema {
  if (field.name === "id" || optionOf(field, sentId)) return { type: ["integer", "string", "null"] };
  if (field.fieldKind === "message") {
    if (field.message === TimestampSchema) return { type: ["string", "null"] };
    if (field.message === ReferenceSchema)
      return { type: ["integer", "string", "object", "null"], additionalProperties: true };
    return components.sent(field.message);
  }
  if (field.fieldKind === "list" && field.message)
    return arrayOf(
      field.message === ReferenceSchema
        ? { type: ["integer", "object"], additionalProperties: true }
        : components.sent(field.message),
    );
  const schema = orNull(sentJson[`${field.parent.name}.${field.jsonName}`] ?? plainValue(field));
  return {
    ...schema,
    ...limitsOf(field),
    ...(initialOf(field) !== "" && { default: JSON.parse(initialOf(field)) }),
  };
}

function limitsOf(field: DescField): Schema {
  const length = optionOf(field, lengthMax);
  const words = optionOf(field, choices);
  return {
    ...(length > 0 && { [field.fieldKind === "list" ? "maxItems" : "maxLength"]: length }),
    ...(words.length > 0 && field.fieldKind === "scalar" && { enum: [...words, "", null] }),
    ...(hasOption(field, min) && { minimum: optionOf(field, min) }),
    ...(hasOption(field, max) && { maximum: optionOf(field, max) }),
  };
}
