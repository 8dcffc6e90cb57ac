import {
  clearField,
  clone,
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { EventActor } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { byteaArray } from "@tidings/database/wire/binary-array";
import { secret } from "@tidings/proto/tidings/api/v1/options";
import { currentActor } from "@tidings/rpc/current-actor";
import { optionOf } from "@tidings/rpc/option";
import { keptTraceparent } from "@tidings/runtime/telemetry";

/** Something that happened to one aggregate (a contact, a webhook), published to all consumers. */
export interface DomainEvent {
  /** `tidings.<service>.<resource>.<past-tense>` */
  subject: string;
  aggregateId: number;
  /** The aggregate's version after the change: orders its events. */
  aggregateVersion: number;
  /** The event's protobuf message, encoded. */
  payload: Uint8Array;
}

export interface Outbox {
  /** Writes events in the transaction of their change. */
  append(transaction: Transaction, events: DomainEvent[]): void;
  /** Runs a statement that writes events by itself, made with `appending`. */
  appendBy(transaction: Transaction, statement: Statement, values: unknown[]): void;
  /** Calls `listener` after each commit that left events behind. */
  onCommitted(listener: () => void): void;
}

/**
 * A statement that appends events: `selected` gives subject, aggregate id, version and payload. It may follow other parts
 * of a `with`, each with a comma behind it. Its values begin at $3: the trace and the actor are the outbox's to give.
 */
export function appending(selected: string, before = ""): string {
  return `with ${before} event as (
     insert into outbox (subject, aggregate_id, aggregate_version, payload, traceparent, actor, published_at)
     select s.*, $1::text, $2::jsonb, now() from (${selected}) as s returning id)
   insert into outbox_waiting (id) select id from event`;
}

const insertEvents = prepared(
  "outbox_append",
  appending("select * from unnest($3::text[], $4::int[], $5::int[], $6::bytea[])"),
);

export function createOutbox(): Outbox {
  const listeners: (() => void)[] = [];
  const appendBy: Outbox["appendBy"] = (transaction, statement, values) => {
    transaction.execute(statement, [keptTraceparent() ?? null, actorJson(), ...values]);
    transaction.afterCommit(() => {
      for (const listener of listeners) listener();
    });
  };
  return {
    appendBy,
    append(transaction, events) {
      if (events.length === 0) return;
      appendBy(transaction, insertEvents, [
        events.map((event) => event.subject),
        events.map((event) => event.aggregateId),
        events.map((event) => event.aggregateVersion),
        byteaArray(events.map((event) => event.payload)),
      ]);
    },
    onCommitted: (listener) => listeners.push(listener),
  };
}

/** The actor as events name it. */
function actorJson(): string | null {
  const actor = currentActor();
  return actor
    ? JSON.stringify({ kind: actor.kind, id: actor.id, name: actor.name } satisfies EventActor)
    : null;
}

export function domainEvent<S extends DescMessage>(
  subject: string,
  aggregate: { id: number; version: number },
  schema: S,
  message: MessageInitShape<S>,
): DomainEvent {
  return {
    subject,
    aggregateId: aggregate.id,
    aggregateVersion: aggregate.version,
    payload: toBinary(schema, create(schema, message)),
  };
}

/** The members that events carry: events outlive the row, and every service reads them. */
export function encodeEvent(schema: DescMessage, message: Message): Uint8Array {
  const hidden = secretsOf(schema);
  const shown = hidden.length > 0 ? clone(schema, message) : message;
  for (const field of hidden) clearField(shown, field);
  return toBinary(schema, shown);
}

const secrets = new WeakMap<DescMessage, DescField[]>();

function secretsOf(schema: DescMessage): DescField[] {
  const known = secrets.get(schema) ?? schema.fields.filter((field) => optionOf(field, secret));
  secrets.set(schema, known);
  return known;
}
