import { addresses, newsletterTo, segmentOf } from "@tidings/e2e/newsletters";
import { eventually } from "@tidings/testkit/eventually";
import { createApi } from "./api.ts";
import { differencesOf, type MailRow } from "./mail-account.ts";
import { ADMINISTRATOR } from "./release.ts";
import type { World } from "./step.ts";

const PAGE = 500;
/** Other senders take the mails of a killed one when its leases have run out. */
const PATIENCE = { timeoutMs: 240_000, intervalMs: 500 };
const COUNTED = ["sent", "failed", "suppressed", "unknown"] as const;

/** An email to contacts of its own. */
export interface Broadcast {
  /** Begins to send it. Done once the mail server took the first mail. */
  begin(): Promise<void>;
  /** The mails that the mail server took. */
  taken(): number;
  /** Waits until so many more mails are taken, or all of them. */
  more(count: number): Promise<void>;
  /** Waits until it has ended by itself, and settles the ledger against the journal of the mail server. Answers what came out. */
  settle(unknownMax: number): Promise<string>;
}

/** Makes the contacts, whose addresses begin with the name, and the email. */
export async function makeBroadcast(
  { baseUrl, api, mailServer }: World,
  name: string,
  contacts: number,
): Promise<Broadcast> {
  // The call that sends is answered after 20 s: others do not wait for its connection.
  const sender = createApi(baseUrl, { login: ADMINISTRATOR, keepAlive: false });
  const made = async (path: string, body: object) => {
    const answer = await sender("POST", path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  const read = async (path: string) => {
    const answer = await api("GET", path);
    if (answer.status === 200) return answer.body;
    throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  const segment = await segmentOf({ made }, addresses(name, contacts));
  const emailId = await newsletterTo({ made }, [segment.id], { name, subject: name });
  const journal = () =>
    mailServer.taken.flatMap(({ to }) => to).filter((address) => address.startsWith(`${name}-`));
  let sending: Promise<{ send: { id: string } }> | undefined;

  const more = (count: number) => {
    const enough = Math.min(contacts, journal().length + count);
    return eventually(() => {
      if (journal().length < enough) throw new Error(`${journal().length} of ${enough} mails are taken`);
    }, PATIENCE);
  };
  return {
    async begin() {
      sending = made(`emails/${emailId}/send`, {});
      sending.catch(() => undefined); // awaited when it is settled
      await more(1);
    },
    taken: () => journal().length,
    more,
    async settle(unknownMax) {
      const id = (await sending)?.send.id;
      const send = await eventually(async () => {
        const { send } = await read(`emails/${emailId}/sends/${id}`);
        if (send.state !== "finished")
          throw new Error(`the broadcast has not ended: ${JSON.stringify(send)}`);
        return send;
      }, PATIENCE);
      const rows = await rowsOf(read, emailId);
      const differences = differencesOf({ chosen: contacts, unknownMax, rows, journal: journal() });
      for (const state of COUNTED) {
        const count = rows.filter((row) => row.state === state).length;
        if (send[state] !== count) differences.push(`${send[state]} are counted as ${state}, not ${count}`);
      }
      if (send.chosen !== contacts) differences.push(`${send.chosen} are counted as chosen, not ${contacts}`);
      if (differences.length > 0) throw new Error(differences.join(", "));
      const counts = COUNTED.filter((state) => send[state] > 0).map((state) => `${send[state]} ${state}`);
      return `of ${contacts} mails ${counts.join(", ")}; ${journal().length} came, none twice`;
    },
  };
}

/** Every row of an email in the ledger. */
// biome-ignore lint/suspicious/noExplicitAny: as `Answer.body`
async function rowsOf(read: (path: string) => Promise<any>, emailId: number): Promise<MailRow[]> {
  const rows: MailRow[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const page: { sends: MailRow[]; next: string | null } = await read(
      `sends?emailId=${emailId}&limit=${PAGE}&after=${after}`,
    );
    rows.push(...page.sends);
    after = page.next;
  }
  return rows;
}
