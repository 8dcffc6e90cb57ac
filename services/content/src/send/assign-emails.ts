import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Queryable, Transaction } from "@tidings/database/transaction";
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
const holdStatement = prepared(
  "variant_choices_hold",
  `insert into variant_choices as c (email_id, since) select id, $2::timestamptz from unnest($1::integer[]) as v (id) order by id
   on conflict (email_id) do update set since = excluded.since,
     chosen = case when c.since is not distinct from excluded.since then c.chosen else 0 end
   returning email_id, chosen`,
);
const countsStatement = prepared(
  "variant_choices_read",
  `select email_id, chosen from variant_choices where email_id = any ($1::integer[]) and since is not distinct from $2::timestamptz`,
);
const countStatement = prepared(
  "variant_choices_count",
  `update variant_choices c set chosen = c.chosen + v.chosen
   from unnest($1::integer[], $2::integer[]) as v (email_id, chosen) where c.email_id = v.email_id`,
);

/**
 * The email that each recipient gets, in their order (engines.md 6.8 and 6.3): of an A/B test the variant that is furthest below its share so far, exact
 * over any number of small sends; of that one the translation into the language of the recipient. Once the test is decided, the email itself.
 */
export async function assignEmails(
  transaction: Transaction,
  { emailId, isDecided }: { emailId: number; isDecided: boolean },
  recipients: { locale: string }[],
): Promise<number[]> {
  const all = await readMembers(transaction, emailId, holdStatement);
  const members = isDecided ? all.slice(0, 1) : all;
  const before = members.map(({ chosen }) => chosen);
  const assigned = deal(members, recipients);
  if (members.length > 1) {
    const more = members.map(({ chosen }, index) => chosen - (before[index] ?? 0));
    transaction.execute(countStatement, [members.map(({ id }) => id), more]);
  }
  return assigned;
}

/** The emails that these would get if they were chosen now. */
export async function foreseeEmails(
  source: Queryable,
  emailId: number,
  recipients: { locale: string }[],
): Promise<number[]> {
  return deal(await readMembers(source, emailId, countsStatement), recipients);
}

/** The variants with the recipients that they have so far, the email itself first; none for an email that is gone. */
async function readMembers(source: Queryable, emailId: number, counts: Statement): Promise<Member[]> {
  const rows = await source.query(familyStatement, [emailId]);
  const isRoot = (id: number | string | null | undefined) => Number(id) === emailId;
  const members = rows
    .filter(({ id, variant_parent_id }) => isRoot(id) || isRoot(variant_parent_id))
    .map((row) => memberOf(row, rows))
    .toSorted((one, other) => Number(isRoot(other.id)) - Number(isRoot(one.id)));
  const [root, ...others] = members;
  if (!root || others.length === 0) return members;
  root.weight = weightOfParent(others.map(({ weight }) => weight));
  const asked = [members.map(({ id }) => id), rows.find(({ id }) => isRoot(id))?.variant_start_date ?? null];
  for (const { email_id, chosen } of await source.query(counts, asked)) {
    const member = members.find(({ id }) => id === Number(email_id));
    if (member) member.chosen = Number(chosen);
  }
  return members;
}

function deal(members: Member[], recipients: { locale: string }[]): number[] {
  const [root] = members;
  if (!root) return [];
  return recipients.map(({ locale }) => {
    const member =
      members[furthestBelow(members.map(({ weight, chosen }) => ({ weight, count: chosen })))] ?? root;
    member.chosen += 1;
    const translation = locale ? chooseTranslation(member, member.translations, [locale]) : undefined;
    return (translation ?? member).id;
  });
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
