import { DeviceSchema, DeviceService } from "@tidings/proto/tidings/contact/v1/device";
import { NoteSchema, NoteService } from "@tidings/proto/tidings/contact/v1/note";
import { type Request, Router } from "express";
import type { Clients } from "../clients.ts";
import { endpoint } from "../rest/endpoint.ts";
import { type ApiResponse, requiredId } from "../rest/exchange.ts";
import { sendList } from "../rest/list.ts";
import { type ListLimits, readListParameters } from "../rest/list-query.ts";
import { messageWriter } from "../rest/message-json.ts";
import type { StandardMethods } from "../rest/standard-methods.ts";

const writeNote = messageWriter(NoteSchema);
const writeDevice = messageWriter(DeviceSchema);

/** What belongs to one contact, in lists with the usual parameters. */
export function contactListRoutes(clients: Clients, limits: ListLimits): Router {
  const notes = clients.of(NoteService);
  const devices = clients.of(DeviceService);
  const router = Router({ caseSensitive: true });

  const listNotes = async (request: Request, response: ApiResponse) => {
    const contactId = requiredId(request, "id", "Contact not found.");
    const list: StandardMethods["list"] = async (query, options) => {
      const { notes: items, ...page } = await notes.listNotes({ query, contactId }, options);
      return { ...page, items };
    };
    const { query, select } = readListParameters(response.locals.exchange.query, limits);
    const shape = { many: "notes", shape: "array", total: "int" } as const;
    await sendList(response, shape, { list }, query, (item) => writeNote(item, select));
  };

  const listDevices = async (request: Request, response: ApiResponse) => {
    const contactId = requiredId(request, "id", "Contact not found.");
    const list: StandardMethods["list"] = async (query, options) => {
      const { devices: items, ...page } = await devices.listDevices({ query, contactId }, options);
      return { ...page, items };
    };
    const { query, select } = readListParameters(response.locals.exchange.query, limits);
    const shape = { many: "devices", shape: "array", total: "int" } as const;
    await sendList(response, shape, { list }, query, (item) => writeDevice(item, select));
  };

  endpoint(router, "/:id/notes", { GET: listNotes });
  endpoint(router, "/:id/devices", { GET: listDevices });
  return router;
}
