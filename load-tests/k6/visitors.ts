import http from "k6/http";
import type { Api } from "./api.ts";
import { settings } from "./settings.ts";
import { until } from "./until.ts";

type Finding = "GET /contacts";
type Removing = Finding | "DELETE /contacts/:id/delete";

/** The contact that the visitor of this iteration is, as their cookie says; 0 while they are nobody. */
export function visitorId(): number {
  const [id = "0"] = http.cookieJar().cookiesForURL(settings.publicUrl).mtc_id ?? [];
  return Number(id);
}

/** The id of a contact, by a value that no other has; undefined while there is none. */
export function contactWith(api: Api<Finding>, field: string, value: number | string): number | undefined {
  const asked = {
    "where[0][col]": field,
    "where[0][expr]": "eq",
    "where[0][val]": String(value),
    minimal: "1",
  };
  const query = Object.entries(asked)
    .map(([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
    .join("&");
  const { contacts } = api<{ contacts: object }>("GET /contacts", { query });
  const [id] = Object.keys(contacts);
  return id === undefined ? undefined : Number(id);
}

/** Removes the contact that a visit made, which may be there a moment after its answer. */
export function removeVisitor(api: Api<Removing>, id: number): void {
  const isThere = until("the visitor becomes a contact", Date.now(), () => contactWith(api, "id", id) === id);
  if (isThere !== undefined) api("DELETE /contacts/:id/delete", { path: { id } });
}
