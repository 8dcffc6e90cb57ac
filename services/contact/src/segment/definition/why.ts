import { create } from "@bufbuild/protobuf";
import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import {
  type ExplainSegmentContactResponse,
  ExplainSegmentContactResponseSchema,
  FilterVerdictSchema,
} from "@tidings/proto/tidings/contact/v1/segment";
import { sql } from "kysely";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { compileDefinition, type Definition, type DefinitionMap, midnight } from "./definitions.ts";
import { compileEach } from "./predicate.ts";

export interface Question {
  catalogue: FieldCatalogue;
  contactId: number;
  /** The segments that may be named to the caller. */
  mayName(id: number): boolean;
  deadlineMs: number;
}

/** Why a contact is in a segment or not: the same SQL that decides it, once for each filter. */
export async function explain(
  database: Database,
  definition: Definition,
  definitions: DefinitionMap,
  { catalogue, contactId, mayName, deadlineMs }: Question,
): Promise<ExplainSegmentContactResponse> {
  const { compiled, problem } = compileDefinition(definition, definitions, catalogue);
  const known = (id: number) =>
    mayName(id) || definition.filters.some(({ filter }) => [filter].flat().includes(id));
  const scope = {
    catalogue,
    segments: definitions,
    segmentId: definition.id,
    today: midnight(),
    mayName: known,
  };
  const parts = problem === undefined ? compileEach(definition.filters, scope) : [];
  const verdicts = parts.flatMap(({ predicate, left }, index) => [
    sql`(${predicate}) is true as ${sql.ref(`verdict_${index}`)}`,
    sql`${left} as ${sql.ref(`left_${index}`)}`,
  ]);
  const { text, values } = compileSql(sql`
    select ${sql.join([
      sql`(${compiled?.predicate ?? sql`false`}) is true as is_matched`,
      sql`coalesce(m.manually_added, false) as manually_added`,
      sql`coalesce(m.manually_removed, false) as manually_removed`,
      sql`(m.contact_id is not null and not m.manually_removed) as is_member`,
      ...verdicts,
    ])}
    from contacts c left join segment_contacts m on m.contact_id = c.id and m.segment_id = ${definition.id}::integer
    where c.id = ${contactId}::integer`);
  const [row = {}] = await database.query({ text }, values, deadlineMs);
  return create(ExplainSegmentContactResponseSchema, {
    isMember: row.is_member === "t",
    isMatched: row.is_matched === "t",
    manuallyAdded: row.manually_added === "t",
    manuallyRemoved: row.manually_removed === "t",
    filters: parts.map((_part, index) => verdictOf(row, index, definition)),
    ...(problem !== undefined && { problem }),
  });
}

function verdictOf(row: Row, index: number, { filters }: Definition) {
  return create(FilterVerdictSchema, {
    filter: Buffer.from(JSON.stringify(filters[index])),
    left: Buffer.from(row[`left_${index}`] ?? "null"),
    isMatched: row[`verdict_${index}`] === "t",
  });
}
