import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { slices } from "@tidings/runtime/slices";
import { type DomainEvent, domainEvent } from "./outbox.ts";

/** The most facts of one event. */
const FACTS_MAX = 500;
/** Facts have ids and versions of their own. */
const NO_AGGREGATE = { id: 0, version: 0 };

/**
 * Events that carry facts of one kind, in their order, to be appended in the transaction of the facts. `messageOf` makes the
 * message of an event with up to 500 of them.
 */
export function factEvents<S extends DescMessage, F>(
  subject: string,
  schema: S,
  facts: F[],
  messageOf: (facts: F[]) => MessageInitShape<S>,
): DomainEvent[] {
  return slices(facts, FACTS_MAX).map((slice) =>
    domainEvent(subject, NO_AGGREGATE, schema, messageOf(slice)),
  );
}
