import { check } from "k6";
import http from "k6/http";
import { settings } from "./settings.ts";

const LIMIT_MS = 15_000;
/** The request outlives the receiver's own limit. */
const TIMEOUT_MS = LIMIT_MS + 5_000;

/** Waits for a webhook whose body has the mark in it. Gives whether it came in time. */
export function awaitDelivery(mark: string): boolean {
  const url = `${settings.receiverUrl}/deliveries/${mark}?withinMs=${LIMIT_MS}`;
  const response = http.get(url, { tags: { name: "receiver" }, timeout: `${TIMEOUT_MS}ms` });
  return check(response, { "the webhook arrives": ({ status }) => status === 200 });
}
