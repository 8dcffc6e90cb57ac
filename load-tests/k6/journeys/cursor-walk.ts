import { makeContacts, removeContacts } from "../contacts.ts";
import { journey } from "../journey.ts";
import { LIST } from "../limits.ts";

const CONTACTS = 1_000;
const PAGES = 10;

/** A program reads contacts page by page, by cursor. */
export const cursorWalk = journey({
  perMinute: 30,
  endpoints: { "GET /contacts": LIST },
  prepare: (api, run) => makeContacts(api, `${run}-walk`, CONTACTS),
  iterate(api) {
    let query: string | undefined = "limit=50&count=none&orderBy=date_added&orderByDir=desc&cursor=";
    for (let page = 0; page < PAGES && query !== undefined; page += 1) {
      let next: string | undefined;
      api("GET /contacts", {
        query,
        heard({ Link: link = "" }) {
          next = /\?([^>]+)>; rel="next"/.exec(link)?.[1];
        },
      });
      query = next;
    }
  },
  remove: removeContacts,
});
