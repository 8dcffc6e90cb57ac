import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { SubmitFormRequestSchema } from "@tidings/proto/tidings/content/v1/submission";
import { type JsonObject, jsonBytes } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { unavailable } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { endingTokens } from "@tidings/secrets/public-token";
import { generateSecretKey, secretBox } from "@tidings/secrets/secret-box";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { references } from "../family/references.ts";
import { type FollowOptions, followSubmissions } from "../form/follow-submission.ts";
import { formMethods, forms } from "../form/form.ts";
import { submissionHandlers } from "../form/submission.ts";
import type { Submitting } from "../form/submit.ts";
import type { Submitters } from "../form/submitter.ts";
import { submissionUpkeep } from "../form/upkeep.ts";
import { mailLinks } from "../send/mail-links.ts";
import { ownerSenders } from "../send/owners.ts";
import { previewLinks } from "../web/preview.ts";

const FIELDS = `insert into contact_fields (id, version, object, alias, type, properties)
    values (1, 1, 'contact', 'email', 'email', '{}'), (2, 1, 'company', 'companyname', 'text', '{}'),
      (3, 1, 'contact', 'colour', 'select', '{"list": [{"label": "Red", "value": "r"}]}')`;

/** For tests: forms and their submissions over a database of their own. Of contacts the ids alone are known. */
export async function formScene() {
  const testDatabase = await createTestDatabase();
  const log = createLog("test", "silent");
  const database = openDatabase({ url: testDatabase.url("content"), log });
  const context = { database, outbox: createOutbox(), references: references(database) };
  const key = generateSecretKey("first");
  const box = secretBox([key]);
  const shown = { publicUrl: "https://www.example", prefix: "svc" };
  const rows = forms(context, { shown, allowed: [], box });
  /** Contacts and companies as the contact service answers them. */
  const contacts = new Map<number, JsonObject>();
  const companies = new Map<number, string>();
  const submitters = submittersOf(contacts, companies);
  const linkPreview = previewLinks({
    tokens: endingTokens([generateSecretKey()], "preview"),
    publicUrl: "http://localhost",
    findVisible: async () => new Set(),
  });
  let lastId = 1_000_000;
  const submitting: Submitting = {
    database,
    submitters,
    ids: { take: async (count) => Array.from({ length: count }, () => ++lastId) },
    blockedEmails: ["*@spam.example"],
    keepsKnownValues: false,
    filesBytesMax: 1_000,
  };
  const query = (text: string, values: unknown[] = []) =>
    database.query({ text }, values, Date.now() + 60_000);
  await query(FIELDS);
  return {
    database,
    rows,
    methods: formMethods(rows, linkPreview),
    key,
    box,
    contacts,
    companies,
    submitting,
    submissions: submissionHandlers(context, rows, submitting, "https://www.example"),
    upkeep: submissionUpkeep(database, log, 30),
    /** Follows up submissions, as long as that needs nothing of the contact service, or no more than these methods. */
    following: (methods: Partial<FollowOptions["contacts"]> = {}) =>
      followSubmissions({
        ...{ database, outbox: context.outbox, log, contacts: { ...away(), ...methods } },
        publicUrl: "https://www.example",
        rendering: UNWRITTEN,
        hasTransport: false,
        wake: () => undefined,
      }),
    query,
    async add(members: MessageInitShape<typeof FormSchema>): Promise<Form> {
      return (await rows.create(create(FormSchema, { name: "Form", ...members }), callAs())).item;
    },
    async close() {
      await database.close();
      await testDatabase.drop();
    },
  };
}

function submittersOf(contacts: Map<number, JsonObject>, companies: Map<number, string>): Submitters {
  return {
    shown: async (ids) => new Map(ids.map((id) => [id, jsonBytes({ id })])),
    valuesOf: async (id) => contacts.get(id) ?? {},
    mayView: async (id) => contacts.has(id),
    wouldBe: async ({ contactId }) => ({ isNew: contactId === 0 }),
    companiesBeginning: async () => [...companies.values()],
    companyNames: async (ids) =>
      new Map(ids.flatMap((id) => (companies.has(id) ? [[String(id), companies.get(id) ?? ""]] : []))),
  };
}

const noValue = async () => undefined;
/** Nothing that mails are made of. */
const UNWRITTEN: FollowOptions["rendering"] = {
  contacts: { fieldsOf: async () => new Map(), matched: noValue },
  labelsOf: async () => ({}),
  links: mailLinks([generateSecretKey()], "https://www.example"),
  owners: {
    find: noValue,
    ...ownerSenders({ from: undefined, dkimKeys: [], isOwnerMailer: false, signature: "" }),
  },
  addressOfPage: noValue,
  addressOfAsset: noValue,
};

/** A contact service that is away. */
function away(): FollowOptions["contacts"] {
  const refuse = () => Promise.reject(unavailable("away"));
  return {
    carryOutCommands: refuse,
    readContactFields: refuse,
    readFieldLabels: refuse,
    tryIdentification: refuse,
    reserveContactIds: refuse,
    checkContactable: refuse,
    listRecipients: refuse,
    findContactsByNumber: refuse,
    refuseAddress: refuse,
    readPreferences: refuse,
  };
}

export type FormScene = Awaited<ReturnType<typeof formScene>>;

export function callAs(permissions?: Record<string, string[]>): Call {
  const actor = {
    kind: "user" as const,
    id: 1,
    name: "Ada",
    admin: !permissions,
    permissions: permissions ?? {},
  };
  const deadlineMs = Date.now() + 20_000;
  return { actor, deadlineMs, requestId: "test", reach: (verb) => reach(actor, "form:forms", verb) };
}

/** A PATCH of these members, or a PUT. */
export function updateOf(id: number, members: MessageInitShape<typeof FormSchema>, paths: string[]) {
  const message = create(FormSchema, members);
  return { id, message, updateMask: create(FieldMaskSchema, { paths }), allowMissing: false };
}

let count = 0;

export function submissionOf(formId: number, values: object, members: object = {}) {
  const key = `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
  return create(SubmitFormRequestSchema, {
    formId,
    key,
    ip: "192.0.2.1",
    values: jsonBytes(values),
    ...members,
  });
}
