import type { Request } from "autocannon";
import { nextNumber, type SampleContact, sampleContact } from "./sample-contact.ts";

/** One line of the table: the same requests to our API and to the bare server. */
export interface Workload {
  name: string;
  title: string;
  connections: number;
  /** Share of the bare server's requests per second that we want. */
  goal: number;
  /** The most that p99 / p50 may be. */
  spreadGoal?: number;
  /** Makes one request, for data sets of so many contacts. */
  request(contacts: number): Request;
  /** Ends when all that follows from answers of ours is done. */
  settled?: () => Promise<void>;
  /** The rate of ours is that of requests with all that follows from them. */
  isCountedSettled?: boolean;
}

export const BATCH_SIZE = 200;
export const PAGE_SIZE = 30;
export const CONNECTIONS = 16;
/** A batch keeps a server busy for long: more at once only wait. */
export const BATCH_CONNECTIONS = 4;

export const workloads: Workload[] = [
  {
    name: "get",
    title: "GET one contact",
    connections: CONNECTIONS,
    goal: 0.35,
    spreadGoal: 5,
    request: (contacts) => ({ method: "GET", path: `/api/contacts/${randomId(contacts)}` }),
  },
  {
    name: "page-first",
    title: `GET first page of ${PAGE_SIZE}, total`,
    connections: CONNECTIONS,
    goal: 0.55,
    request: () => ({ method: "GET", path: `/api/contacts?limit=${PAGE_SIZE}` }),
  },
  {
    name: "page-deep",
    title: `GET middle page of ${PAGE_SIZE}, total`,
    connections: CONNECTIONS,
    goal: 0.55,
    request: (contacts) => ({
      method: "GET",
      path: `/api/contacts?limit=${PAGE_SIZE}&start=${Math.floor(contacts / 2)}`,
    }),
  },
  {
    name: "patch",
    title: "PATCH one field",
    connections: CONNECTIONS,
    goal: 0.35,
    request: (contacts) => ({
      method: "PATCH",
      path: `/api/contacts/${randomId(contacts)}/edit`,
      body: JSON.stringify({ position: `Engineer ${nextNumber()}` }),
    }),
  },
  {
    name: "post",
    title: "POST one contact",
    connections: CONNECTIONS,
    goal: 0.35,
    request: () => ({
      method: "POST",
      path: "/api/contacts/new",
      body: JSON.stringify(sampleContact(nextNumber())),
    }),
  },
  {
    name: "batch",
    title: `POST batch of ${BATCH_SIZE}`,
    connections: BATCH_CONNECTIONS,
    goal: 0.5,
    request: batchRequest,
  },
];

export function batchRequest(): Request {
  return { method: "POST", path: "/api/contacts/batch/new", body: JSON.stringify(batchBody()) };
}

/** New contacts, a batch of them. */
export function batchBody(): SampleContact[] {
  return Array.from({ length: BATCH_SIZE }, () => sampleContact(nextNumber()));
}

function randomId(contacts: number): number {
  return 1 + Math.floor(Math.random() * contacts);
}
