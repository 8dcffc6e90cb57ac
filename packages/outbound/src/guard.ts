import { lookup, Resolver } from "node:dns/promises";
import { setTimeout as pause } from "node:timers/promises";
import { isAllowedAddress, literalAddress, type Range } from "./address.ts";

export type OutboundErrorCode = "blocked_address" | "timeout" | "tls_error" | "delivery_failed";

/** Why there was no answer, in the words a user may see. */
export class OutboundError extends Error {
  override name = "OutboundError";
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

const DNS_TIMEOUT_MS = 2_000;

/**
 * The address to connect to for a host. One address of a name that is not allowed is enough to refuse the name. Throws OutboundError.
 */
export async function allowedAddressOf(hostname: string, allowed: Range[]): Promise<string> {
  const literal = literalAddress(hostname);
  const addresses = literal ? [literal] : await resolve(hostname);
  const [first] = addresses;
  if (!first) throw new OutboundError("delivery_failed");
  if (addresses.every((address) => isAllowedAddress(address, allowed))) return first;
  throw new OutboundError("blocked_address");
}

/**
 * Asks DNS itself, with a limit, instead of the system's resolver: that blocks one of four threads for as long as a slow
 * name server takes, and so delays every other receiver. Only names that DNS does not know go there (hosts files).
 */
async function resolve(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS / 2, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const isSlow = answers.some((answer) => answer.status === "rejected" && answer.reason.code === "ETIMEOUT");
  if (isSlow) throw new OutboundError("timeout");
  const limit = new AbortController();
  const late = pause(DNS_TIMEOUT_MS, [], { signal: limit.signal });
  const found = await Promise.race([lookup(hostname, { all: true }), late]).finally(() => limit.abort());
  return found.map(({ address }: { address: string }) => address);
}
