import assert from "node:assert/strict";

/** A plain model of one family of emails: what was done to it, and which ledger and which mails are allowed after that. */

/** When something was asked for, and when its answer came, in milliseconds since 1970. */
export interface Span {
  from: number;
  to: number;
}

export interface ModelContact {
  id: number;
  address: string;
  /** Do-not-contact entries, and unsubscribes by a link in a mail. */
  refused: (Span & { by: "entry" | "link" })[];
  /** The contact that it was merged into. */
  mergedInto?: ModelContact;
  /** When the answer to the merge came. */
  mergedAt?: number;
}

export interface ModelEmail {
  id: number;
  made: Span;
  subjects: (Span & { subject: string })[];
}

export interface Control extends Span {
  action: "pause" | "resume" | "cancel";
}

export interface Model {
  contacts: ModelContact[];
  emails: ModelEmail[];
  /** Pauses, resumes and cancels of each broadcast, by its id. */
  controls: Map<string, Control[]>;
  /** The most recipients of a broadcast. */
  limits: Map<string, number>;
}

/** A row of the ledger, as the database has it. */
export interface LedgerRow {
  id: string;
  emailId: number;
  contactId: number;
  chosenContactId: number;
  broadcastId: string;
  address: string;
  state: string;
  keptSubject: string;
  queuedAt: number;
  startedAt: number | undefined;
}

/** A mail that the mail server took. */
export interface ModelMail {
  address: string;
  subject: string;
  begunAt: number;
}

/** An answer of the contact service is good for so long (decision 59). */
const GOOD_MS = 1_000;
/** Clocks are read in whole milliseconds. */
const ROUNDED_MS = 1;
/** From the start of a transaction that chooses to the statement that reads the email, on a busy machine. */
const CHOOSING_MS = 10_000;
/** From the commit of a start to the first octet of the mail as the mail server reads it, likewise. */
const ON_ITS_WAY_MS = 5_000;
/** From a no or a merge, until both are known to a process that follows the contact service, likewise. */
const FOLLOWED_MS = 5_000;

export const isGone = (address: string) => address.startsWith("gone");

/** Throws unless the ledger and the journal of the mail server are allowed by the model. */
export function assertAllowed(model: Model, rows: LedgerRow[], mails: ModelMail[]): void {
  assertOnce(rows, mails);
  for (const row of rows) {
    assertRow(model, row);
    assertControls(model, row);
    const mail = mails.find(({ address }) => address === row.address);
    if (mail) assertMail(model, row, mail);
  }
  for (const [id, limit] of model.limits)
    assert.ok(rows.filter(({ broadcastId }) => broadcastId === id).length <= limit, `limit of ${id}`);
  for (const contact of model.contacts) assertReached(contact, model, rows);
}

/** Each address has one row and at most one mail, and a mail if and only if its row says so. */
function assertOnce(rows: LedgerRow[], mails: ModelMail[]): void {
  const addresses = rows.map(({ address }) => address);
  assert.equal(new Set(addresses).size, addresses.length, "an address has two rows");
  const chosen = rows.map(({ chosenContactId }) => chosenContactId);
  assert.equal(new Set(chosen).size, chosen.length, "a contact has two rows");
  const sent = rows.filter(({ state }) => state === "sent").map(({ address }) => address);
  assert.deepEqual(mails.map(({ address }) => address).toSorted(), sent.toSorted());
}

/** The state of a row has its reason in what was done. */
function assertRow({ contacts, controls }: Model, row: LedgerRow): void {
  const contact = contacts.find(({ id }) => id === row.chosenContactId);
  assert.ok(contact, `nobody made contact ${row.chosenContactId}`);
  const wasCancelled = controls.get(row.broadcastId)?.some(({ action }) => action === "cancel") ?? false;
  const person = personOf(contact, contacts);
  const mayRefuse = person.length > 1 || person.some(({ refused }) => refused.length > 0);
  const allowed = [
    isGone(row.address) ? "failed" : "sent",
    ...(wasCancelled ? ["cancelled"] : []),
    ...(mayRefuse ? ["suppressed"] : []),
    // The contact was gone before its mail was written.
    ...(contact.mergedInto ? ["failed"] : []),
  ];
  assert.ok(allowed.includes(row.state), `${row.address} is ${row.state}: ${allowed}`);
}

/** No mail begins between a pause and the next resume, nor after a cancel. */
function assertControls({ controls }: Model, { broadcastId, startedAt, address }: LedgerRow): void {
  if (startedAt === undefined) return;
  const done = controls.get(broadcastId) ?? [];
  for (const { action, to } of done.filter(({ action }) => action !== "resume")) {
    const resumed = done
      .filter((other) => action === "pause" && other.action !== "pause" && other.to > to)
      .map(({ from }) => from);
    const isHeld = startedAt > to + ROUNDED_MS && startedAt < Math.min(...resumed, Number.POSITIVE_INFINITY);
    assert.ok(!isHeld, `${address} was started after a ${action}`);
  }
}

/** A mail has the subject that its email had when its recipient was chosen, and none begins after a no. */
function assertMail({ contacts, emails }: Model, row: LedgerRow, mail: ModelMail): void {
  assert.equal(mail.subject, row.keptSubject, `${row.address} got another revision`);
  const email = emails.find(({ id }) => id === row.emailId);
  assert.ok(email && email.made.from <= row.queuedAt + CHOOSING_MS, `no email ${row.emailId}`);
  const { queuedAt, startedAt = 0 } = row;
  const subjects = email.subjects.filter(({ from }, index) => {
    const until = email.subjects[index + 1]?.to ?? Number.POSITIVE_INFINITY;
    return from <= queuedAt + CHOOSING_MS && until + ROUNDED_MS >= queuedAt;
  });
  assert.ok(
    subjects.some(({ subject }) => subject === mail.subject),
    `${mail.subject} was no subject of email ${row.emailId} then`,
  );
  const contact = contacts.find(({ id }) => id === row.chosenContactId);
  assert.ok(mail.begunAt < startedAt + ON_ITS_WAY_MS, `${row.address} was on its way for long`);
  for (const { by, to } of contact?.refused ?? [])
    assert.ok(startedAt <= to + ROUNDED_MS + (by === "entry" ? GOOD_MS : 0), `${row.address} said no`);
  if (contact) assertHeard(personOf(contact, contacts), row);
}

/** A no of one contact is that of all contacts that became one with it, once the merges are known everywhere. */
function assertHeard(person: ModelContact[], { startedAt = 0, address }: LedgerRow): void {
  const merged = Math.max(...person.map(({ mergedAt = 0 }) => mergedAt));
  for (const { to } of person.flatMap(({ refused }) => refused))
    assert.ok(startedAt <= Math.max(to, merged) + FOLLOWED_MS, `${address} said no as another contact`);
}

/** Each person has a row in the end, unless they said no. Its rows are those of the contact that is left. */
function assertReached(contact: ModelContact, { contacts }: Model, rows: LedgerRow[]): void {
  if (contact.mergedInto) return;
  const person = personOf(contact, contacts);
  const ids = new Set(person.map(({ id }) => id));
  const own = rows.filter(({ chosenContactId }) => ids.has(chosenContactId));
  for (const { contactId, address } of own) assert.equal(contactId, contact.id, `the contact of ${address}`);
  if (person.every(({ refused }) => refused.length === 0))
    assert.ok(own.length > 0, `${contact.address} was not chosen`);
}

/** All contacts that became one with this one. */
function personOf(contact: ModelContact, contacts: ModelContact[]): ModelContact[] {
  const survivor = survivorOf(contact);
  return contacts.filter((other) => survivorOf(other) === survivor);
}

export function survivorOf(contact: ModelContact): ModelContact {
  return contact.mergedInto ? survivorOf(contact.mergedInto) : contact;
}
