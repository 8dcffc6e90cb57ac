import { type Database, prepared } from "@tidings/database/database";

const DIGITS = 7;
const FOUND_MAX = 1_000;

/** SQL: the last digits of a number, however it is written: people write it with and without the code of their country. */
const lastDigits = (column: string) => `right(regexp_replace(${column}, '[^0-9]', '', 'g'), ${DIGITS})`;
const isNumber = (column: string) => `${column} is not null and ${column} <> ''`;

/** SQL of a migration: contacts are found by their numbers. */
export const NUMBER_INDEXES = ["mobile", "phone"].map(
  (column) =>
    `create index contacts_${column}_digits on contacts (${lastDigits(column)}) where ${isNumber(column)}`,
);

const ofColumn = (column: string) =>
  `(select id, mobile, phone from contacts where ${isNumber(column)} and ${lastDigits(column)} = $1 order by id limit ${FOUND_MAX})`;
const findStatement = prepared(
  "contacts_find_by_number",
  `select id, mobile, phone from (${ofColumn("mobile")} union ${ofColumn("phone")}) as found order by id limit ${FOUND_MAX}`,
);

/** Contacts whose mobile or phone ends as a number does. None for a number that is too short to belong to somebody. */
export async function findByNumber(
  database: Database,
  number: string,
  deadlineMs: number,
): Promise<{ contactId: number; numbers: string[] }[]> {
  const digits = number.replace(/\D/g, "");
  if (digits.length < DIGITS) return [];
  const rows = await database.query(findStatement, [digits.slice(-DIGITS)], deadlineMs);
  return rows.map(({ id, mobile, phone }) => ({
    contactId: Number(id),
    numbers: [mobile, phone].filter((one) => one != null),
  }));
}
