import { hash } from "node:crypto";
import { type Database, queryable } from "@tidings/database/database";
import { wireAddress } from "@tidings/mail/mail-address";
import type { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { RpcClient } from "@tidings/rpc/client";
import { foreseeEmails } from "./assign-emails.ts";
import { type Recipient, standingOf } from "./choose-recipients.ts";

export interface DryRun {
  wouldSend: number;
  /** Members of the segments who would get nothing, by the first reason that holds. */
  excluded: Record<keyof typeof NOBODY, number>;
  /** The first recipients, and the email of the family that each would get. */
  samples: { contactId: number; address: string; variant: number }[];
}

export interface DryRunOptions {
  database: Database;
  contacts: RpcClient<typeof ContactCommandService>;
}

export interface DryRunOf {
  emailId: number;
  familyId: number;
  segmentIds: number[];
  excludedSegmentIds: number[];
  /** No more recipients than these; all when undefined. */
  recipientsMax: number | undefined;
}

const NOBODY = {
  excluded_segment: 0,
  no_address: 0,
  malformed_address: 0,
  shared_address: 0,
  do_not_contact: 0,
  refused_category: 0,
  already_chosen: 0,
  over_limit: 0,
};
const SLICE = 5_000;
const SAMPLES_MAX = 10;
const actor = serviceActor("Sends");

/**
 * How many members of segments would get an email now, and how many not, by reason. Nothing is written. Members with a frequency rule or a pause count:
 * they get it later. Reads as many slices as a send would; throws DEADLINE_EXCEEDED where that takes too long.
 */
export async function dryRun(
  { database, contacts }: DryRunOptions,
  { emailId, familyId, segmentIds, excludedSegmentIds, recipientsMax = Number.POSITIVE_INFINITY }: DryRunOf,
  deadlineMs: number,
): Promise<DryRun> {
  const excluded = { ...NOBODY };
  let wouldSend = 0;
  const first: Recipient[] = [];
  const isNew = eachOnce();
  const outgoing = { actor, deadlineMs, requestId: "" };
  for (let after = 0; ; ) {
    const asked = { segmentIds, excludedSegmentIds, after, pageSize: SLICE };
    const slice = await contacts.listRecipients(asked, outgoing);
    const sent = { emailId, familyId };
    const { fresh, refusing } = await standingOf(database, sent, slice.recipients, deadlineMs);
    excluded.excluded_segment += slice.excluded;
    excluded.no_address += slice.withoutAddress;
    excluded.do_not_contact += slice.refused;
    excluded.refused_category += refusing;
    excluded.already_chosen += slice.recipients.length - refusing - fresh.length;
    for (const recipient of fresh) {
      if (wireAddress(recipient.address) === undefined) excluded.malformed_address += 1;
      else if (!isNew(recipient.address)) excluded.shared_address += 1;
      else if (wouldSend >= recipientsMax) excluded.over_limit += 1;
      else {
        wouldSend += 1;
        if (first.length < SAMPLES_MAX) first.push(recipient);
      }
    }
    after = slice.next;
    if (after === 0) break;
  }
  const emailIds = await foreseeEmails(queryable(database, deadlineMs), emailId, first);
  const samples = first.map(({ contactId, address }, index) => ({
    ...{ contactId, address },
    variant: emailIds[index] ?? emailId,
  }));
  return { wouldSend, excluded, samples };
}

/** Says of each address whether it is the first one. Six octets of a digest are kept of each: of a million addresses less than 50 MB. */
function eachOnce(): (address: string) => boolean {
  const seen = new Set<number>();
  return (address) => {
    const digest = hash("sha1", address.toLowerCase(), "buffer").readUIntBE(0, 6);
    const isNew = !seen.has(digest);
    seen.add(digest);
    return isNew;
  };
}
