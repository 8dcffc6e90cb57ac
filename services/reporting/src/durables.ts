import { type DurablePlace, streamOf } from "@tidings/bus/streams";
import { OWNERS } from "@tidings/proto/tidings/owners";
import { auditedSubjects } from "./audited.ts";

/** The processes whose resources are audited. This service publishes nothing. */
const audited = OWNERS.filter((owner) => owner !== "reporting");

/** The durable of the audit for each of them, with the subjects that it acts on. */
export const auditing = audited.map((owner) => ({
  name: `reporting-audit-${owner}`,
  stream: streamOf(owner),
  subjects: auditedSubjects(owner),
}));

export const durables: DurablePlace[] = auditing;
