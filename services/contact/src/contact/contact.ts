import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  ContactSchema,
  type ContactService,
  type UpdateContactRequest,
} from "@tidings/proto/tidings/contact/v1/contact";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Handlers } from "@tidings/rpc/definition";
import { type Fault, notFound } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { prepared } from "@tidings/store/database";
import { listPage } from "@tidings/store/list";
import { fieldListJson } from "./field-list.ts";
import { contactListSource } from "./list.ts";
import { changePoints } from "./points.ts";
import { mayReach, visibleContacts } from "./reach.ts";
import { removeContacts } from "./remove.ts";
import { CONTACT_SELECT, type ContactRow } from "./row.ts";
import { type ContactContext, type SaveRequest, saveContacts } from "./save.ts";

const getStatement = prepared("contacts_get", `select ${CONTACT_SELECT} from contacts c where c.id = $1`);

export function contactHandlers(context: ContactContext): Handlers<typeof ContactService> {
  const { database, catalogue, writer } = context;
  const listSource = contactListSource(catalogue);
  const fieldList = fieldListJson(catalogue);

  return {
    async getContact({ id }, call) {
      const [row] = await database.query(getStatement, [id], call.deadlineMs);
      if (!row || !mayReach(call, Verb.VIEW, row)) throw notFound();
      return writer.message(row);
    },

    async listContacts({ query = create(ListQuerySchema) }, call) {
      const page = await listPage(database, listSource(call), query, visibleContacts(call), call.deadlineMs);
      return { contacts: page.rows.map(writer.message), totalSize: page.totalSize, ids: page.ids };
    },

    async createContact({ contact }, call) {
      const [outcome] = await saveContacts(context, [{ contact }], call);
      return saved(outcome);
    },

    async updateContact(request, call) {
      const [outcome] = await saveContacts(context, [saveRequest(request)], call);
      return saved(outcome);
    },

    async deleteContact({ id }, call) {
      const [outcome] = await removeContacts(context, [id], call);
      return writer.message(rowOf(outcome));
    },

    async batchCreateContacts({ requests }, call) {
      const items = requests.map(({ contact }) => ({ contact }));
      return batchResponse(await saveContacts(context, items, call));
    },

    async batchUpdateContacts({ requests }, call) {
      return batchResponse(await saveContacts(context, requests.map(saveRequest), call));
    },

    async batchDeleteContacts({ ids }, call) {
      return batchResponse(await removeContacts(context, ids, call));
    },

    async changeContactPoints(request, call) {
      return { points: await changePoints(context, request, call) };
    },

    listContactFields: () => ({ fields: fieldList }),

    renderContacts: ({ snapshots }) => ({ contacts: snapshots.map(writer.webhookJson) }),
  };

  function saved(outcome: Outcome | undefined) {
    const row = rowOf(outcome);
    return { contact: writer.message(row), created: outcome !== undefined && isCreated(outcome) };
  }

  function batchResponse(outcomes: Outcome[]) {
    return {
      contacts: outcomes.map((outcome) =>
        "row" in outcome ? writer.message(outcome.row) : create(ContactSchema),
      ),
      statuses: outcomes.map((outcome) =>
        itemStatus("fault" in outcome ? outcome : { created: isCreated(outcome) }),
      ),
    };
  }
}

type Outcome = { row: ContactRow; created?: boolean } | { fault: Fault };

function isCreated(outcome: Outcome): boolean {
  return "row" in outcome && outcome.created === true;
}

function rowOf(outcome: Outcome | undefined): ContactRow {
  if (!outcome) throw new Error("a batch of one has one outcome");
  if ("fault" in outcome) throw outcome.fault;
  return outcome.row;
}

function saveRequest({ id, contact, updateMask, allowMissing }: UpdateContactRequest): SaveRequest {
  return { id, contact, isReplaced: updateMask?.paths.includes("*") ?? false, allowMissing };
}
