import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { type Api, createApi } from "./api.ts";
import { ADMINISTRATOR } from "./release.ts";

/** A contact of which the product said that it is there. */
export interface KeptContact {
  id: number;
  /** Points that were added one by one, as far as it was answered. */
  points: number;
  /** Additions of a point that were not answered well: they may have happened. */
  uncertainPoints: number;
}

/** The writes of a load, as far as the product acknowledged them. */
export interface Ledger {
  /** The beginning of all addresses. */
  name: string;
  /** By address. */
  kept: Map<string, KeptContact>;
  /** Addresses whose creation was not answered well: they may be there. */
  uncertain: Set<string>;
}

export interface Failure {
  what: string;
  /** Status or error. */
  answer: string;
}

export interface LoadReport {
  requests: number;
  failures: Failure[];
  /** The latencies of all successful requests, in milliseconds. */
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
  ledger: Ledger;
}

export interface Load {
  /** Waits until so many more requests are answered. */
  more(count: number): Promise<void>;
  /** Done when everything that was asked is answered. */
  stop(): Promise<LoadReport>;
}

export interface LoadOptions {
  /** Unlike that of any other load. */
  name: string;
  baseUrl: string;
  /** Each has one request out at a time. */
  clients?: number;
  /** The pause of a client between an answer and its next request. */
  pauseMs?: number;
}

/**
 * A bounded load through the REST API, which reaches every process: contacts are made, read, changed and given points, and the
 * others are read. Half of the clients keep their connection, half take a new one for each request. Every request is counted, and
 * tried once.
 */
export function startLoad({ name, baseUrl, clients = 6, pauseMs = 50 }: LoadOptions): Load {
  const ledger: Ledger = { name, kept: new Map(), uncertain: new Set() };
  const failures: Failure[] = [];
  const took: number[] = [];
  let stopped = false;

  const work = async (client: number) => {
    const api = createApi(baseUrl, { login: ADMINISTRATOR, keepAlive: client % 2 === 0 });
    const ask: Ask = async (what, expected, ...request) => {
      await pause(pauseMs);
      const startedAt = performance.now();
      const answer = await api(...request).catch((error: NodeJS.ErrnoException) => error);
      if (!(answer instanceof Error) && answer.status === expected) {
        took.push(performance.now() - startedAt);
        return answer.body;
      }
      failures.push({ what, answer: describe(answer) });
      return undefined;
    };
    for (let round = 0; !stopped; round++)
      await oneRound(ask, ledger, `${name}-${client}-${round}@example.com`);
  };
  const working = Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  const answered = () => took.length + failures.length;
  return {
    async more(count) {
      const enough = answered() + count;
      await eventually(
        () => {
          if (answered() < enough) throw new Error(`${answered()} of ${enough} requests are answered`);
        },
        { timeoutMs: 60_000, intervalMs: 50 },
      );
    },
    async stop() {
      stopped = true;
      await working;
      took.sort((one, other) => one - other);
      const at = (share: number) => Math.round(took[Math.floor((took.length - 1) * share)] ?? 0);
      return { requests: answered(), failures, p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), ledger };
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as `Answer.body`
type Ask = (what: string, expected: number, ...request: Parameters<Api>) => Promise<any>;

async function oneRound(ask: Ask, ledger: Ledger, email: string): Promise<void> {
  const made = await ask("make a contact", 201, "POST", "contacts/new", { email });
  if (!made) return void ledger.uncertain.add(email);
  const contact: KeptContact = { id: made.contact.id, points: 0, uncertainPoints: 0 };
  ledger.kept.set(email, contact);
  const path = `contacts/${contact.id}`;
  await ask("read a contact", 200, "GET", path);
  await ask("change a contact", 200, "PATCH", `${path}/edit`, { city: "London" });
  if (await ask("give a point", 200, "POST", `${path}/points/plus/1`)) contact.points += 1;
  else contact.uncertainPoints += 1;
  for (const list of ["contacts", "categories", "campaigns", "hooks", "audit"])
    await ask(`list ${list}`, 200, "GET", `${list}?limit=1&minimal=1`);
}

function describe(answer: { status: number; body: unknown } | NodeJS.ErrnoException): string {
  if (answer instanceof Error) return answer.code ?? answer.message;
  return `${answer.status} ${JSON.stringify(answer.body).slice(0, 120)}`;
}
