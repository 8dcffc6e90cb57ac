import { create } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import type { Row } from "@tidings/database/statement";
import { stepJobs } from "@tidings/jobs/run-jobs";
import {
  type UpdateContactRequest,
  UpdateContactRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import { FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import {
  type UpdateSegmentRequest,
  UpdateSegmentRequestSchema,
} from "@tidings/proto/tidings/contact/v1/segment_service";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { fieldsOf } from "../field/field.ts";
import { type BuildServices, buildOptions } from "../segment/build/build.ts";
import { requestBuilds } from "../segment/build/build-request.ts";
import { dayOptions } from "../segment/build/day.ts";
import { react } from "../segment/build/react.ts";
import { definitionReader } from "../segment/definition/definitions.ts";
import { segmentHandlers } from "../segment/segment.ts";
import { ADMINISTRATOR, callAs, contactBody, contactScene } from "./contact-scene.ts";

const DEADLINE_MS = 20_000;

/** For tests: segments over a database of their own, whose events are handled when a test says so. */
export async function segmentScene() {
  const contacts = await contactScene();
  const { database } = contacts.context;
  const services = {
    ...contacts.context,
    readDefinitions: definitionReader(),
    // Entities of other services count as there.
    findVisible: async (_schema: unknown, ids: number[]) => new Set(ids),
    log: createLog("contact", "silent"),
  };
  const handlers = segmentHandlers(services);
  const query = (text: string, values: unknown[] = []) =>
    database.query({ text }, values, Date.now() + DEADLINE_MS);

  const newEvents = eventReader(query);

  return {
    ...contacts,
    services,
    segments: handlers,
    query,
    newEvents,
    async addField(alias: string, type: string, properties: Record<string, unknown> = {}): Promise<void> {
      const text = Buffer.from(JSON.stringify(properties));
      const field = create(FieldSchema, { label: alias, alias, type, properties: text });
      await fieldsOf(services, "lead").create(field, callAs());
    },
    async addContact(values: Record<string, unknown>, others = {}): Promise<number> {
      const { contact } = await contacts.handlers.createContact(
        { $typeName: "tidings.contact.v1.CreateContactRequest", contact: contactBody(values, others) },
        callAs(),
      );
      return contact?.id ?? 0;
    },
    async editContact(id: number, values: Record<string, unknown>): Promise<void> {
      await contacts.handlers.updateContact(contactUpdate(id, values), callAs());
    },
    async addSegment(filters: unknown[], others: Record<string, unknown> = {}, actor?: Actor) {
      const segment = newSegment(filters, others);
      const saved = await handlers.createSegment(
        { $typeName: "tidings.contact.v1.CreateSegmentRequest", segment },
        listCall(actor),
      );
      return saved.segment as Segment;
    },
    async editSegment(id: number, change: Record<string, unknown>) {
      return handlers.updateSegment(segmentUpdate(id, change), listCall());
    },
    ...segmentWork(services, newEvents),
    async members(segmentId: number): Promise<number[]> {
      const rows = await query(
        "select contact_id from segment_contacts where segment_id = $1 and not manually_removed order by 1",
        [segmentId],
      );
      return rows.map(({ contact_id }) => Number(contact_id));
    },
  };
}

/** The background work of segments, done when a test says so. */
function segmentWork(services: BuildServices, newEvents: () => Promise<Event[]>) {
  return {
    /** Does all the builds that are asked for. */
    async build(): Promise<void> {
      await stepJobs(dayOptions(services));
      while (await stepJobs(buildOptions(services)));
    },
    async requestBuild(id: number): Promise<void> {
      await services.database.transaction(Date.now() + DEADLINE_MS, async (transaction) =>
        requestBuilds(transaction, [id]),
      );
    },
    /** Lets segments follow what has happened. */
    async follow(): Promise<void> {
      await react(services, await newEvents());
    },
  };
}

/** Reads the events since the last call. */
function eventReader(query: (text: string, values: unknown[]) => Promise<Row[]>): () => Promise<Event[]> {
  let lastEvent = 0;
  return async () => {
    const rows = await query(
      `select id, event_id, subject, aggregate_id, aggregate_version, encode(payload, 'base64') as payload
       from outbox where id > $1 order by id`,
      [lastEvent],
    );
    lastEvent = Number(rows.at(-1)?.id ?? lastEvent);
    return rows.map((row) => ({
      id: row.event_id ?? "",
      subject: row.subject ?? "",
      aggregateId: Number(row.aggregate_id),
      aggregateVersion: Number(row.aggregate_version),
      time: "",
      traceparent: undefined,
      actor: undefined,
      payload: Buffer.from(row.payload ?? "", "base64"),
    }));
  };
}

function contactUpdate(id: number, values: Record<string, unknown>): UpdateContactRequest {
  return create(UpdateContactRequestSchema, {
    id,
    contact: contactBody(values, { overwriteWithBlank: true }),
    updateMask: { paths: ["values", "overwrite_with_blank"] },
    allowMissing: false,
  });
}

function newSegment(filters: unknown[], others: Record<string, unknown>): Segment {
  const name = `Segment ${Math.random()}`;
  return create(SegmentSchema, { name, ...others, filters: Buffer.from(JSON.stringify(filters)) });
}

function segmentUpdate(id: number, change: Record<string, unknown>): UpdateSegmentRequest {
  const { filters, ...others } = change;
  const body = filters === undefined ? others : { ...others, filters: Buffer.from(JSON.stringify(filters)) };
  const paths = Object.keys(change).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return create(UpdateSegmentRequestSchema, {
    id,
    segment: create(SegmentSchema, body),
    updateMask: { paths },
    allowMissing: false,
  });
}

/** A call of the service of segments. */
export function listCall(actor: Actor = ADMINISTRATOR): Call {
  return { ...callAs(actor), reach: (verb) => reach(actor, "lead:lists", verb) };
}
