import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import { NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { listAnswer, listQuery } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Lists that belong to one contact. */
export function contactListRoutes({ clients, limits }: RoutesContext): Route[] {
  const notes = clients.of(NoteService);
  const devices = clients.of(DeviceService);
  const parameters = { id: entityId("contacts", "view", { missing: "Contact not found." }) };
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
