import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import { LIST } from "./send-tables.ts";

/** Contacts that were chosen already, and the last of them where there may be more; 0 where these are all. */
export interface ChosenBehind {
  chosenContactIds: number[];
  upTo: number;
}

const CHOSEN_MAX = 20_000;

/**
 * SQL: has the ledger a send `s` to segments for which a condition holds? It is asked for each recipient, by the index that the condition names. Another one would read
 * all sends of an email each time, and serves as well in a plan that was made while the ledger was empty: `|| ''` and `+ 0` keep those out.
 */
export function isChosenAs(table: "sends" | "text_sends", condition: string): string {
  return `(select true from ${table} s where ${condition} and s.occasion || '' = '${LIST}' limit 1) is not null`;
}

/** Reads from a ledger the next contacts behind one that have what was sent to segments, by the column `of` that says what that was. */
export function chosenReader(table: "sends" | "text_sends", of: "family_id" | "sms_id") {
  const statement = prepared(
    `${table}_chosen_behind`,
    `select array_to_json(array(
       select chosen_contact_id from ${table} where ${of} = $1 and occasion = '${LIST}' and chosen_contact_id > $2
       order by chosen_contact_id limit $3)) as ids`,
  );
  return async (database: Database, id: number, after: number, deadlineMs: number): Promise<ChosenBehind> => {
    const [row] = await queryByIndex(database, statement, [id, after, CHOSEN_MAX], deadlineMs);
    const chosenContactIds: number[] = JSON.parse(row?.ids ?? "[]");
    return { chosenContactIds, upTo: chosenContactIds[CHOSEN_MAX - 1] ?? 0 };
  };
}
