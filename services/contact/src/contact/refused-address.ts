/** The number of a contact without what only people read. */
const numberIn = (column: string) => `regexp_replace(${column}, '[^0-9+]', '', 'g')`;
/** Mailboxes and numbers by channel, as SQL of a contact's columns: where a contact gets messages, and where it may. */
const ADDRESSES: Record<string, { of: string; forms: ((row: string) => string)[] }> = {
  email: { of: "c.email", forms: [(row) => `lower(${row}email)`] },
  sms: {
    of: "coalesce(nullif(btrim(c.mobile), ''), nullif(btrim(c.phone), ''))",
    forms: [(row) => numberIn(`${row}mobile`), (row) => numberIn(`${row}phone`)],
  },
};

/** SQL of a migration: refused addresses are found, of contacts that may be many. */
export const REFUSED_ADDRESSES = Object.entries(ADDRESSES).flatMap(([channel, { forms }]) =>
  forms.map(
    (form, index) =>
      `create index contacts_refused_${channel}_${index} on contacts ((${form("")})) where do_not_contact ? '${channel}'`,
  ),
);

/** SQL: the do-not-contact entry, as JSON, of a contact with the address of `c` that refuses a channel; null where none does. */
export function refusedAddress(channel: string): string {
  const addresses = ADDRESSES[channel];
  if (!addresses) return "null::jsonb";
  const { of, forms } = addresses;
  const own = channel === "email" ? `lower(${of})` : numberIn(of);
  const entries = forms.map(
    (form) =>
      `(select t.do_not_contact -> '${channel}' from contacts t
        where t.do_not_contact ? '${channel}' and ${form("t.")} = ${own} and ${own} <> '' limit 1)`,
  );
  return `coalesce(${entries.join(", ")})`;
}

/** SQL: the address at which a contact `c` gets messages of a channel; null where the channel has none. */
export function addressOf(channel: string): string {
  return ADDRESSES[channel]?.of ?? "null";
}
