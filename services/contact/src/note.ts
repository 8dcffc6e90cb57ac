import {
  type Note,
  NoteSchema,
  type NoteService,
  type UpdateNoteRequest,
} from "@tidings/proto/tidings/contact/v1/note";
import type { Handlers } from "@tidings/rpc/definition";
import type { Violation } from "@tidings/rpc/fault";
import type { BatchResult, Saved, Update } from "@tidings/store/repository";
import type { SearchCommand } from "@tidings/store/search";
import { timestampFromMilliseconds } from "@tidings/store/timestamp";
import { sql } from "kysely";
import { belongings } from "./belonging/belongings.ts";
import { plainHtml } from "./belonging/plain-html.ts";
import type { RecordContext } from "./record/save.ts";

const TYPES = ["general", "email", "call", "meeting"];
const TEXT_LENGTH_MAX = 65_535;

const commands = new Map<string, SearchCommand>([["type", ({ text }) => sql`type = ${text}`]]);

export function noteHandlers(context: RecordContext): Handlers<typeof NoteService> {
  const notes = belongings<Note>(context, NoteSchema, {
    table: "notes",
    events: "tidings.contact.note",
    search: ["text"],
    commands,
    missing: "lead ID is mandatory",
    prepare: prepareNote,
  });
  return {
    getNote: ({ id }, call) => notes.get(id, call),
    listNotes: async ({ query, contactId }, call) => {
      const { items, totalSize, ids } = await notes.list(query, contactId, call);
      return { notes: items, totalSize, ids };
    },
    createNote: async ({ note }, call) => savedOf(await notes.create(note, call)),
    updateNote: async (request, call) => savedOf(await notes.update(updateOf(request), call)),
    deleteNote: ({ id }, call) => notes.delete(id, call),
    batchCreateNotes: async ({ requests }, call) => {
      const wanted = requests.map(({ note }) => note);
      return batchOf(await notes.batchCreate(wanted, call));
    },
    batchUpdateNotes: async ({ requests }, call) =>
      batchOf(await notes.batchUpdate(requests.map(updateOf), call)),
    batchDeleteNotes: async ({ ids }, call) => batchOf(await notes.batchDelete(ids, call)),
  };
}

function prepareNote(draft: Note): Violation[] {
  draft.type ||= "general";
  draft.dateTime ??= timestampFromMilliseconds(Date.now());
  const violations: Violation[] = [];
  if (!TYPES.includes(draft.type))
    violations.push({ field: "type", message: `The type is one of ${TYPES.join(", ")}.` });
  const problem = textProblem(draft);
  if (problem) violations.push({ field: "text", message: problem });
  return violations;
}

/** Cleans the text, unless it is longer than anybody should wait for. */
function textProblem(draft: Note): string | undefined {
  if (draft.text.length > TEXT_LENGTH_MAX) return `A text may have ${TEXT_LENGTH_MAX} characters.`;
  draft.text = plainHtml(draft.text).trim();
  return draft.text === "" ? "A value is required." : undefined;
}

function updateOf({ id, note, updateMask, allowMissing }: UpdateNoteRequest): Update<Note> {
  return { id, message: note, updateMask, allowMissing };
}

function savedOf({ item, created }: Saved<Note>) {
  return { note: item, created };
}

function batchOf({ items, statuses }: BatchResult<Note>) {
  return { notes: items, statuses };
}
