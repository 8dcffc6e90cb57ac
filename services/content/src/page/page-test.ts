import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { type VariantTest, VariantTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { measureTest, type TestStatements } from "../family/measure-test.ts";
import { VARIANTS_MAX } from "../family/tested-variants.ts";
import type { WinnerCriterion } from "../family/winner.ts";

/** Visits that rates are made of, of all variants of a test together: the latest ones. */
const VISITS_MAX = 200_000;

const variantsStatement = prepared(
  "pages_tested",
  `with root as (select coalesce(variant_parent_id, id) as id from pages where id = $1)
   select p.id, p.title, p.is_published, p.variant_settings, p.variant_start_date, p.id = root.id as is_parent
   from pages p, root where p.id = root.id or p.variant_parent_id = root.id
   order by p.variant_parent_id nulls first, p.id limit ${VARIANTS_MAX}`,
);

/** SQL: within 30 minutes of a visit `h`. A visitor who does nothing for so long is gone. */
function soonAfter(date: string): string {
  return `${date} > h.date_hit and ${date} <= h.date_hit + interval '30 minutes'`;
}

/** SQL: the rate of the visits `h` of a variant `v`. */
const RATES: Record<WinnerCriterion, string> = {
  "page.bouncerate": partOfVisits(`not exists (select from page_hits o where o.contact_id = h.contact_id
    and ${soonAfter("o.date_hit")})`),
  "page.dwelltime": "avg(extract(epoch from h.date_left - h.date_hit))",
  "form.submissions": `(select count(*) from (
      select from form_submissions f where f.page_id = v.id and f.date_submitted >= min(h.date_hit) limit ${VISITS_MAX}) x
    )::double precision / nullif(count(h.id), 0)`,
  "asset.downloads": partOfVisits(`exists (select from asset_downloads d where d.contact_id = h.contact_id
    and ${soonAfter("d.date_download")} and d.code in (200, 302) and d.verdict <> 'machine')`),
  // Nothing that is sent is a page.
  "email.openrate": "null::integer",
  "email.clickthrough": "null::integer",
};

function partOfVisits(condition: string): string {
  return `avg((${condition})::integer) filter (where h.id is not null)`;
}

function visitStatement(criterion: string, rate: string) {
  return prepared(
    `pages_test_${criterion.replace(".", "_")}`,
    `select v.id, count(h.id) as visits, ${rate} as rate from unnest((select $1::integer[])::integer[]) as v (id)
     left join lateral (
       select id, contact_id, date_hit, date_left from page_hits
       where page_id = v.id and date_hit >= $2::timestamptz and code = 200 and verdict <> 'machine'
       order by date_hit desc limit $3) h on true
     group by v.id`,
  );
}

const STATEMENTS: TestStatements = {
  members: variantsStatement,
  rates: new Map(
    Object.entries(RATES).map(([criterion, rate]) => [criterion, visitStatement(criterion, rate)]),
  ),
  counts: visitStatement("visits", "null::integer"),
  rowsMax: VISITS_MAX,
};

/** How the test stands that a page takes part in: the page alone where it is in none. */
export async function readPageTest(source: Queryable, id: number): Promise<VariantTest> {
  const { head, variants, winners } = await measureTest(source, id, STATEMENTS);
  return create(VariantTestSchema, {
    ...head,
    variants: variants.map(({ row, measured, ...variant }) => ({
      ...variant,
      title: row.title ?? "",
      visits: Number(measured?.visits ?? 0),
    })),
    winners,
  });
}
