import { compare, type Value } from "@tidings/filters/compare-in-sql";
import { DO_NOT_CONTACT } from "@tidings/filters/do-not-contact";
import { idsOf } from "@tidings/filters/operand";
import {
  counterpartOf,
  kindOf,
  operatorsOf,
  REFERENCE_OPERATORS,
  type ValueKind,
} from "@tidings/filters/operators";
import { sql } from "kysely";
import type { Field, FieldCatalogue } from "../../field/catalogue.ts";
import { fieldExpression } from "../../field/expression.ts";
import { activities } from "./activity.ts";
import { constantly, leftOf, type Subject, setSubject, valueSubject } from "./subject.ts";

/** The subject of a filter by its name; undefined when nothing is called that. Segments are looked up elsewhere. */
export function findSubject(
  name: string,
  object: string,
  { contact, company }: FieldCatalogue,
): Subject | undefined {
  if (object === "company") {
    const field = company.byAlias.get(name);
    return field && companySubject(field);
  }
  const field = object === "lead" ? contact.byAlias.get(name) : undefined;
  return field ? fieldSubject(field) : (COLUMNS.get(name) ?? SETS.get(name) ?? activities.get(name));
}

function fieldSubject(field: Field): Subject {
  return valueSubject(field.type, [field.alias], fieldValue(field), operatorsOf(field.type));
}

function fieldValue(field: Field): Value {
  const { sql: value, equals } = fieldExpression(field);
  return { sql: value, kind: kindOf(field.type), equals };
}

/** Any company of the contact will do; what is asked to be different also is where there is no company. */
function companySubject(field: Field): Subject {
  const value = fieldValue(field);
  const from = sql`company_contacts cc join companies co on co.id = cc.company_id where cc.contact_id = c.id`;
  return {
    type: field.type,
    operators: operatorsOf(field.type),
    reads: ["companies", companyRead(field.alias)],
    compare(operator, operand, today) {
      const { predicate, isDaily } = compare(value, operator, operand, today);
      const some = sql`exists (select from ${from} and ${predicate})`;
      if (!counterpartOf(operator)) return { predicate: some, isDaily };
      return { predicate: sql`(${some} or not exists (select from ${from}))`, isDaily };
    },
    left: leftOf(from, value.sql),
  };
}

/** How a field of companies is named among what segments read. */
export function companyRead(alias: string): string {
  return `company:${alias}`;
}

function columnSubject(name: string, type: string, kind: ValueKind, operators?: ReadonlySet<string>) {
  return [name, valueSubject(type, [name], { sql: sql.ref(`c.${name}`), kind }, operators)] as const;
}

const COLUMNS = new Map<string, Subject>([
  columnSubject("date_added", "date", "date"),
  columnSubject("date_identified", "date", "date"),
  columnSubject("last_active", "datetime", "datetime"),
  columnSubject("date_modified", "datetime", "datetime"),
  columnSubject("points", "number", "number"),
  columnSubject("owner_id", "lookup_id", "number", REFERENCE_OPERATORS),
  [
    "stage",
    valueSubject("stage", ["stage_id"], { sql: sql`c.stage_id`, kind: "number" }, REFERENCE_OPERATORS),
  ],
]);

function doNotContact({ channel, reason }: { channel: string; reason: number }): Subject {
  const path = sql`c.do_not_contact #>> ${sql.lit(`{${channel},reason}`)}`;
  const value = sql`coalesce((${path}) = ${sql.lit(String(reason))}, false)`;
  return valueSubject("boolean", ["do_not_contact"], { sql: value, kind: "boolean" });
}

const SETS = new Map<string, Subject>([
  [
    "tags",
    setSubject({
      type: "tags",
      reads: ["tag_ids"],
      hasOne: (ids) => constantly(sql`(c.tag_ids && ${idsOf(ids)}::integer[])`),
      hasAny: sql`(c.tag_ids <> '{}')`,
      left: sql`to_json(c.tag_ids)`,
    }),
  ],
  ...[...DO_NOT_CONTACT].map(([field, block]) => [field, doNotContact(block)] as const),
]);
