import { timestampFromMilliseconds } from "@tidings/database/timestamp";
import { type Note, NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { repository } from "@tidings/resource/repository";
import type { ResourceContext } from "@tidings/resource/repository-options";
import type { SearchCommand } from "@tidings/resource/search";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Handlers } from "@tidings/rpc/definition";
import { sql } from "kysely";
import { listOfContact, OWNED_THROUGH_CONTACT } from "./contact-reference.ts";
import { plainHtml } from "./plain-html.ts";

const commands = new Map<string, SearchCommand>([["type", ({ text }) => sql`type = ${text}`]]);

export function noteHandlers(context: ResourceContext): Handlers<typeof NoteService> {
  const notes = repository<Note>(context, NoteSchema, {
    commands,
    owner: OWNED_THROUGH_CONTACT,
    clean(draft) {
      draft.dateTime ??= timestampFromMilliseconds(Date.now());
      draft.text = plainHtml(draft.text);
    },
  });
  const handlers = standardHandlers(NoteService, notes);
  return {
    ...handlers,
    listNotes: async (request, call) =>
      handlers.listNotes({ ...request, query: await listOfContact(context.database, request, call) }, call),
  };
}
