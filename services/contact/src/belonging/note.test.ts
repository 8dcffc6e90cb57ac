import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { MergeContactsRequestSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { ListNotesRequestSchema, NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import {
  BatchCreateNotesRequestSchema,
  BatchDeleteNotesRequestSchema,
  BatchUpdateNotesRequestSchema,
  DeleteNoteRequestSchema,
  GetNoteRequestSchema,
  UpdateNoteRequestSchema,
} from "@tidings/proto/tidings/contact/v1/note_service";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { belongingScene, type NoteMembers, ownerOnly } from "../testing/belonging-scene.ts";
import { callAs, listQuery, parse } from "../testing/contact-scene.ts";

const ADA = 11;
const BOB = 12;
let scene: Awaited<ReturnType<typeof belongingScene>>;
before(async () => {
  scene = await belongingScene();
});
after(() => scene.close());

const getNote = async (id: number, actor?: Actor) =>
  scene.notes.getNote(create(GetNoteRequestSchema, { id }), callAs(actor));

function updateRequest(id: number, { lead, ...members }: NoteMembers & { lead?: number }) {
  const paths = Object.keys(members);
  return create(UpdateNoteRequestSchema, {
    id,
    note: create(NoteSchema, { ...members, ...(lead && { contact: { id: lead } }) }),
    updateMask: create(FieldMaskSchema, { paths: lead === undefined ? paths : [...paths, "contact"] }),
  });
}

const shown = ({ contact }: { contact?: { shown?: Uint8Array } | undefined }) => parse(contact?.shown);

async function listNotes(
  query: Parameters<typeof listQuery>[0],
  { contactId, actor }: { contactId?: number; actor?: Actor } = {},
) {
  const request = { query: listQuery(query), ...(contactId !== undefined && { contactId }) };
  const answer = await scene.notes.listNotes(create(ListNotesRequestSchema, request), callAs(actor));
  return { texts: (answer.notes ?? []).map(({ text }) => text), totalSize: answer.totalSize };
}

function isFault(code: Code, message?: string) {
  return (error: unknown) =>
    error instanceof Fault && error.code === code && (message === undefined || error.message === message);
}

test("a note is general and of now when nothing else is said, and shows its contact", async () => {
  const contactId = await scene.addContact(ADA, { city: "London" });
  const note = await scene.addNote(contactId);
  assert.equal(note.type, "general");
  assert.ok(Math.abs(Number(note.dateTime?.seconds) * 1_000 - Date.now()) < 60_000);
  const lead = shown(note);
  assert.deepEqual(Object.keys(lead), ["id", "points", "color", "fields"]);
  assert.deepEqual([lead.id, lead.points, lead.color], [contactId, 0, null]);
  assert.equal(lead.fields.all.city, "London");
  assert.deepEqual(shown(await getNote(note.id)), lead);
});

test("a note of no contact, or of one that is not there or not visible, is refused", async () => {
  const foreign = await scene.addContact(BOB);
  const refused = isFault(Code.INVALID_ARGUMENT, "lead ID is mandatory");
  for (const lead of [0, 2_000_000_000])
    await assert.rejects(scene.addNote(lead), refused, JSON.stringify(lead));
  await assert.rejects(scene.addNote(foreign, {}, ownerOnly(ADA)), refused);
});

test("an unknown type, an empty text and one that is too long are named", async () => {
  const contactId = await scene.addContact(ADA);
  for (const [members, field] of [
    [{ type: "rumour" }, "type"],
    [{ text: "" }, "text"],
    [{ text: "<script>alert(1)</script>" }, "text"],
    [{ text: "x".repeat(65_536) }, "text"],
  ] as const) {
    await assert.rejects(scene.addNote(contactId, members), (error) => {
      assert.ok(error instanceof Fault);
      assert.deepEqual(
        error.violations.map((violation) => violation.field),
        [field],
      );
      return true;
    });
  }
});

test("a text keeps its formatting and links, and nothing that runs, loads or restyles", async () => {
  const contactId = await scene.addContact(ADA);
  for (const [sent, stored] of [
    ["Tom & Jerry", "Tom & Jerry"],
    ['<p onclick="x()" style="color:red">Hi <b>Ada</b></p>', "<p>Hi <b>Ada</b></p>"],
    ['<a href="https://example.com/?a=1">site</a>', '<a href="https://example.com/?a=1">site</a>'],
    [
      '<a href="mailto:ada@example.com" target="_blank">write</a>',
      '<a href="mailto:ada@example.com">write</a>',
    ],
    ['<a href="javascript:alert(1)">x</a>', "<a>x</a>"],
    ['<a href=" java\tscript:alert(1)">x</a>', "<a>x</a>"],
    ['<a href="data:text/html,x">x</a>', "<a>x</a>"],
    ['<a href="//evil.example">x</a>', "<a>x</a>"],
    ['a<img src=x onerror="alert(1)"><script>alert(1)</script>', "a"],
    ["a<svg onload=alert(1)></svg><math></math><style>p{}</style>", "a"],
    ["a<iframe src=https://example.com></iframe>", "a"],
    [
      "<ul><li>one</li></ul><blockquote>said</blockquote>",
      "<ul><li>one</li></ul><blockquote>said</blockquote>",
    ],
  ] as const) {
    const { id } = await scene.addNote(contactId, { text: sent });
    assert.equal((await getNote(id)).text, stored, sent);
  }
});

test("a text that is made to be slow to clean is cleaned in no time", async () => {
  const contactId = await scene.addContact(ADA);
  for (const part of ["<p>", "<", "<a href=", "<!--", "</", "&#", "<ul><li>"]) {
    const startedAtMs = performance.now();
    const text = `a${part.repeat(Math.floor(65_000 / part.length))}`;
    await scene.addNote(contactId, { text });
    assert.ok(performance.now() - startedAtMs < 2_000, part);
  }
});

test("the notes of others' contacts and of nobody's do not exist for who sees only its own", async () => {
  const ada = ownerOnly(ADA);
  const contacts = [await scene.addContact(ADA), await scene.addContact(BOB), await scene.addContact(null)];
  const notes = [];
  for (const contact of contacts) notes.push(await scene.addNote(contact, { text: "Seen by whom" }));
  const ids = notes.map(({ id }) => id);
  const [own = 0, ...others] = ids;
  assert.equal((await getNote(own, ada)).id, own);
  for (const id of others) {
    await assert.rejects(getNote(id, ada), isFault(Code.NOT_FOUND));
    const edit = async () => scene.notes.updateNote(updateRequest(id, { text: "x" }), callAs(ada));
    await assert.rejects(edit, isFault(Code.NOT_FOUND));
    const remove = async () => scene.notes.deleteNote(create(DeleteNoteRequestSchema, { id }), callAs(ada));
    await assert.rejects(remove, isFault(Code.NOT_FOUND));
  }
  const search = `ids:${ids.join(",")}`;
  assert.equal((await listNotes({ search }, { actor: ada })).totalSize, 1);
  assert.equal((await listNotes({ search })).totalSize, 3);
  assert.equal((await listNotes({ ids }, { actor: ada })).texts.length, 1);

  const requests = ids.map((id) => updateRequest(id, { text: "Edited" }));
  const edited = await scene.notes.batchUpdateNotes(
    create(BatchUpdateNotesRequestSchema, { requests }),
    callAs(ada),
  );
  const codes = [undefined, Code.NOT_FOUND, Code.NOT_FOUND];
  assert.deepEqual(
    edited.statuses?.map(({ error }) => error?.code),
    codes,
  );
  const removed = await scene.notes.batchDeleteNotes(
    create(BatchDeleteNotesRequestSchema, { ids }),
    callAs(ada),
  );
  assert.deepEqual(
    removed.statuses?.map(({ error }) => error?.code),
    codes,
  );
});

test("a batch fails only where the contact is not there", async () => {
  const contactId = await scene.addContact(ADA);
  const requests = [contactId, 2_000_000_000, contactId].map((lead) => ({
    note: create(NoteSchema, { text: "In a batch", contact: { id: lead } }),
  }));
  const { notes = [], statuses = [] } = await scene.notes.batchCreateNotes(
    create(BatchCreateNotesRequestSchema, { requests }),
    callAs(),
  );
  assert.deepEqual(
    statuses.map(({ error }) => error?.code),
    [undefined, Code.INVALID_ARGUMENT, undefined],
  );
  assert.equal(notes[2]?.contact?.id, contactId);
});

test("a note stays with its contact unless it is moved to one that the caller may change", async () => {
  const seesAll = { ...ownerOnly(ADA), permissions: { "lead:leads": ["viewother", "editown", "create"] } };
  const [own, second, foreign] = [
    await scene.addContact(ADA),
    await scene.addContact(ADA),
    await scene.addContact(BOB),
  ];
  const { id } = await scene.addNote(own);
  const move = async (lead: number, actor: Actor) =>
    (await scene.notes.updateNote(updateRequest(id, { lead }), callAs(actor))).note;
  await assert.rejects(move(foreign, seesAll), isFault(Code.PERMISSION_DENIED));
  await assert.rejects(move(foreign, ownerOnly(ADA)), isFault(Code.INVALID_ARGUMENT, "lead ID is mandatory"));
  assert.equal((await move(0, ownerOnly(ADA)))?.contact?.id, own);
  assert.equal((await move(second, ownerOnly(ADA)))?.contact?.id, second);
});

test("notes are found by type, by text and by contact, the latest first", async () => {
  const contactId = await scene.addContact(ADA);
  const other = await scene.addContact(ADA);
  await scene.addNote(contactId, { text: "Hello", type: "call" });
  await scene.addNote(contactId, { text: "Good-bye", type: "email" });
  await scene.addNote(other, { text: "Hello too" });
  await scene.query("update notes set date_added = date_added - interval '1 day' where text = 'Hello'");
  const of = { contactId };
  assert.deepEqual(await listNotes({}, of), { texts: ["Good-bye", "Hello"], totalSize: 2 });
  assert.deepEqual((await listNotes({ search: "type:call" }, of)).texts, ["Hello"]);
  assert.deepEqual((await listNotes({ search: "hell" }, of)).texts, ["Hello"]);
  assert.deepEqual((await listNotes({ pageSize: 1, skip: 1 }, of)).texts, ["Hello"]);
});

test("the list of a contact that is not there, or not visible, is NOT_FOUND", async () => {
  const foreign = await scene.addContact(BOB);
  const missing = isFault(Code.NOT_FOUND, "Contact not found.");
  await assert.rejects(listNotes({}, { contactId: 2_000_000_000 }), missing);
  await assert.rejects(listNotes({}, { contactId: foreign, actor: ownerOnly(ADA) }), missing);
});

test("notes follow a merge, under the id of either contact, and go with their contact", async () => {
  const [survivor, merged] = [await scene.addContact(ADA), await scene.addContact(ADA)];
  const { id } = await scene.addNote(merged, { text: "Moved" });
  const request = create(MergeContactsRequestSchema, { id: survivor, mergedId: merged });
  await scene.handlers.mergeContacts(request, callAs());
  assert.equal((await getNote(id)).contact?.id, survivor);
  assert.deepEqual((await listNotes({}, { contactId: merged })).texts, ["Moved"]);
  assert.equal((await scene.addNote(merged)).contact?.id, survivor);
  await scene.deleteContact(survivor);
  await assert.rejects(getNote(id), isFault(Code.NOT_FOUND));
});

test("a note changes nothing of its contact, and has events of its own", async () => {
  const contactId = await scene.addContact(ADA);
  const contact = "select version, date_modified from contacts where id = $1";
  const [before] = await scene.query(contact, [contactId]);
  const { id } = await scene.addNote(contactId);
  assert.deepEqual(await scene.query(contact, [contactId]), [before]);
  const events = await scene.query(
    `select subject, encode(payload, 'base64') as payload from outbox
     where subject like 'tidings.contact.note.%' and aggregate_id = $1`,
    [id],
  );
  assert.deepEqual(
    events.map(({ subject }) => subject),
    ["tidings.contact.note.created"],
  );
  const told = fromBinary(NoteSchema, Buffer.from(events[0]?.payload ?? "", "base64"));
  assert.equal(told.contact?.id, contactId);
});
