import { check } from "k6";
import http, { type Response } from "k6/http";
import { settings } from "./settings.ts";

const LIMIT_MS = 15_000;
/** The request outlives the receiver's own limit. */
const TIMEOUT_MS = LIMIT_MS + 5_000;

/** A mail as the receiver got it. */
export interface Mail {
  subject: string;
  html: string;
  text: string;
}

/** Waits for a webhook whose body has the mark in it. Gives whether it came in time. */
export function awaitDelivery(mark: string): boolean {
  const response = asked(`deliveries/${mark}`);
  return check(response, { "the webhook arrives": ({ status }) => status === 200 });
}

/** Waits until so many mails with the mark have come; gives the latest, or undefined when they did not come in time. */
export function awaitMails(mark: string, count = 1): Mail | undefined {
  const response = asked(`mails/${mark}`, `count=${count}&`);
  const isThere = check(response, { "the mails arrive": ({ status }) => status === 200 });
  return isThere ? (response.json() as unknown as Mail) : undefined;
}

function asked(path: string, query = ""): Response {
  const url = `${settings.receiverUrl}/${path}?${query}withinMs=${LIMIT_MS}`;
  return http.get(url, { tags: { name: "receiver" }, timeout: `${TIMEOUT_MS}ms` });
}
