import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import type { CompanyChange } from "@tidings/proto/tidings/contact/v1/events";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { Actor } from "@tidings/rpc/actor";
import { Code } from "@tidings/rpc/fault";
import { companyHandlers } from "../company/company.ts";
import { ADMINISTRATOR, callAs, contactBody, contactScene, parse } from "../testing/contact-scene.ts";
import { contactEventsOf } from "../testing/event-reader.ts";

/** The companies that a caller reaches through an own contact, and the data of companies that contacts show. */

let scene: Awaited<ReturnType<typeof contactScene>>;
let companies: ReturnType<typeof companyHandlers>;

before(async () => {
  scene = await contactScene();
  companies = companyHandlers(scene.context);
  await scene.context.database.query(
    {
      text: "insert into owners (id, username, first_name, last_name, version) values (77, 'own', 'Own', 'Only', 1)",
    },
    [],
    Date.now() + 5_000,
  );
});
after(() => scene.close());

function userWith(...rights: string[]): Actor {
  return { kind: "user", id: 77, name: "Own Only", admin: false, permissions: { "lead:leads": rights } };
}

const OWN = userWith("viewown", "editown", "deleteown", "create");

let count = 0;

async function addCompany(companyname = `Reach ${++count}`, others: { force?: boolean } = {}) {
  const company = create(CompanySchema, { ...others, values: Buffer.from(JSON.stringify({ companyname })) });
  const request = { $typeName: "tidings.contact.v1.CreateCompanyRequest" as const, company };
  const saved = (await companies.createCompany(request, callAs())).company;
  return { id: saved?.id as number, name: companyname };
}

async function addContact(values: Record<string, unknown>, actor: Actor = ADMINISTRATOR) {
  const contact = contactBody(values);
  contact.owner = Buffer.from("77");
  const request = { $typeName: "tidings.contact.v1.CreateContactRequest" as const, contact };
  const saved = await scene.handlers.createContact(request, callAs(actor));
  return saved.contact as { id: number; fields: FormedJson };
}

async function patch(id: number, values: Record<string, unknown>, actor: Actor, companyIds?: unknown) {
  const contact = contactBody(values);
  if (companyIds !== undefined) contact.companies = Buffer.from(JSON.stringify(companyIds));
  const request = {
    $typeName: "tidings.contact.v1.UpdateContactRequest" as const,
    id,
    contact,
    updateMask: undefined,
    allowMissing: false,
  };
  return (await scene.handlers.updateContact(request, callAs(actor))).contact as { fields: FormedJson };
}

async function linked(id: number, actor: Actor): Promise<Record<string, string>[]> {
  const request = { $typeName: "tidings.contact.v1.ListContactCompaniesRequest" as const, id };
  return parse((await scene.handlers.listContactCompanies(request, callAs(actor))).companies as Uint8Array);
}

test("a company that the caller does not see can be given to a contact neither by its id nor by its name", async () => {
  const hidden = await addCompany();
  const { id } = await addContact({ firstname: "A" }, OWN);
  await assert.rejects(patch(id, {}, OWN, [hidden.id]), { code: Code.INVALID_ARGUMENT });
  const named = await patch(id, { company: hidden.name.toUpperCase() }, OWN);
  assert.equal(parse(named.fields).all.company, hidden.name.toUpperCase(), "the text stays");
  assert.deepEqual(await linked(id, OWN), []);
});

test("a linked company that the caller does not see shows only the members that the contact has", async () => {
  const hidden = await addCompany();
  const { id } = await addContact({ firstname: "A", company: hidden.name });
  const [shown] = await linked(id, OWN);
  assert.deepEqual(Object.keys(shown ?? {}).sort(), [
    "company_id",
    "companyname",
    "date_associated",
    "id",
    "is_primary",
  ]);
  assert.ok("companycity" in ((await linked(id, ADMINISTRATOR))[0] ?? {}));
  await patch(id, { firstname: "B" }, OWN, [hidden.id]);
  assert.equal((await linked(id, OWN)).length, 1, "it stays when it is sent back");
});

test("a caller who may not create companies makes none by naming it, and the contact keeps the text", async () => {
  const { id } = await addContact({ firstname: "A" });
  const editor = userWith("viewother", "viewown", "editother", "editown");
  const named = await patch(id, { company: "Never Made" }, editor);
  assert.equal(parse(named.fields).all.company, "Never Made");
  assert.deepEqual(await linked(id, ADMINISTRATOR), []);
  await patch(id, { company: "Never Made" }, ADMINISTRATOR);
  assert.equal((await linked(id, ADMINISTRATOR)).length, 1, "who may, does");
});

test("a merge takes the right to edit the one and to delete the other", async () => {
  const [one, two] = [await addContact({ firstname: "A" }), await addContact({ firstname: "B" })];
  const request = {
    $typeName: "tidings.contact.v1.MergeContactsRequest" as const,
    id: one.id,
    mergedId: two.id,
  };
  const merge = (...rights: string[]) => scene.handlers.mergeContacts(request, callAs(userWith(...rights)));
  await assert.rejects(async () => merge("viewown", "editown"), { code: Code.PERMISSION_DENIED });
  await assert.rejects(async () => merge("viewown", "deleteown"), { code: Code.PERMISSION_DENIED });
  await merge("viewown", "editown", "deleteown");
});

test("names are the same however their letters are written", async () => {
  const company = await addCompany("ΟΔΥΣΣΕΥΣ İstanbul");
  const { id } = await addContact({ firstname: "A", company: "Οδυσσευς İSTANBUL" });
  assert.deepEqual(
    (await linked(id, ADMINISTRATOR)).map((row) => Number(row.company_id)),
    [company.id],
  );
  const first = await addContact({ email: "ΝΊΚΟΣ@example.com" });
  const second = await addContact({ email: "νίκος@example.com" });
  assert.equal(second.id, first.id);
});

test("with `force` no company is looked for, and the name is still one company's", async () => {
  const { name } = await addCompany();
  await assert.rejects(addCompany(name, { force: true }), { code: Code.ALREADY_EXISTS });
});

test("a tag that a contact brings along has an event; one that only a refused contact named is not there", async () => {
  const tagged = contactBody({ firstname: "T" }, { tags: ["brought along"] });
  await scene.handlers.createContact(
    { $typeName: "tidings.contact.v1.CreateContactRequest", contact: tagged },
    callAs(),
  );
  const refused = contactBody({ firstname: "T" }, { tags: ["never there"] });
  refused.owner = Buffer.from("999999");
  await assert.rejects(async () =>
    scene.handlers.createContact(
      { $typeName: "tidings.contact.v1.CreateContactRequest", contact: refused },
      callAs(),
    ),
  );
  const rows = await scene.context.database.query(
    {
      text: `select t.tag, o.subject from tags t left join outbox o
        on o.aggregate_id = t.id and o.subject like 'tidings.contact.tag.%'
        where t.tag in ('brought along', 'never there')`,
    },
    [],
    Date.now() + 5_000,
  );
  assert.deepEqual(
    rows.map(({ tag, subject }) => [tag, subject]),
    [["brought along", "tidings.contact.tag.created"]],
  );
});

test("the rename or deletion of a company has an event for each of its contacts", async () => {
  const company = await addCompany();
  const { id } = await addContact({ firstname: "Told", company: company.name });
  const body = create(CompanySchema, {
    values: Buffer.from(JSON.stringify({ companyname: `${company.name} Ltd` })),
  });
  await companies.updateCompany(
    {
      $typeName: "tidings.contact.v1.UpdateCompanyRequest",
      id: company.id,
      company: body,
      updateMask: undefined,
      allowMissing: false,
    },
    callAs(),
  );
  await companies.deleteCompany(
    { $typeName: "tidings.contact.v1.DeleteCompanyRequest", id: company.id },
    callAs(),
  );
  const events = (await contactEventsOf(scene.context.database, id)).slice(-2);
  assert.deepEqual(
    events.map(({ message }) => [
      message.changed,
      (message.companies as CompanyChange[]).map(({ added }) => added),
    ]),
    [
      [["company"], []],
      [["company", "companies"], [false]],
    ],
  );
});
