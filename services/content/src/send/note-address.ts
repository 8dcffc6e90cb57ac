import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import { type Claimed, leases } from "@tidings/jobs/queue";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";

interface Addressed {
  send: Claimed;
  address: string;
}

/** Writes the address of a message into its row, where none was chosen with it. */
export type NoteAddress = (send: Claimed & { address: string | undefined }, address: string) => Promise<void>;

/**
 * Notes addresses in a ledger before their sends start: the transaction of a start then also obeys a no that another contact with
 * the address has said here. A row that has an address keeps it. Sends at the same time share a statement.
 */
export function addressNoter(database: Database, table: string): NoteAddress {
  const statement = prepared(
    `${table}_note_address`,
    `update ${table} s set address = n.address from unnest($1::bigint[], $2::integer[], $3::text[]) as n (id, lease_token, address)
     where s.id = n.id and s.lease_token = n.lease_token and s.address is null`,
  );
  const note = coalesce(async (noted: Addressed[]) => {
    const values = [...leases(noted.map(({ send }) => send)), noted.map(({ address }) => address)];
    await queryByIndex(database, statement, values);
  });
  return async (send, address) => {
    if (send.address === undefined) await note(table, { send, address });
  };
}
