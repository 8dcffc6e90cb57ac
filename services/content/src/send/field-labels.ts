import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Upstreams } from "@tidings/service/upstreams";
import { LRUCache } from "lru-cache";

/** The labels of fields of contacts and companies, by alias; none while the contact service is away. */
export type FieldLabels = (aliases: string[]) => Promise<Record<string, string>>;

const ALIASES_MAX = 500;
const KNOWN_MAX = 200;
/** A label that was changed is seen this long afterwards. */
const KNOWN_MS = 10_000;
const WAIT_MS = 1_000;
const actor = serviceActor("Previews");

/** Asks the contact service for labels, once in a while for each set of fields. */
export function fieldLabels(upstreams: Upstreams): FieldLabels {
  const contacts = upstreams.client("contact", ContactCommandService);
  const known = new LRUCache<string, Promise<Record<string, string>>>({ max: KNOWN_MAX, ttl: KNOWN_MS });
  return async (fields) => {
    const aliases = fields.toSorted().slice(0, ALIASES_MAX);
    if (aliases.length === 0) return {};
    const key = JSON.stringify(aliases);
    const asked =
      known.get(key) ??
      contacts
        .readFieldLabels({ aliases }, { actor, deadlineMs: Date.now() + WAIT_MS, requestId: "" })
        .then(({ labels }) => labels);
    known.set(key, asked);
    return asked.catch((error) => {
      known.delete(key);
      // A preview is whole without labels: aliases stand in their place.
      if (isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED) return {};
      throw error;
    });
  };
}
