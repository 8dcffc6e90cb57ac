import type { IncomingHttpHeaders } from "node:http";
import type { Range } from "@tidings/outbound/address";
import { isbot } from "isbot";
import { isInRanges } from "./address.ts";

/** Is it a person? `unknown` counts as one. */
export interface Verdict {
  verdict: "human" | "machine" | "unknown";
  /** The rule that decided: agent, network, excluded, method, prefetch; empty where none did. */
  reason: string;
}

export interface MachineRules {
  /** Words in a User-Agent, in lower case. */
  agents: string[];
  /** Networks of machines that follow links. */
  networks: Range[];
  /** Addresses whose visitors are nobody. */
  excluded: Range[];
}

/** Headers by which a browser says that it fetches a page in advance, or for a preview (W3C Resource Hints; Fetch, Sec-Purpose). */
const PURPOSE_HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
const IN_ADVANCE = /prefetch|prerender|preview/i;
const AGENT_LENGTH_MAX = 1_000;

/** The verdict on a request, by its method, its headers and the network it came from. */
export function verdictOf(
  { method, headers, ip }: { method: string; headers: IncomingHttpHeaders; ip: string },
  { agents, networks, excluded }: MachineRules,
): Verdict {
  const machine = (reason: string): Verdict => ({ verdict: "machine", reason });
  if (isInRanges(ip, excluded)) return machine("excluded");
  if (method === "HEAD") return machine("method");
  if (PURPOSE_HEADERS.some((name) => IN_ADVANCE.test(String(headers[name] ?? ""))))
    return machine("prefetch");
  const agent = (headers["user-agent"] ?? "").slice(0, AGENT_LENGTH_MAX);
  const folded = agent.toLowerCase();
  if (agent === "" || isbot(agent) || agents.some((word) => folded.includes(word))) return machine("agent");
  if (isInRanges(ip, networks)) return machine("network");
  return agent.startsWith("Mozilla/")
    ? { verdict: "human", reason: "" }
    : { verdict: "unknown", reason: "agent" };
}
