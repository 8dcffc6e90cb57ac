/** An event as its consumers see it. */
export interface Event {
  id: string;
  /** `tidings.<service>.<resource>.<past-tense>`: the kind of event. */
  subject: string;
  aggregateId: number;
  /** The aggregate's version after the change: orders its events. */
  aggregateVersion: number;
  /** When it happened, ISO 8601. */
  time: string;
  traceparent: string | undefined;
  /** The actor who caused the event; undefined for work without a caller. */
  actor: EventActor | undefined;
  /** The event's protobuf message, encoded. */
  payload: Uint8Array;
}

export interface EventActor {
  kind: string;
  /** The id of a user; null for other kinds. */
  id: number | null;
  name: string;
}
