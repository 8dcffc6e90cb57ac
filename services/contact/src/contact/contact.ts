import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type ContactMethodService, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { ContactService, UpdateContactRequest } from "@tidings/proto/tidings/contact/v1/contact_service";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { prepared } from "@tidings/store/database";
import { fieldListJson } from "../field/field-list.ts";
import { listRecords } from "../record/list.ts";
import { ignoredOf, isCreated, rowOf, type SettledOutcome, statusOf } from "../record/outcome.ts";
import { reachedRow } from "../record/reach.ts";
import { renderRecords } from "../record/render.ts";
import { addDoNotContact, removeDoNotContact } from "./channel.ts";
import { listContactCompanies } from "./companies-of-contact.ts";
import { contactWriter } from "./contact-json.ts";
import { currentRows } from "./current-rows.ts";
import { followMerge, survivorOf } from "./edit.ts";
import { contactListSource } from "./list.ts";
import { mergeContacts } from "./merge.ts";
import { changePoints } from "./points.ts";
import { removeContacts } from "./remove.ts";
import { CONTACT_SELECT, type ContactRow } from "./row.ts";
import { type ContactContext, saveContacts } from "./save.ts";
import { setContactStage } from "./stage.ts";
import { addUtmTags, removeUtmTags } from "./utm-tags.ts";

const getStatement = prepared("contacts_get", `select ${CONTACT_SELECT} from contacts c where c.id = $1`);

export type ContactHandlers = Handlers<typeof ContactService> & Handlers<typeof ContactMethodService>;

export function contactHandlers(context: ContactContext): ContactHandlers {
  const { database, catalogues } = context;

  const readContact = async (id: number, call: Call): Promise<ContactRow> => {
    const [row] = await database.query(getStatement, [id], call.deadlineMs);
    return reachedRow(call, Verb.VIEW, row, "owner_id");
  };

  /** The contact as the API answers it, under the definitions of fields it was read or written with. */
  const write = async (row: ContactRow) => {
    return contactWriter(await catalogues.atLeast(Number(row.field_revision ?? 0))).message(row);
  };

  const saved = async (outcome: SettledOutcome | undefined) => ({
    contact: await write(rowOf(outcome)),
    created: isCreated(outcome),
    ignored: ignoredOf(outcome),
  });

  const batchResponse = async (outcomes: SettledOutcome[]) => {
    const { message } = contactWriter(await catalogues.current());
    return {
      contacts: outcomes.map((outcome) => ("row" in outcome ? message(outcome.row) : create(ContactSchema))),
      statuses: outcomes.map(statusOf),
    };
  };

  return {
    getContact: async ({ id }, call) =>
      write(await followMerge(database, id, call, (contactId) => readContact(contactId, call))),

    async listContacts({ query }, call) {
      const { page, catalogue } = await listRecords(context, query, call, {
        owner: "c.owner_id",
        source: ({ contact }) => contactListSource(contact, call),
      });
      const { message } = contactWriter(catalogue);
      return { contacts: page.rows.map(message), totalSize: page.totalSize, ids: page.ids };
    },

    async createContact({ contact }, call) {
      const [outcome] = await saveContacts(context, [{ message: contact }], call);
      return saved(outcome);
    },

    async updateContact(request, call) {
      // A PUT makes what is missing, and what was merged is not.
      const survivor = request.allowMissing ? await survivorOf(database, request.id, call) : undefined;
      const outcome = await followMerge(database, survivor ?? request.id, call, async (id) => {
        const [only] = await saveContacts(context, [{ ...saveRequest(request), id }], call);
        rowOf(only);
        return only;
      });
      return saved(outcome);
    },

    async deleteContact({ id }, call) {
      const [outcome] = await removeContacts(context, [id], call);
      return write(rowOf(outcome));
    },

    async batchCreateContacts({ requests }, call) {
      const items = requests.map(({ contact }) => ({ message: contact }));
      return batchResponse(await saveContacts(context, items, call));
    },

    async batchUpdateContacts({ requests }, call) {
      return batchResponse(await saveContacts(context, requests.map(saveRequest), call));
    },

    async batchDeleteContacts({ ids }, call) {
      return batchResponse(await removeContacts(context, ids, call));
    },

    changeContactPoints: async (request, call) => ({ points: await changePoints(context, request, call) }),

    addDoNotContact: async (request, call) => write(await addDoNotContact(context, request, call)),

    async removeDoNotContact(request, call) {
      const { found, row } = await removeDoNotContact(context, request, call);
      return { found, contact: await write(row) };
    },

    addUtmTags: async (request, call) => write(await addUtmTags(context, request, call)),

    removeUtmTags: async (request, call) => ({
      found: true,
      contact: await write(await removeUtmTags(context, request, call)),
    }),

    async setContactStage({ id, stageId }, call) {
      await setContactStage(context, { id, stageId }, call);
      return {};
    },

    mergeContacts: async ({ id, mergedId }, call) =>
      write(await mergeContacts(context, { id, mergedId }, call)),

    listContactCompanies: ({ id }, call) =>
      followMerge(database, id, call, async (contactId) => {
        await readContact(contactId, call);
        return listContactCompanies(database, contactId, call);
      }),

    async listContactFields() {
      return { fields: fieldListJson((await catalogues.latest()).contact) };
    },

    async renderContacts(request, call) {
      const readCurrent = (ids: number[]) => currentRows(database, ids, call.deadlineMs);
      const writer = contactWriter(await catalogues.current());
      const { texts, ownerIds } = await renderRecords(request, readCurrent, writer, "owner_id");
      return { contacts: texts, ownerIds };
    },
  };
}

function saveRequest({ id, contact, updateMask, allowMissing }: UpdateContactRequest) {
  return { id, message: contact, isReplaced: updateMask?.paths.includes("*") ?? false, allowMissing };
}
