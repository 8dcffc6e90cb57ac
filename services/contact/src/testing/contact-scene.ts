import { createSecretKey } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { textOf } from "@tidings/rpc/formed-json";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { utmTagHandlers } from "../belonging/utm-tags.ts";
import { contactHandlers } from "../contact/contact.ts";
import { contactMethods } from "../contact/methods.ts";
import { fieldCatalogues } from "../field/catalogue.ts";
import { references } from "../references.ts";

export const ADMINISTRATOR: Actor = { kind: "user", id: 1, name: "Admin User", admin: true, permissions: {} };

/** For tests: the handlers of contacts over a database of their own. */
export async function contactScene() {
  const testDatabase = await createTestDatabase();
  const log = createLog("contact", "silent");
  const database = openDatabase({ url: testDatabase.url("contact"), log });
  const catalogues = fieldCatalogues(database);
  const context = {
    database,
    outbox: createOutbox(),
    catalogues,
    references: references(database, catalogues),
    suppressionKey: createSecretKey(Buffer.from("a key for tests")),
  };
  return {
    context,
    handlers: { ...contactHandlers(context), ...contactMethods(context), ...utmTagHandlers(context) },
    testDatabase,
    async close() {
      await database.close();
      await testDatabase.drop();
    },
  };
}

export function callAs(actor: Actor = ADMINISTRATOR): Call {
  return {
    actor,
    deadlineMs: Date.now() + 20_000,
    requestId: "test",
    reach: (verb) => reach(actor, "lead:leads", verb),
  };
}

interface OtherMembers extends Partial<Pick<Contact, "points" | "overwriteWithBlank" | "ipAddress">> {
  tags?: unknown;
  doNotContact?: unknown;
}

/** A contact as the gateway sends it: field values by alias, everything else by name. */
export function contactBody(values: Record<string, unknown>, others: OtherMembers = {}): Contact {
  const { tags, doNotContact, ...plain } = others;
  const contact = create(ContactSchema, { ...plain, values: json(values) });
  if (tags !== undefined) contact.tags = json(tags);
  if (doNotContact !== undefined) contact.doNotContact = json(doNotContact);
  return contact;
}

export function listQuery(query: MessageInitShape<typeof ListQuerySchema> = {}): ListQuery {
  return create(ListQuerySchema, { pageSize: 30, ...query });
}

export function parse(json: Uint8Array | FormedJson | undefined) {
  return JSON.parse(
    json && "values" in json && !(json instanceof Uint8Array)
      ? textOf(json)
      : Buffer.from(json ?? []).toString(),
  );
}

function json(value: unknown): Uint8Array<ArrayBuffer> {
  return Buffer.from(JSON.stringify(value));
}
