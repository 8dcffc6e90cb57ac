import { HAND_OVER_MS_MAX } from "@tidings/mail/failover-transport";
import { STOP_LIMIT_MS } from "@tidings/runtime/stop-limit";
import type { ContentConfig } from "./config.ts";

/** How long stopping a process that sends may take: a mail whose server is slow to answer becomes `unknown` if nobody waits for the answer. */
export const SENDER_STOP_MS = HAND_OVER_MS_MAX + STOP_LIMIT_MS;

/** The limits of stopping; undefined where they are those of all processes. Where pages are served, too, they would be away for as long. */
export function stopLimits({ CONTENT_ROLE: role }: ContentConfig): { process?: number; mails?: number } {
  return role === "send" ? { process: SENDER_STOP_MS, mails: HAND_OVER_MS_MAX } : {};
}
