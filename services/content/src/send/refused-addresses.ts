/** SQL of a migration: mailboxes and numbers whose readers said no here, as hashes. `contact_id` is 0 where the contact is not known. */
export const REFUSED_ADDRESSES = [
  `create table refused_addresses (
    channel text not null, address_hash bytea not null, contact_id integer not null, reason smallint not null, date_added timestamptz not null default now(),
    primary key (channel, address_hash, contact_id))`,
  "create index refused_addresses_of_contact on refused_addresses (contact_id)",
];

/** SQL: the hash of an address, however it is capitalised. */
export function addressHash(address: string): string {
  return `sha256(convert_to(lower(${address}), 'UTF8'))`;
}

/** SQL: why somebody with the address of this expression said no here on a channel, another SQL expression; null where nobody did. */
export function reasonOfAddress(address: string, channel: string): string {
  return `(select min(r.reason) from refused_addresses r where ${isOf(address, channel)})`;
}

/** SQL: did a contact with the address of this expression say no here on a channel, another SQL expression? False where there is no address. */
export function refusesAddress(address: string, channel: string): string {
  return `exists (select from refused_addresses r where ${isOf(address, channel)})`;
}

function isOf(address: string, channel: string): string {
  return `r.channel = ${channel} and r.address_hash = ${addressHash(address)}`;
}
