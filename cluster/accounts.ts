import { eventually, type Patience } from "@tidings/testkit/eventually";
import { type Receiver, startReceiver } from "@tidings/testkit/receiver";
import type { Api } from "./api.ts";
import { NODE } from "./cluster.ts";
import type { Ledger } from "./load.ts";

const NEW = "svc.lead_post_save_new";
const PAGE = 500;
/** A delivery that a killed process had in its hands is made again when its lease has run out. */
const DELIVERY_PATIENCE = { timeoutMs: 120_000, intervalMs: 500 };

/** The account of all writes that were answered 2xx. */
export interface Account {
  kept: number;
  /** Contacts that are not there, and points that are missing. */
  lost: number;
  /** Contacts that are there twice, and points that nobody gave. */
  doubled: number;
  /** Contacts whose creation had no delivery. */
  untold: number;
  /** Contacts whose creation had deliveries of more than one id: a receiver takes them for two contacts. */
  toldTwice: number;
  /** Deliveries that came again under their id, as is allowed. */
  repeated: number;
}

/** The receiver of a webhook for each new contact. */
export interface Listener {
  /** Where deliveries go. */
  url: string;
  /** By the id of the contact: the ids of the deliveries about it, as often as they came. */
  told(): Map<number, string[]>;
  stop(): Promise<void>;
}

/** Starts a receiver on the node and makes a webhook for new contacts. */
export async function listen(api: Api): Promise<Listener> {
  const receiver: Receiver = await startReceiver({ host: NODE.RECEIVER_IP });
  const hook = { name: "All that is new", webhookUrl: receiver.url, triggers: [NEW] };
  const { status, body } = await api("POST", "hooks/new", hook);
  if (status !== 201) throw new Error(`The webhook was not made: ${status} ${JSON.stringify(body)}`);
  return {
    url: receiver.url,
    told() {
      const told = new Map<number, string[]>();
      for (const { headers, body } of receiver.requests)
        for (const { contact } of JSON.parse(body)[NEW])
          told.set(contact.id, [...(told.get(contact.id) ?? []), String(headers["webhook-id"])]);
      return told;
    },
    stop: receiver.stop,
  };
}

/** Looks for everything that a load wrote. Waits, within `patience`, for deliveries that are still to come. */
export async function account(
  api: Api,
  ledger: Ledger,
  listener: Pick<Listener, "told">,
  patience: Patience = DELIVERY_PATIENCE,
): Promise<Account> {
  const found = await contactsOf(api, ledger.name);
  let lost = 0;
  let doubled = 0;
  for (const [email, { id, points, uncertainPoints }] of ledger.kept) {
    const contacts = found.get(email) ?? [];
    const contact = contacts.find((candidate) => candidate.id === id);
    if (!contact || contact.points < points) lost += 1;
    if (contacts.length > 1 || (contact && contact.points > points + uncertainPoints)) doubled += 1;
  }
  for (const email of ledger.uncertain) if ((found.get(email) ?? []).length > 1) doubled += 1;
  return { kept: ledger.kept.size, lost, doubled, ...(await tellings(ledger, listener, patience)) };
}

async function tellings(ledger: Ledger, listener: Pick<Listener, "told">, patience: Patience) {
  const ids = [...ledger.kept.values()].map(({ id }) => id);
  const untold = () => {
    const told = listener.told();
    return ids.filter((id) => !told.has(id)).length;
  };
  await eventually(() => {
    if (untold() > 0) throw new Error(`${untold()} contacts are not told of`);
  }, patience).catch(() => undefined); // counted below
  const told = listener.told();
  const deliveries = ids.map((id) => told.get(id) ?? []);
  return {
    untold: untold(),
    toldTwice: deliveries.filter((ids) => new Set(ids).size > 1).length,
    repeated: deliveries.reduce((sum, ids) => sum + ids.length - new Set(ids).size, 0),
  };
}

/** All contacts whose address begins so, by address. */
async function contactsOf(api: Api, name: string): Promise<Map<string, { id: number; points: number }[]>> {
  const found = new Map<string, { id: number; points: number }[]>();
  const where = `where[0][col]=email&where[0][expr]=like&where[0][val]=${encodeURIComponent(`${name}-%`)}`;
  for (let start = 0; ; start += PAGE) {
    const { status, body } = await api("GET", `contacts?${where}&orderBy=id&start=${start}&limit=${PAGE}`);
    if (status !== 200) throw new Error(`The contacts cannot be read: ${status} ${JSON.stringify(body)}`);
    const contacts: { id: number; points: number; fields: { all: { email: string } } }[] = Object.values(
      body.contacts,
    );
    for (const { id, points, fields } of contacts)
      found.set(fields.all.email, [...(found.get(fields.all.email) ?? []), { id, points }]);
    if (contacts.length < PAGE) return found;
  }
}
