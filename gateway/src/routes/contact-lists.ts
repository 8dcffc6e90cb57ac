import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import { NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint } from "../rest/endpoint.ts";
import { requiredId } from "../rest/exchange.ts";
import type { ListLimits } from "../rest/list-query.ts";
import { listing } from "./listing.ts";

/** Lists that belong to one contact. */
export function contactListRoutes(clients: Clients, limits: ListLimits): Router {
  const notes = clients.of(NoteService);
  const devices = clients.of(DeviceService);
  const router = Router({ caseSensitive: true });
  const contactOf = (request: Request) => requiredId(request, "id", "Contact not found.");

  const listNotes = listing(NoteSchema, "notes", limits, (request) => {
    const contactId = contactOf(request);
    return async (query, options) => {
      const { notes: items, ...page } = await notes.listNotes({ query, contactId }, options);
      return { ...page, items };
    };
  });

  const listDevices = listing(DeviceSchema, "devices", limits, (request) => {
    const contactId = contactOf(request);
    return async (query, options) => {
      const { devices: items, ...page } = await devices.listDevices({ query, contactId }, options);
      return { ...page, items };
    };
  });

  endpoint(router, "/:id/notes", { GET: listNotes });
  endpoint(router, "/:id/devices", { GET: listDevices });
  return router;
}
