import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { chooseTranslation } from "../family/choose-translation.ts";
import { isOpen } from "../family/is-open.ts";
import { furthestBelow, weightIn, weightOfParent } from "../family/variant-weight.ts";

/** A member of the family of an email, as its recipients are chosen for it. */
interface Member {
  id: number;
  language: string;
  translations: Member[];
  /** Its share in percent, and the recipients it has so far. */
  weight: number;
  chosen: number;
}

/** The email itself, its open variants, and the open translations of them all. */
const familyStatement = prepared(
  "emails_sent_family",
  `with variant as (
     select e.* from emails e where e.id = $1::integer or e.variant_parent_id = $1::integer and ${isOpen("e")}
   )
   select e.id, e.language, e.variant_settings, e.variant_parent_id, e.translation_parent_id, e.variant_start_date
   from emails e where e.id in (select id from variant)
   union all
   select e.id, e.language, e.variant_settings, null, e.translation_parent_id, null
   from emails e join variant v on e.translation_parent_id = v.id where ${isOpen("e")}
   order by id`,
);
/** Counts begin anew with a test. The rows are the lock: two choices for one test follow each other. */
const countsStatement = prepared(
  "variant_choices_hold",
  `insert into variant_choices as c (email_id, since) select id, $2::timestamptz from unnest($1::integer[]) as v (id) order by id
   on conflict (email_id) do update set since = excluded.since,
     chosen = case when c.since is not distinct from excluded.since then c.chosen else 0 end
   returning email_id, chosen`,
);
const countStatement = prepared(
  "variant_choices_count",
  `update variant_choices c set chosen = c.chosen + v.chosen
   from unnest($1::integer[], $2::integer[]) as v (email_id, chosen) where c.email_id = v.email_id`,
);

/**
 * The email that each recipient gets, in their order (engines.md 6.8 and 6.3): of an A/B test the variant that is furthest below its share so far, exact
 * over any number of small sends; of that one the translation into the language of the recipient.
 */
export async function assignEmails(
  transaction: Transaction,
  emailId: number,
  recipients: { locale: string }[],
): Promise<number[]> {
  const rows = await transaction.query(familyStatement, [emailId]);
  const variants = rows.filter(
    (row) => Number(row.id) === emailId || Number(row.variant_parent_id) === emailId,
  );
  const members = variants
    .map((row) => memberOf(row, rows))
    .toSorted((one, other) => Number(other.id === emailId) - Number(one.id === emailId));
  const [root, ...others] = members;
  if (!root) return [];
  root.weight = weightOfParent(others.map(({ weight }) => weight));
  if (others.length > 0)
    await holdCounts(
      transaction,
      members,
      rows.find((row) => Number(row.id) === emailId),
    );
  const before = members.map(({ chosen }) => chosen);
  const assigned = recipients.map(({ locale }) => {
    const member =
      members[furthestBelow(members.map(({ weight, chosen }) => ({ weight, count: chosen })))] ?? root;
    member.chosen += 1;
    const translation = locale ? chooseTranslation(member, member.translations, [locale]) : undefined;
    return (translation ?? member).id;
  });
  if (others.length > 0) {
    const more = members.map(({ chosen }, index) => chosen - (before[index] ?? 0));
    transaction.execute(countStatement, [members.map(({ id }) => id), more]);
  }
  return assigned;
}

function memberOf(row: Row, rows: Row[]): Member {
  const translations = rows.filter((other) => other.translation_parent_id === row.id);
  return {
    id: Number(row.id),
    language: row.language ?? "",
    translations: translations.map((other) => memberOf(other, [])),
    weight: weightIn(Buffer.from(row.variant_settings ?? "[]")),
    chosen: 0,
  };
}

async function holdCounts(transaction: Transaction, members: Member[], root: Row | undefined): Promise<void> {
  const values = [members.map(({ id }) => id), root?.variant_start_date ?? null];
  for (const { email_id, chosen } of await transaction.query(countsStatement, values)) {
    const member = members.find(({ id }) => id === Number(email_id));
    if (member) member.chosen = Number(chosen);
  }
}
