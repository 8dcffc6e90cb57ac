import { randomUUID } from "node:crypto";
import type { Request } from "autocannon";
import { measure, type Target } from "./measure.ts";
import { nextNumber, sampleContact } from "./sample-contact.ts";
import { median } from "./statistics.ts";
import { CONNECTIONS } from "./workloads.ts";

/** The CPU of a request with a header that promises something, beside the same request without it. */
export interface HeaderCost {
  name: string;
  /** Microseconds in all processes and Postgres. */
  cpu: number;
  plainCpu: number;
  /** With the header as a multiple of without, round by round. */
  ratios: number[];
  goal: number;
}

interface Pair {
  name: string;
  goal: number;
  plain(): Request;
  /** The same request with the header. */
  promised(): Request;
  /** Makes ready what the requests of a round need. */
  prepare?(): Promise<void>;
  /** The answer to the header is a 304. */
  isNotModified?: boolean;
}

const ROUNDS = 5;
/** Contacts whose tags are known, at most: more than are edited within a round. */
const TAGGED_MAX = 10_000;
/** Contacts that are asked for at a time. */
const AT_ONCE = 16;

/** Rounds with and without `Idempotency-Key`, `If-Match` and `If-None-Match` in turn. */
export async function measureHeaderCosts(
  ours: Target,
  { contacts, seconds }: { contacts: number; seconds: number },
): Promise<HeaderCost[]> {
  const tagged = taggedContacts(ours, Math.min(contacts, TAGGED_MAX));
  const costs: HeaderCost[] = [];
  for (const pair of pairs(tagged)) costs.push(await measurePair(ours, pair, seconds));
  return costs;
}

function pairs({ readTags, next, any }: ReturnType<typeof taggedContacts>): Pair[] {
  const edit = ({ path }: Tagged): Request => ({
    method: "PATCH",
    path: `${path}/edit`,
    body: JSON.stringify({ position: `Engineer ${nextNumber()}` }),
  });
  const contact = (): Request => ({
    method: "POST",
    path: "/api/contacts/new",
    body: JSON.stringify(sampleContact(nextNumber())),
  });
  const tweet = (): Request => ({
    method: "POST",
    path: "/api/tweets/new",
    body: JSON.stringify({ name: `Tweet ${nextNumber()}`, text: "News" }),
  });
  const keyed = (request: () => Request) => () => withHeader(request(), "idempotency-key", randomUUID());
  const editOfAny = () => edit(any());
  return [
    { name: "PATCH of a contact, Idempotency-Key", goal: 1.15, plain: editOfAny, promised: keyed(editOfAny) },
    { name: "POST of a contact, Idempotency-Key", goal: 1.15, plain: contact, promised: keyed(contact) },
    { name: "POST of a tweet, Idempotency-Key", goal: 1.15, plain: tweet, promised: keyed(tweet) },
    {
      name: "PATCH of a contact, If-Match",
      goal: 1.02,
      prepare: readTags,
      plain: () => edit(next()),
      promised() {
        const one = next();
        return withHeader(edit(one), "if-match", one.tag);
      },
    },
    {
      name: "GET of a contact, If-None-Match",
      goal: 1,
      prepare: readTags,
      isNotModified: true,
      plain: () => ({ method: "GET", path: any().path }),
      promised() {
        const { path, tag } = any();
        return withHeader({ method: "GET", path }, "if-none-match", tag);
      },
    },
  ];
}

async function measurePair(ours: Target, pair: Pair, seconds: number): Promise<HeaderCost> {
  const { name, goal, plain, promised, prepare, isNotModified } = pair;
  const plainRounds: number[] = [];
  const rounds: number[] = [];
  for (let number = 0; number <= ROUNDS; number += 1) {
    await prepare?.();
    const load = { connections: CONNECTIONS, seconds: number === 0 ? 1 : seconds };
    const before = await measure(ours, { ...load, request: plain });
    await prepare?.();
    const after = await measure(ours, { ...load, request: promised, isRedirected: isNotModified });
    // The first round of each warms up.
    if (number === 0) continue;
    plainRounds.push(before.cpu);
    rounds.push(after.cpu);
  }
  const ratios = rounds.map((cpu, index) => cpu / (plainRounds[index] ?? 0));
  return { name, goal, cpu: median(rounds), plainCpu: median(plainRounds), ratios };
}

/** A contact, and the tag of its bytes and version. */
interface Tagged {
  path: string;
  tag: string;
}

/** The first contacts, whose tags are read anew for each round. */
function taggedContacts({ url, headers }: Target, count: number) {
  const all: Tagged[] = Array.from({ length: count }, (_, index) => ({
    path: `/api/contacts/${index + 1}`,
    tag: "",
  }));
  let taken = 0;
  const readOne = async (one: Tagged) => {
    const answer = await fetch(url + one.path, { headers });
    await answer.arrayBuffer();
    one.tag = answer.headers.get("etag") ?? "";
  };
  return {
    async readTags() {
      for (let first = 0; first < count; first += AT_ONCE)
        await Promise.all(all.slice(first, first + AT_ONCE).map(readOne));
      taken = 0;
    },
    /** Each once for the tags that were read: an edit changes its contact's. */
    next(): Tagged {
      const one = all[taken];
      taken += 1;
      if (!one) throw new Error(`more than ${count} contacts were edited in a round`);
      return one;
    },
    any: () => all[Math.floor(Math.random() * count)] as Tagged,
  };
}

function withHeader(request: Request, name: string, value: string): Request {
  return { ...request, headers: { ...request.headers, [name]: value } };
}
