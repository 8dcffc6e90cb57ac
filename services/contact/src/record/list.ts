import { create } from "@bufbuild/protobuf";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { type ListSource, listPage, type Page } from "@tidings/resource/list";
import type { TotalByColumn } from "@tidings/resource/totals-by-column";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import type { FieldCatalogue, FieldContext } from "../field/catalogue.ts";
import { visibleRecords } from "./reach.ts";

/**
 * A page of records and the catalogue to write it with. A query that is refused may name a field that another replica
 * added a moment ago: it is tried again with the catalogue as of now.
 */
export async function listRecords(
  { database, catalogues }: FieldContext,
  query: ListQuery | undefined,
  call: Call,
  options: { owner: string; total: TotalByColumn; source(catalogue: FieldCatalogue): ListSource },
): Promise<{ page: Page; catalogue: FieldCatalogue }> {
  const asked = query ?? create(ListQuerySchema);
  const list = (catalogue: FieldCatalogue) =>
    listPage(
      database,
      options.source(catalogue),
      asked,
      visibleRecords(call, options.owner, options.total),
      call,
    );
  const current = await catalogues.current();
  const page = await list(current).catch(async (error) => {
    const isRefused = error instanceof Fault && error.code === Code.INVALID_ARGUMENT;
    const latest = isRefused ? await catalogues.latest() : current;
    if (latest === current) throw error;
    return list(latest);
  });
  const revision = Number(page.rows[0]?.field_revision ?? 0);
  return { page, catalogue: await catalogues.atLeast(revision) };
}
