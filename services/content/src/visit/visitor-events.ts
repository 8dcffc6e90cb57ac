import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { VisitorsSeenSchema } from "@tidings/proto/tidings/content/v1/events";
import { jsonBytes } from "@tidings/resource/json-member";
import type { Sighting, Visitor } from "./sighting.ts";

/** A sighting, and the contact that it is of. */
interface Seen {
  sighting: Sighting;
  visitor: Pick<Visitor, "contactId" | "isNew" | "proof" | "isAgreeing">;
}

/** The events of contacts that were seen. */
export function visitorEvents(seen: Seen[]): DomainEvent[] {
  return factEvents(VISITORS_SEEN, VisitorsSeenSchema, seen, messageOf);
}

export const VISITORS_SEEN = "tidings.content.visitor.seen";

function messageOf(seen: Seen[]) {
  return {
    visitors: seen.map(({ sighting, visitor }) => {
      const { at, ip, deviceId, userAgent, timeZone, locale, utm, url, referer, remoteHost, query } =
        sighting;
      const { contactId, isNew, proof, isAgreeing } = visitor;
      return {
        ...{ contactId, isNew, at: timestampFromMs(at), ip, deviceId, userAgent, timeZone, locale, proof },
        ...(isAgreeing && { consent: { given: true, url } }),
        ...(sighting.place && { place: sighting.place }),
        ...(utm && { utm: { ...utm, url, referer, remoteHost, query: jsonBytes(query) } }),
      };
    }),
  };
}
