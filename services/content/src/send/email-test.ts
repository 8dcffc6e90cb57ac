import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { type EmailTest, EmailTestSchema } from "@tidings/proto/tidings/content/v1/variant_test";
import { measureTest, type TestStatements } from "../family/measure-test.ts";
import { VARIANTS_MAX } from "../family/tested-variants.ts";
import { SendState } from "./send-tables.ts";

/** Mails that rates are made of, of all variants of a test together: the latest ones. */
const MAILS_MAX = 200_000;

const variantsStatement = prepared(
  "emails_tested",
  `with root as (select coalesce(variant_parent_id, id) as id from emails where id = $1)
   select e.id, e.name, e.is_published, e.variant_settings, e.variant_start_date, e.created_by, e.id = root.id as is_parent
   from emails e, root where e.id = root.id or e.variant_parent_id = root.id
   order by e.variant_parent_id nulls first, e.id limit ${VARIANTS_MAX}`,
);

/** SQL: whether the reader of a send `s` did what a criterion counts. Opens and clicks of machines are none. */
const DONE = new Map([
  ["email.openrate", "s.is_read"],
  [
    "email.clickthrough",
    `exists (select from page_hits h where h.contact_id = s.contact_id and h.email_id = s.email_id
      and h.date_hit >= s.date_sent and h.verdict <> 'machine')`,
  ],
]);

function rateStatement(name: string, done: string) {
  return prepared(
    `emails_test_${name}`,
    `select v.id, count(s.id) as sent, avg((${done})::integer) filter (where s.id is not null) as rate
     from unnest((select $1::integer[])::integer[]) as v (id)
     left join lateral (
       select s.* from emails e cross join lateral (
         select id, email_id, contact_id, is_read, date_sent from sends where email_id = e.id and state = '${SendState.SENT}' order by id desc limit $3) s
       where (e.id = v.id or e.translation_parent_id = v.id) and s.date_sent >= $2::timestamptz) s on true
     group by v.id`,
  );
}

const STATEMENTS: TestStatements = {
  members: variantsStatement,
  rates: new Map(
    [...DONE].map(([criterion, done]) => [criterion, rateStatement(criterion.replace(".", "_"), done)]),
  ),
  counts: rateStatement("sent", "null::boolean"),
  rowsMax: MAILS_MAX,
};

/** How the test stands that an email takes part in: the email alone where it is in none. */
export async function readEmailTest(source: Queryable, id: number): Promise<EmailTest> {
  const { head, variants, winners } = await measureTest(source, id, STATEMENTS);
  return create(EmailTestSchema, {
    ...head,
    variants: variants.map(({ row, measured, ...variant }) => ({
      ...variant,
      name: row.name ?? "",
      sent: Number(measured?.sent ?? 0),
    })),
    winners,
  });
}

/** The email that the rest of a send gets: the winner of the test, of several the email itself or else the first; the email itself without a winner. */
export function winnerOf({ winners, variants }: Pick<EmailTest, "winners" | "variants">): number | undefined {
  const root = variants[0]?.id;
  return root === undefined || winners.includes(root) ? root : (winners[0] ?? root);
}
