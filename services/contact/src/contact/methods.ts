import { contactSnapshot } from "@tidings/contacts/row-snapshot";
import type { Queryable } from "@tidings/database/transaction";
import type { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { Handlers } from "@tidings/rpc/definition";
import { catalogueOf } from "../field/catalogue.ts";
import { fieldListJson } from "../field/field-list.ts";
import { withCustomValues } from "../field/values.ts";
import { limit, RECORDS_MAX } from "../record/limit.ts";
import { addDoNotContact, removeDoNotContact } from "./channel.ts";
import { listContactCompanies } from "./companies-of-contact.ts";
import { contactWriter, writeContact } from "./contact-json.ts";
import { followMerge } from "./edit.ts";
import { mergeContacts } from "./merge.ts";
import { changePoints } from "./points.ts";
import { currentRows, readContact } from "./read.ts";
import type { ContactContext } from "./save.ts";
import { setContactStage } from "./stage.ts";
import { wholeContacts } from "./whole.ts";

/** Methods of contacts beyond the standard ones. */
export function contactMethods(context: ContactContext): Handlers<typeof ContactMethodService> {
  const { database, catalogues } = context;
  return {
    changeContactPoints: async (request, call) => ({ points: await changePoints(context, request, call) }),

    addDoNotContact: async (request, call) =>
      writeContact(context, await addDoNotContact(context, request, call), call),

    async removeDoNotContact(request, call) {
      const { found, row } = await removeDoNotContact(context, request, call);
      return { found, contact: await writeContact(context, row, call) };
    },

    async setContactStage(request, call) {
      await setContactStage(context, request, call);
      return {};
    },

    mergeContacts: async ({ id, mergedId }, call) =>
      writeContact(context, await mergeContacts(context, { id, mergedId }, call), call),

    listContactCompanies: ({ id }, call) =>
      followMerge(database, id, call, async (contactId) => {
        await readContact(database, contactId, call);
        return listContactCompanies(database, contactId, call);
      }),

    async listContactFields() {
      return { fields: fieldListJson((await catalogues.latest()).contact) };
    },

    async batchGetContacts({ ids }, { deadlineMs }) {
      limit(ids.length, RECORDS_MAX);
      const rows = [...(await currentRows(database, ids, deadlineMs)).values()];
      return { contacts: rows.map(contactWriter(await catalogueOf(catalogues, rows)).messages()) };
    },

    async batchGetContactSnapshots({ ids }, { deadlineMs }) {
      limit(ids.length, RECORDS_MAX);
      const query: Queryable["query"] = (statement, values = []) =>
        database.query(statement, values, deadlineMs);
      const rows = await wholeContacts(query, ids);
      const { contact: set } = await catalogueOf(catalogues, rows);
      return { snapshots: rows.map((row) => contactSnapshot(withCustomValues(row, set))) };
    },
  };
}
