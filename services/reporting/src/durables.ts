import { type DurablePlace, streamOf } from "@tidings/bus/streams";
import { OWNERS } from "@tidings/proto/tidings/owners";

/** The durable of the audit for each process whose resources are audited. This service publishes nothing. */
export const durables: DurablePlace[] = OWNERS.filter((owner) => owner !== "reporting").map((owner) => ({
  name: `reporting-audit-${owner}`,
  stream: streamOf(owner),
}));
