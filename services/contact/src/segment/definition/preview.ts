import { create } from "@bufbuild/protobuf";
import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import { readFilters } from "@tidings/filters/filter";
import {
  type PreviewSegmentResponse,
  PreviewSegmentResponseSchema,
} from "@tidings/proto/tidings/contact/v1/segment";
import type { Call } from "@tidings/rpc/call";
import { type RawBuilder, sql } from "kysely";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { visibleRecords } from "../../record/reach.ts";
import { CONTACT_TOTALS } from "../../rows/totals.ts";
import { type DefinitionMap, midnight } from "./definitions.ts";
import { checkFilters, compileFilters } from "./predicate.ts";

export interface PreviewScope {
  catalogue: FieldCatalogue;
  definitions: DefinitionMap;
  call: Call;
  mayName(id: number): boolean;
}

const CONTACTS_SHOWN = 30;

/** Contacts that filters find, among those that the caller sees. Throws FilterProblem. */
export async function preview(
  database: Database,
  filters: Uint8Array,
  { catalogue, definitions, call, mayName }: PreviewScope,
): Promise<PreviewSegmentResponse> {
  const scope = { catalogue, segments: definitions, segmentId: undefined, today: midnight(), mayName };
  const compiled = compileFilters(checkFilters(readFilters(filters), scope), scope);
  if (!compiled) return create(PreviewSegmentResponseSchema);
  const found = sql`from contacts c where ${visibleRecords(call, "c.owner_id", CONTACT_TOTALS.owner_id)} and ${compiled.predicate}`;
  const run = (query: RawBuilder<unknown>) => {
    const { text, values } = compileSql(query);
    return database.query({ text }, values, call.deadlineMs);
  };
  const [[total], rows] = await Promise.all([
    run(sql`select count(*) as count ${found}`),
    run(sql`select c.id ${found} order by c.id limit ${sql.lit(CONTACTS_SHOWN)}`),
  ]);
  return create(PreviewSegmentResponseSchema, {
    count: Number(total?.count),
    contactIds: rows.map(({ id }) => Number(id)),
  });
}
