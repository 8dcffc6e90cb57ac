import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import type { Snapshot } from "@tidings/proto/tidings/api/v1/snapshot";
import { CreateCompanyRequestSchema } from "@tidings/proto/tidings/contact/v1/company_service";
import { CreateContactRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import { CompanyUpdatedSchema, ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { companyHandlers } from "../company/company.ts";
import { contactSnapshots } from "../contact/events.ts";
import { callAs, contactBody, contactScene } from "../testing/contact-scene.ts";
import { companySnapshots } from "./company-events.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

const soon = () => Date.now() + 5_000;

/** The snapshot that the event of this version carried. */
async function told(
  schema: typeof ContactSavedSchema | typeof CompanyUpdatedSchema,
  { id, version }: Snapshot,
) {
  const resource = schema === ContactSavedSchema ? "contact" : "company";
  const text = `select encode(payload, 'base64') as payload from outbox
    where subject like 'tidings.contact.${resource}.%' and aggregate_id = $1 and aggregate_version = $2`;
  const [row] = await scene.context.database.query({ text }, [id, version], soon());
  const payload = Buffer.from(row?.payload ?? "", "base64");
  return fromBinary<typeof ContactSavedSchema | typeof CompanyUpdatedSchema>(schema, payload).snapshot;
}

test("a contact is listed as in the event of its last save, page by page", async () => {
  for (const values of [
    { firstname: "Ada", company: "Engines" },
    { email: "grace@example.com" },
    { city: "Paris" },
  ]) {
    const contact = contactBody(values, { tags: ["math"], points: 3 });
    await scene.handlers.createContact(create(CreateContactRequestSchema, { contact }), callAs());
  }
  const source = contactSnapshots(scene.context);
  const first = await source.list({ afterId: 0, pageSize: 2 }, soon());
  const rest = await source.list({ afterId: first.at(-1)?.id ?? 0, pageSize: 2 }, soon());
  assert.deepEqual([first.length, rest.length], [2, 1]);
  for (const listed of [...first, ...rest]) {
    const saved = fromBinary(ContactSavedSchema, listed.payload);
    assert.deepEqual(saved.snapshot, await told(ContactSavedSchema, listed));
    assert.equal(saved.identified, saved.snapshot?.dateIdentified !== undefined);
  }
});

test("a company is listed as in the event of its last save", async () => {
  const values = Buffer.from(JSON.stringify({ companyname: "Bell & Sons", companycity: "Boston" }));
  const companies = companyHandlers(scene.context);
  await companies.createCompany(create(CreateCompanyRequestSchema, { company: { values } }), callAs());
  const all = await companySnapshots(scene.context).list({ afterId: 0, pageSize: 10 }, soon());
  const names = [];
  for (const listed of all) {
    const { snapshot } = fromBinary(CompanyUpdatedSchema, listed.payload);
    assert.deepEqual(snapshot, await told(CompanyUpdatedSchema, listed));
    names.push(snapshot?.companyname);
  }
  assert.deepEqual(names.sort(), ["Bell & Sons", "Engines"]);
});
