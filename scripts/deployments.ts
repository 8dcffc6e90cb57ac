import { SENDER_STOP_MS } from "@tidings/content/stop-limit";
import { STOP_LIMIT_MS } from "@tidings/runtime/stop-limit";
import { type ProcessRow, processes } from "./processes.ts";

/** A process, or a role of one, that is deployed and scaled by itself. */
export interface Deployment extends Omit<ProcessRow, "name" | "callers"> {
  name: string;
  /** The deployments that may call it. */
  callers: string[];
  /** How long it may take to stop, after the delay in which it still serves. */
  stopLimitMs: number;
}

/** Content with CONTENT_ROLE=send (ADR 92): it has all that content has, calls the contact service, and is called by nobody. */
export const SENDER = { name: "sender", process: "content", calls: "contact" } as const;

/** Every deployment of the product where the senders are apart. */
export const deployments: Deployment[] = processes.flatMap((row): Deployment[] => {
  const callers = row.name === SENDER.calls ? [...row.callers, SENDER.name] : row.callers;
  const own = { ...row, callers, stopLimitMs: STOP_LIMIT_MS };
  if (row.name !== SENDER.process) return [own];
  return [own, { ...row, name: SENDER.name, callers: [], durables: [], stopLimitMs: SENDER_STOP_MS }];
});
