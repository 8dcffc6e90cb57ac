import { ConsentSchema, ConsentService } from "@tidings/proto/tidings/contact/v1/consent";
import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import {
  IdentificationSchema,
  IdentificationService,
} from "@tidings/proto/tidings/contact/v1/identification";
import { NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { badRequest } from "@tidings/rpc/fault";
import { listAnswer, listQuery, messageAnswer } from "../route/answer.ts";
import { objectBody } from "../route/body-form.ts";
import { entityId } from "../route/parameter.ts";
import { pageQuery } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { closed, SWITCH, TEXT_OR_NULL } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const MISSING = { missing: "Contact not found." };

/** Lists that belong to one contact. */
export function contactListRoutes(context: RoutesContext): Route[] {
  return [...belongingRoutes(context), ...identityRoutes(context), ...consentRoutes(context)];
}

/** How a contact was recognised. */
function identityRoutes({ clients, limits }: RoutesContext): Route[] {
  const identifications = clients.of(IdentificationService);
  return [
    route({
      method: "GET",
      path: "/contacts/:id/identity",
      summary:
        "List by which proof which device and which merged contact came to a contact, the latest first",
      rpc: IdentificationService.method.listIdentifications,
      parameters: { id: entityId("contacts", "view", MISSING) },
      query: pageQuery(limits),
      answer: listAnswer({ many: "identity", shape: "array", total: "int" }, IdentificationSchema),
      handle: ({ parameters: { id: contactId }, query }) => ({
        parameters: query,
        async list({ skip, pageSize }, options) {
          const page = await identifications.listIdentifications({ contactId, skip, pageSize }, options);
          return { items: page.identifications, ids: [], totalSize: page.totalSize };
        },
      }),
    }),
  ];
}

function consentRoutes({ clients, limits }: RoutesContext): Route[] {
  const consents = clients.of(ConsentService);
  const rpc = ConsentService.method;
  return [
    route({
      method: "GET",
      path: "/contacts/:id/consents",
      summary: "List what a contact answered to the question for consent, the latest first",
      rpc: rpc.listConsents,
      parameters: { id: entityId("contacts", "view", MISSING) },
      query: pageQuery(limits),
      answer: listAnswer({ many: "consents", shape: "array", total: "int" }, ConsentSchema),
      handle: ({ parameters: { id: contactId }, query }) => ({
        parameters: query,
        async list({ skip, pageSize }, options) {
          const page = await consents.listConsents({ contactId, skip, pageSize }, options);
          return { items: page.consents, ids: [], totalSize: page.totalSize };
        },
      }),
    }),
    route({
      method: "POST",
      path: "/contacts/:id/consents",
      summary: "Record that a contact gave or withdrew its consent",
      rpc: rpc.addConsent,
      parameters: { id: entityId("contacts", "edit", MISSING) },
      body: objectBody({
        ...closed({ given: SWITCH, where: TEXT_OR_NULL }, ["where"]),
        examples: [{ given: true }],
      }),
      answer: messageAnswer("consent", ConsentSchema),
      handle({ parameters: { id: contactId }, body, options }) {
        const { given, where = null } = body;
        if (typeof given !== "boolean") throw badRequest("given must be true or false.");
        if (where !== null && typeof where !== "string") throw badRequest("where must be text.");
        return consents.addConsent({ contactId, given, where: where ?? "" }, options);
      },
    }),
  ];
}

function belongingRoutes({ clients, limits }: RoutesContext): Route[] {
  const notes = clients.of(NoteService);
  const devices = clients.of(DeviceService);
  const parameters = { id: entityId("contacts", "view", MISSING) };
  return [
    route({
      method: "GET",
      path: "/contacts/:id/notes",
      summary: "List the notes of a contact",
      rpc: NoteService.method.listNotes,
      operation: "listContactNotes",
      parameters,
      query: listQuery(limits),
      answer: listAnswer({ many: "notes", shape: "array", total: "int" }, NoteSchema),
      handle: ({ parameters: { id: contactId }, query }) => ({
        parameters: query,
        async list(query, options) {
          const { notes: items, ...page } = await notes.listNotes({ query, contactId }, options);
          return { ...page, items };
        },
      }),
    }),
    route({
      method: "GET",
      path: "/contacts/:id/devices",
      summary: "List the devices of a contact",
      rpc: DeviceService.method.listDevices,
      operation: "listContactDevices",
      parameters,
      query: listQuery(limits),
      answer: listAnswer({ many: "devices", shape: "array", total: "int" }, DeviceSchema),
      handle: ({ parameters: { id: contactId }, query }) => ({
        parameters: query,
        async list(query, options) {
          const { devices: items, ...page } = await devices.listDevices({ query, contactId }, options);
          return { ...page, items };
        },
      }),
    }),
  ];
}
