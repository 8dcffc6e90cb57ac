import { create } from "@bufbuild/protobuf";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { ContactService, UpdateContactRequest } from "@tidings/proto/tidings/contact/v1/contact_service";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { requireExpected } from "@tidings/rpc/expected";
import { batchOf, type KnownOutcome, rowOf, savedAs, saveOf } from "../record/answer.ts";
import { listRecords } from "../record/list.ts";
import { CONTACT_TOTALS } from "../rows/totals.ts";
import { contactWriter, writeContact } from "./contact-json.ts";
import { followMerge, survivorOf } from "./edit.ts";
import { contactListSource } from "./list.ts";
import { readContact } from "./read.ts";
import { removeContacts } from "./remove.ts";
import { type ContactContext, contactSaver } from "./save.ts";

export function contactHandlers(context: ContactContext): Handlers<typeof ContactService> {
  const { database, catalogues } = context;
  const saver = contactSaver(context);

  const saved = async (outcome: KnownOutcome | undefined, call: Call) => ({
    contact: await writeContact(context, rowOf(outcome), call),
    ...savedAs(outcome),
  });

  const batchResponse = async (outcomes: KnownOutcome[]) => {
    const message = contactWriter(await catalogues.current()).messages();
    const { items, statuses } = batchOf(outcomes, message, () => create(ContactSchema));
    return { contacts: items, statuses };
  };

  return {
    getContact: async ({ id }, call) => {
      const row = await followMerge(database, id, call, (contactId) =>
        readContact(database, contactId, call),
      );
      return writeContact(context, row, call);
    },

    listContacts: ({ query }, call) => list(context, query, call),

    async createContact({ contact }, call) {
      return saved(await saver.one({ message: contact }, call), call);
    },

    async updateContact(request, call) {
      return saved(await update(context, saver, request, call), call);
    },

    async deleteContact({ id }, call) {
      const [outcome] = await removeContacts(context, [id], call);
      return writeContact(context, rowOf(outcome), call);
    },

    async batchCreateContacts({ requests }, call) {
      const items = requests.map(({ contact }) => ({ message: contact }));
      return batchResponse(await saver.many(items, call));
    },

    async batchUpdateContacts({ requests }, call) {
      return batchResponse(
        await saver.many(
          requests.map((request) => saveOf(request, request.contact)),
          call,
        ),
      );
    },

    async batchDeleteContacts({ ids }, call) {
      return batchResponse(await removeContacts(context, ids, call));
    },
  };
}

async function update(
  context: ContactContext,
  saver: ReturnType<typeof contactSaver>,
  request: UpdateContactRequest,
  call: Call,
): Promise<KnownOutcome> {
  const { database } = context;
  // A PUT makes what is missing, and what was merged is not.
  const survivor = request.allowMissing ? await survivorOf(database, request.id, call) : undefined;
  if (survivor !== undefined)
    requireExpected(call, ContactSchema.typeName, { id: request.id, version: undefined });
  return followMerge(database, survivor ?? request.id, call, async (id) => {
    const outcome = await saver.one({ ...saveOf(request, request.contact), id }, call);
    rowOf(outcome);
    return outcome;
  });
}

async function list(context: ContactContext, query: ListQuery | undefined, call: Call) {
  const { page, catalogue } = await listRecords(context, query, call, {
    owner: "c.owner_id",
    total: CONTACT_TOTALS.owner_id,
    source: ({ contact }) => contactListSource(contact, call),
  });
  return {
    contacts: page.rows.map(contactWriter(catalogue).messages()),
    totalSize: page.totalSize,
    ids: page.ids,
  };
}
