import { makeContacts, removeContacts } from "../contacts.ts";
import { journey } from "../journey.ts";
import { LIST } from "../limits.ts";

const CONTACTS = 1_000;
/** The queries of lists, one after another. */
const QUESTIONS = [
  "limit=30",
  "limit=30&orderBy=date_added&orderByDir=desc",
  "limit=30&start=600&orderBy=lastname&orderByDir=asc",
  "search=Grace",
  "search=tag%3Aload-3",
  "where%5B0%5D%5Bcol%5D=city&where%5B0%5D%5Bexpr%5D=eq&where%5B0%5D%5Bval%5D=Oslo",
  "limit=100&minimal=1",
];

/** Somebody looks for contacts: pages, orders, searches, filters. */
export const contactLists = journey({
  perMinute: 60,
  endpoints: { "GET /contacts": LIST, "GET /contacts/list/fields": LIST, "GET /tags": LIST },
  prepare: (api, run) => makeContacts(api, `${run}-list`, CONTACTS),
  iterate(api) {
    for (const query of QUESTIONS) api("GET /contacts", { query });
    api("GET /contacts/list/fields");
    api("GET /tags");
  },
  remove: removeContacts,
});
