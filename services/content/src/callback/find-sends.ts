import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";

/** The contact of an event, and the send where it is known which one. */
export interface Found {
  contactId: number;
  /** Undefined where the contact got several messages of late. */
  send: Row | undefined;
}

/** The parts of an event that name a send. */
interface Named {
  /** The name of the send; undefined where only the address is known. */
  hash: string | undefined;
  /** Empty where the provider keeps it to itself. */
  address: string;
}

interface Ledger {
  table: "sends" | "text_sends";
  /** The address of a send `s`, as an index has it. */
  address: string;
  /** The column of the email or text message. */
  item: string;
  /** More columns of a send that is found. */
  columns: string;
  /** An address in the form in which two of them are the same. */
  formOf(address: string): string;
}

/** Older messages are not meant by an event that names an address alone. */
const RECENT_DAYS = 7;
/** Enough to see that an address belongs to more than one contact. */
const OF_AN_ADDRESS_MAX = 20;

/** Finds the sends that events are about, by the events' places. */
export type FindSends = (transaction: Transaction, events: Named[]) => Promise<(Found | undefined)[]>;

/**
 * Finds the sends of a ledger that events are about: by the name of the send, or else by an address that had a message within 7 days. An
 * address of several contacts is nobody's. A copy for somebody else is no news of the contact.
 */
export function sendFinder({ table, address, item, columns, formOf }: Ledger): FindSends {
  const byAddressStatement = prepared(
    `${table}_by_address`,
    `select a.address, min(s.contact_id) as contact_id, min(s.contact_id) = max(s.contact_id) as is_one_contact, case when count(*) = 1 then min(s.hash::text) end as hash
     from unnest($1::text[]) as a (address)
     cross join lateral (select contact_id, hash from ${table} s
       where ${address} = a.address and s.state in ('sent', 'unknown') and s.started_at > now() - interval '${RECENT_DAYS} days'
       order by s.id desc limit ${OF_AN_ADDRESS_MAX}) s
     group by a.address`,
  );
  /** Locked in the order in which opens lock them. */
  const lockStatement = prepared(
    `${table}_of_feedback`,
    `select hash, contact_id, ${item}, address, state, ${columns} from ${table} where hash = any($1::uuid[]) order by id + 0 for update`,
  );
  const isTo = (send: Row, to: string) => to === "" || !send.address || formOf(send.address) === formOf(to);
  return async (transaction, events) => {
    const unnamed = events.filter(({ hash }) => hash === undefined);
    const addresses = [...new Set(unnamed.map((event) => event.address.toLowerCase()))];
    const byAddress = await rowsBy(transaction, byAddressStatement, "address", addresses);
    const hashes = [...events, ...byAddress.values()].flatMap(({ hash }) => hash ?? []);
    const sends = await rowsBy(transaction, lockStatement, "hash", [...new Set(hashes)]);
    return events.map(({ hash, address: to }) => {
      if (hash === undefined) {
        const found = byAddress.get(to.toLowerCase());
        if (found?.is_one_contact !== "t") return undefined;
        return { contactId: Number(found.contact_id), send: sends.get(found.hash ?? "") };
      }
      const send = sends.get(hash);
      return send && isTo(send, to) ? { contactId: Number(send.contact_id), send } : undefined;
    });
  };
}

async function rowsBy(
  transaction: Transaction,
  statement: Statement,
  column: string,
  keys: string[],
): Promise<ReadonlyMap<string, Row>> {
  const rows = keys.length > 0 ? await transaction.query(statement, [keys]) : [];
  return new Map(rows.map((row) => [row[column] ?? "", row]));
}
