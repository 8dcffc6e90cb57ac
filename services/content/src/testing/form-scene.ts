import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { SubmitFormRequestSchema } from "@tidings/proto/tidings/content/v1/submission";
import type { Call } from "@tidings/rpc/call";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { openDatabase } from "@tidings/store/database";
import { jsonBytes } from "@tidings/store/json-member";
import { createOutbox } from "@tidings/store/outbox";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { formMethods, forms } from "../form/form.ts";
import { submissionHandlers } from "../form/submission.ts";
import { submissionUpkeep } from "../form/upkeep.ts";
import { references } from "../references.ts";

/** For tests: forms and their submissions over a database of their own. Of contacts the ids alone are known. */
export async function formScene() {
  const testDatabase = await createTestDatabase();
  const log = createLog("test", "silent");
  const database = openDatabase({ url: testDatabase.url("content"), log });
  const context = { database, outbox: createOutbox(), references: references(database) };
  const rows = forms(context);
  const submittersOf = async (ids: number[]) => new Map(ids.map((id) => [id, jsonBytes({ id })]));
  return {
    database,
    rows,
    methods: formMethods(rows),
    submissions: submissionHandlers(context, rows, submittersOf),
    upkeep: submissionUpkeep(database, log),
    query: (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 60_000),
    async add(members: MessageInitShape<typeof FormSchema>): Promise<Form> {
      return (await rows.create(create(FormSchema, { name: "Form", ...members }), callAs())).item;
    },
    async close() {
      await database.close();
      await testDatabase.drop();
    },
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
