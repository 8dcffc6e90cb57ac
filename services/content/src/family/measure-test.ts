import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Row, Statement } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Queryable } from "@tidings/database/transaction";
import { criterionOf, rateOf, weightOf } from "./tested-variants.ts";
import { type WinnerCriterion, winnersOf } from "./winner.ts";

/** The statements by which a test of a kind of resource is measured. */
export interface TestStatements {
  /** The members of the test of $1, the parent first. */
  members: Statement;
  /** Visits or mails of the variants $1 since $2, with a rate, each by at most $3 rows. */
  rates: ReadonlyMap<string, Statement>;
  /** The same without a rate, where no criterion is named. */
  counts: Statement;
  /** Rows that rates are made of, of all variants together: the latest ones. */
  rowsMax: number;
}

export interface MeasuredTest {
  /** Both are absent where there are none: members of a message. */
  head: { winnerCriteria?: WinnerCriterion; variantStartDate?: Timestamp };
  variants: MeasuredVariant[];
  /** The published variants with the best rate. */
  winners: number[];
}

export interface MeasuredVariant {
  id: number;
  isPublished: boolean;
  /** In percent. */
  weight: number;
  rate?: number;
  row: Row;
  /** Undefined where nothing is tested yet. */
  measured: Row | undefined;
}

/** How the test stands that a resource takes part in: the resource alone where it is in none. */
export async function measureTest(
  { query }: Queryable,
  id: number,
  { members, rates, counts, rowsMax }: TestStatements,
): Promise<MeasuredTest> {
  const rows = await query(members, [id]);
  const startedAt = rows[0]?.variant_start_date ?? undefined;
  const winnerCriteria = criterionOf(rows);
  const statement = rates.get(winnerCriteria ?? "") ?? counts;
  const each = Math.ceil(rowsMax / Math.max(1, rows.length));
  const ids = rows.map((row) => Number(row.id));
  const measured = startedAt === undefined ? [] : await query(statement, [ids, startedAt, each]);
  const byId = new Map(measured.map((row) => [row.id, row]));
  const variants = rows.map((row) => ({
    ...{ id: Number(row.id), isPublished: row.is_published === "t", weight: weightOf(row, rows) },
    ...rateOf(byId.get(row.id)),
    ...{ row, measured: byId.get(row.id) },
  }));
  return {
    head: {
      ...(winnerCriteria && { winnerCriteria }),
      ...(startedAt !== undefined && { variantStartDate: timestampFromText(startedAt) }),
    },
    variants,
    winners: winnerCriteria
      ? winnersOf(
          winnerCriteria,
          variants.filter(({ isPublished }) => isPublished),
        )
      : [],
  };
}
