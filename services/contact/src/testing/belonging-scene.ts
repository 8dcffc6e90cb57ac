import { create } from "@bufbuild/protobuf";
import { DeleteContactRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import { type Device, DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { type Note, NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import type { Actor } from "@tidings/rpc/actor";
import { deviceHandlers } from "../belonging/device.ts";
import { noteHandlers } from "../belonging/note.ts";
import { callAs, contactBody, contactScene } from "./contact-scene.ts";

export type NoteMembers = Partial<Pick<Note, "text" | "type">>;
export type DeviceMembers = Partial<Pick<Device, "device" | "deviceBrand" | "clientInfo">>;

/** Sees and changes what is its own, and nothing else. */
export function ownerOnly(id: number): Actor {
  const permissions = { "lead:leads": ["viewown", "editown", "deleteown", "create"] };
  return { kind: "user", id, name: `User ${id}`, admin: false, permissions };
}

/** For tests: notes and devices, and the contacts they belong to. */
export async function belongingScene() {
  const scene = await contactScene();
  const { database } = scene.context;
  const notes = noteHandlers(scene.context);
  const devices = deviceHandlers(scene.context);
  const query = (text: string, values: unknown[] = []) =>
    database.query({ text }, values, Date.now() + 20_000);

  return {
    ...scene,
    notes,
    devices,
    query,
    async addContact(ownerId: number | null, values: Record<string, unknown> = {}): Promise<number> {
      const contact = contactBody({ firstname: "Ada", ...values });
      const created = await scene.handlers.createContact(
        { $typeName: "tidings.contact.v1.CreateContactRequest", contact },
        callAs(),
      );
      const id = created.contact?.id ?? 0;
      await query("update contacts set owner_id = $1 where id = $2", [ownerId, id]);
      return id;
    },
    async deleteContact(id: number): Promise<void> {
      await scene.handlers.deleteContact(create(DeleteContactRequestSchema, { id }), callAs());
    },
    async addNote(contactId: number, members: NoteMembers = {}, actor?: Actor): Promise<Note> {
      const note = create(NoteSchema, { text: "A note", ...members, contact: { id: contactId } });
      const saved = await notes.createNote(
        { $typeName: "tidings.contact.v1.CreateNoteRequest", note },
        callAs(actor),
      );
      return saved.note as Note;
    },
    async addDevice(contactId: number, members: DeviceMembers = {}, actor?: Actor): Promise<Device> {
      const device = create(DeviceSchema, { ...members, contact: { id: contactId } });
      const saved = await devices.createDevice(
        { $typeName: "tidings.contact.v1.CreateDeviceRequest", device },
        callAs(actor),
      );
      return saved.device as Device;
    },
  };
}

export function json(value: unknown): Uint8Array<ArrayBuffer> {
  return value === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(value));
}
