import type { Api, Entity } from "./api.ts";
import type { RouteName } from "./routes.ts";

export const BATCH_SIZE = 200;

/** Values of people that differ, so that searches and filters find some of them. */
const CITIES = ["Paris", "London", "Vienna", "Oslo", "Lisbon", "Prague", "Athens", "Turin"];
const FIRST_NAMES = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Frances", "John"];

/** The body of a contact that `mark` makes unique; `number` decides its other values. */
export function person(mark: string, number: number): Record<string, unknown> {
  return {
    email: `${mark}@example.com`,
    firstname: FIRST_NAMES[number % FIRST_NAMES.length],
    lastname: `Tester ${number % 97}`,
    city: CITIES[number % CITIES.length],
    company: `Company ${number % 31}`,
    points: number % 50,
    tags: [`load-${number % 5}`],
  };
}

export interface CreatedContacts {
  contacts: Entity[];
}

/** Makes so many contacts for journeys to be among. Their tag is the word of the run. */
export function makeCrowd(api: Api<RouteName>, run: string, count: number): void {
  for (let made = 0; made < count; made += BATCH_SIZE) {
    const numbers = Array.from({ length: Math.min(BATCH_SIZE, count - made) }, (_, index) => made + index);
    const body = numbers.map((number) => ({ ...person(`${run}-crowd-${number}`, number), tags: [run] }));
    api("POST /contacts/batch/new", { body, status: 201 });
  }
}

/** They are found by their tag: as ids they would be with every user of the run. */
export function removeCrowd(api: Api<RouteName>, run: string): void {
  const query = `search=tag%3A${run}&minimal=1&limit=${BATCH_SIZE}`;
  for (;;) {
    const { contacts } = api<{ contacts: object }>("GET /contacts", { query });
    const ids = Object.keys(contacts).map(Number);
    if (ids.length === 0) return;
    removeContacts(api, ids);
  }
}

/** Makes so many contacts before a journey begins; gives their ids. */
export function makeContacts(api: Api<RouteName>, mark: string, count: number): number[] {
  const ids: number[] = [];
  while (ids.length < count) {
    const size = Math.min(BATCH_SIZE, count - ids.length);
    const body = Array.from({ length: size }, (_, index) =>
      person(`${mark}-${ids.length + index}`, ids.length + index),
    );
    const { contacts } = api<CreatedContacts>("POST /contacts/batch/new", { body, status: 201 });
    ids.push(...contacts.map(({ id }) => id));
  }
  return ids;
}

export function removeContacts(api: Api<RouteName>, ids: number[]): void {
  for (let start = 0; start < ids.length; start += BATCH_SIZE) {
    const query = `ids=${ids.slice(start, start + BATCH_SIZE).join(",")}`;
    api("DELETE /contacts/batch/delete", { query });
  }
}
