import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { ContactDeletedSchema, ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";

export const MERGED = "tidings.contact.contact.merged";
export const DELETED = "tidings.contact.contact.deleted";

/**
 * The contact that the one of a merge or a deletion became a part of; undefined where it was erased. A merge is followed by a deletion, which replicas of a
 * process may get first: it names the survivor, too.
 */
export function survivorIn({ subject, payload }: Event): number | undefined {
  return fromBinary(subject === MERGED ? ContactMergedSchema : ContactDeletedSchema, payload).mergedIntoId;
}
