import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { newFactId } from "../visit/hit.ts";
import type { TextChannel } from "./text-channel.ts";

/** One contact who gets one message. */
export interface ChosenText {
  /** The entity that the message is made of. */
  itemId: number;
  contactId: number;
  /** Names why: `direct:<key or uuid>`. A contact gets the entity once for each. */
  occasion: string;
  source: string;
  sourceId: number;
  /** The text as the contact gets it. */
  content: string;
}

/** Chooses contacts for messages. Returns the names of those whose occasion had no send yet, and whose entity is there. */
export type ChooseTexts = (
  transaction: Transaction,
  chosen: ChosenText[],
  now: number,
) => Promise<(string | undefined)[]>;

export function textChooser({ table, items, item, copied }: TextChannel): ChooseTexts {
  const more = Object.entries(copied);
  const statement = prepared(
    `${table}_choose_contacts`,
    `insert into ${table} (${["hash", item, "contact_id, chosen_contact_id, occasion, source, source_id, content", ...more.map(([name]) => name)].join(", ")})
     select ${["r.hash, i.id, r.contact_id, r.contact_id, r.occasion, r.source, r.source_id, r.content", ...more.map(([, sql]) => sql)].join(", ")}
     from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::text[])
       as r (hash, item_id, contact_id, occasion, source, source_id, content)
     join ${items} i on i.id = r.item_id
     order by r.contact_id
     on conflict do nothing returning hash`,
  );
  return async (transaction, chosen, now) => {
    if (chosen.length === 0) return [];
    const hashes = chosen.map(() => newFactId(now).id);
    const rows = await transaction.query(statement, [
      hashes,
      chosen.map(({ itemId }) => itemId),
      chosen.map(({ contactId }) => contactId),
      chosen.map(({ occasion }) => occasion),
      chosen.map(({ source }) => source),
      chosen.map(({ sourceId }) => sourceId),
      chosen.map(({ content }) => content),
    ]);
    const made = new Set(rows.map(({ hash }) => hash));
    return hashes.map((hash) => (made.has(hash) ? hash : undefined));
  };
}
