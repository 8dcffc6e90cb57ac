import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import {
  type CompanyChange,
  type ContactSaved,
  ContactSavedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { Actor } from "@tidings/rpc/actor";
import { Code, type Fault } from "@tidings/rpc/fault";
import { contactSnapshots } from "../contact/events.ts";
import { fieldsOf } from "../field/field.ts";
import { callAs, contactBody, contactScene, listQuery, parse } from "../testing/contact-scene.ts";
import { contactEventsOf } from "../testing/event-reader.ts";
import { companyHandlers } from "./company.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
let companies: ReturnType<typeof companyHandlers>;

before(async () => {
  scene = await contactScene();
  companies = companyHandlers(scene.context);
});
after(() => scene.close());

const call = callAs();
let count = 0;
const name = () => `Company ${++count}`;

function body(values: Record<string, unknown>, others: Partial<Company> = {}): Company {
  return create(CompanySchema, { ...others, values: Buffer.from(JSON.stringify(values)) } as Company);
}

async function addCompany(values: Record<string, unknown>, actor?: Actor) {
  const request = { $typeName: "tidings.contact.v1.CreateCompanyRequest" as const, company: body(values) };
  const saved = await companies.createCompany(request, callAs(actor));
  return { ...(saved.company as Company), created: saved.created };
}

async function addContact(values: Record<string, unknown>, companyIds?: number[]) {
  const contact = contactBody(values);
  if (companyIds) contact.companies = Buffer.from(JSON.stringify(companyIds));
  const request = { $typeName: "tidings.contact.v1.CreateContactRequest" as const, contact };
  return (await scene.handlers.createContact(request, call)).contact as { id: number; fields: FormedJson };
}

async function editContact(
  id: number,
  values: Record<string, unknown>,
  options: { replace?: boolean; companies?: number[] } = {},
) {
  const contact = contactBody(values);
  if (options.companies) contact.companies = Buffer.from(JSON.stringify(options.companies));
  const updateMask = { $typeName: "google.protobuf.FieldMask" as const, paths: options.replace ? ["*"] : [] };
  const request = {
    $typeName: "tidings.contact.v1.UpdateContactRequest" as const,
    id,
    contact,
    updateMask,
    allowMissing: false,
  };
  return (await scene.handlers.updateContact(request, call)).contact as { fields: FormedJson };
}

async function companyOf(id: number): Promise<string | null> {
  const contact = await scene.handlers.getContact(
    { $typeName: "tidings.contact.v1.GetContactRequest", id },
    call,
  );
  return parse((contact as { fields: FormedJson }).fields).all.company;
}

async function linksOf(id: number): Promise<[name: string, isPrimary: string][]> {
  const { companies: list } = await scene.handlers.listContactCompanies(
    { $typeName: "tidings.contact.v1.ListContactCompaniesRequest", id },
    call,
  );
  return parse(list as Uint8Array).map((row: Record<string, string>) => [row.companyname, row.is_primary]);
}

const link = (id: number, contactId: number) => ({
  $typeName: "tidings.contact.v1.AddCompanyContactRequest" as const,
  id,
  contactId,
});

const unlink = (id: number, contactId: number) => ({
  $typeName: "tidings.contact.v1.RemoveCompanyContactRequest" as const,
  id,
  contactId,
});

test("a company that has the unique name is edited, in the manner of a PATCH", async () => {
  const companyname = name();
  const first = await addCompany({ companyname, companycity: "Paris" });
  const second = await addCompany({ companyname: companyname.toUpperCase(), companyphone: "1" });
  assert.deepEqual([first.created, second.created, second.id], [true, false, first.id]);
  const { all } = parse(second.fields);
  assert.deepEqual([all.companycity, all.companyphone], ["Paris", "1"]);
});

test("a company without a name is refused", async () => {
  await assert.rejects(addCompany({ companycity: "Paris" }), (error: Fault) => {
    return error.code === Code.INVALID_ARGUMENT && error.violations[0]?.field === "companyname";
  });
});

test("32 parallel contacts of a new company make one company", async () => {
  const company = name();
  const contacts = await Promise.all(
    Array.from({ length: 32 }, (_, index) => addContact({ firstname: `F${index}`, company })),
  );
  const { totalSize } = await companies.listCompanies(
    { $typeName: "tidings.contact.v1.ListCompaniesRequest", query: listQuery({ search: `"${company}"` }) },
    call,
  );
  assert.equal(totalSize, 1);
  for (const { id } of contacts) assert.deepEqual(await linksOf(id), [[company, "1"]]);
});

test("a contact that is refused leaves no company behind", async () => {
  const company = name();
  const contact = contactBody({ firstname: "A", company });
  contact.owner = Buffer.from("999999");
  const request = { $typeName: "tidings.contact.v1.CreateContactRequest" as const, contact };
  await assert.rejects(async () => scene.handlers.createContact(request, call), {
    code: Code.INVALID_ARGUMENT,
  });
  const query = listQuery({ search: `"${company}"` });
  const { totalSize } = await companies.listCompanies(
    { $typeName: "tidings.contact.v1.ListCompaniesRequest", query },
    call,
  );
  assert.equal(totalSize, 0);
});

test("the contact's company is the name of the primary one, and follows it", async () => {
  const [one, two] = [await addCompany({ companyname: name() }), await addCompany({ companyname: name() })];
  const nameOf = (company: Company) => parse(company.fields).all.companyname;
  const { id } = await addContact({ firstname: "Linked" });
  await companies.addCompanyContact(link(one.id, id), call);
  await companies.addCompanyContact(link(two.id, id), call);
  assert.equal(await companyOf(id), nameOf(one), "the first is primary");

  const renamed = name();
  await companies.updateCompany(
    {
      $typeName: "tidings.contact.v1.UpdateCompanyRequest",
      id: one.id,
      company: body({ companyname: renamed }),
      allowMissing: false,
    },
    call,
  );
  assert.equal(await companyOf(id), renamed, "a new name is mirrored");

  await companies.removeCompanyContact(unlink(one.id, id), call);
  assert.equal(await companyOf(id), nameOf(two), "the latest of the rest takes its place");
  await companies.deleteCompany({ $typeName: "tidings.contact.v1.DeleteCompanyRequest", id: two.id }, call);
  assert.equal(await companyOf(id), null);
  assert.deepEqual(await linksOf(id), []);
});

test("the event of a contact whose company is renamed or deleted carries the contact as it is", async () => {
  const company = await addCompany({ companyname: name() });
  const field = create(FieldSchema, { label: "Shoe size", type: "number" });
  await fieldsOf(scene.context, "lead").create(field, call);
  const values = {
    firstname: "Told",
    lastname: "\u{1f40c}".repeat(90),
    email: "told@test.example",
    shoe_size: 43,
  };
  const contact = contactBody(values, { tags: ["one", 'the "other"'] });
  const request = { $typeName: "tidings.contact.v1.CreateContactRequest" as const, contact };
  const { id } = (await scene.handlers.createContact(request, call)).contact as { id: number };
  await companies.addCompanyContact(link(company.id, id), call);
  await companies.updateCompany(
    {
      $typeName: "tidings.contact.v1.UpdateCompanyRequest",
      id: company.id,
      company: body({ companyname: name() }),
      allowMissing: false,
    },
    call,
  );
  assert.deepEqual(await lastTold(id), await toldNow(id));
  await companies.deleteCompany(
    { $typeName: "tidings.contact.v1.DeleteCompanyRequest", id: company.id },
    call,
  );
  assert.deepEqual(await lastTold(id), await toldNow(id));
});

/** The snapshot in the last event of a contact. */
async function lastTold(id: number): Promise<unknown> {
  const { message } = (await contactEventsOf(scene.context.database, id)).at(-1) ?? {};
  return snapshotIn(message as ContactSaved | undefined);
}

/** The contact as it is listed among all contacts. */
async function toldNow(id: number): Promise<unknown> {
  const [told] = await contactSnapshots(scene.context).list(
    { afterId: id - 1, pageSize: 1 },
    Date.now() + 5_000,
  );
  return snapshotIn(fromBinary(ContactSavedSchema, told?.payload ?? new Uint8Array()));
}

function snapshotIn(saved: ContactSaved | undefined): unknown {
  return saved?.snapshot;
}

test("deleting a primary company makes the latest other one primary", async () => {
  const [one, two, three] = [name(), name(), name()];
  const ids: number[] = [];
  for (const companyname of [one, two, three]) ids.push((await addCompany({ companyname })).id);
  const { id } = await addContact({ firstname: "A" }, ids);
  assert.equal(await companyOf(id), one);
  await companies.deleteCompany(
    { $typeName: "tidings.contact.v1.DeleteCompanyRequest", id: ids[0] as number },
    call,
  );
  assert.equal(await companyOf(id), three);
});

test("`companies` replaces all, `company` adds a primary one, a PUT without it removes that", async () => {
  const [one, two] = [await addCompany({ companyname: name() }), await addCompany({ companyname: name() })];
  const { id } = await addContact({ firstname: "A" }, [one.id]);
  await editContact(id, {}, { companies: [two.id] });
  assert.equal((await linksOf(id)).length, 1);
  const named = name();
  await editContact(id, { company: named });
  assert.equal(await companyOf(id), named);
  assert.equal((await linksOf(id)).length, 2);
  await editContact(id, { company: named.toUpperCase() });
  assert.equal(await companyOf(id), named, "the same company in other letters");
  await editContact(id, { firstname: "B" }, { replace: true });
  assert.equal((await linksOf(id)).length, 1);
  assert.equal(await companyOf(id), parse(two.fields).all.companyname);
  await assert.rejects(editContact(id, {}, { companies: [999_999] }), { code: Code.INVALID_ARGUMENT });
});

test("each link that comes or goes is in an event with its contact and company", async () => {
  const company = await addCompany({ companyname: name() });
  const { id } = await addContact({ firstname: "Told" });
  await companies.addCompanyContact(link(company.id, id), call);
  await companies.addCompanyContact(link(company.id, id), call);
  await companies.removeCompanyContact(unlink(company.id, id), call);
  const events = await contactEventsOf(scene.context.database, id);
  assert.deepEqual(
    events.flatMap(({ message }) => (message.companies as CompanyChange[]).map(({ added }) => added)),
    [true, false],
  );
});

test("companies are found by searches and filters on their fields", async () => {
  const companyname = name();
  const { id } = await addCompany({ companyname, companycity: "Ürümqi", companynumber_of_employees: 7 });
  for (const search of [`companyname:"${companyname}"`, "companycity:ür", `ids:${id}`]) {
    const { companies: found = [] } = await companies.listCompanies(
      { $typeName: "tidings.contact.v1.ListCompaniesRequest", query: listQuery({ search }) },
      call,
    );
    assert.deepEqual(
      found.map((company) => company.id),
      [id],
      search,
    );
  }
});

test("an actor with own rights sees and edits only companies it made", async () => {
  const actor: Actor = {
    kind: "user",
    id: 77,
    name: "Own Only",
    admin: false,
    permissions: { "lead:leads": ["viewown", "editown", "deleteown", "create"] },
  };
  const foreign = await addCompany({ companyname: name() });
  const own = await addCompany({ companyname: name() }, actor);
  const own77 = callAs(actor);
  const { companies: seen = [], totalSize } = await companies.listCompanies(
    { $typeName: "tidings.contact.v1.ListCompaniesRequest", query: listQuery() },
    own77,
  );
  assert.deepEqual([seen.map(({ id }) => id), totalSize], [[own.id], 1]);
  await assert.rejects(
    async () =>
      companies.getCompany({ $typeName: "tidings.contact.v1.GetCompanyRequest", id: foreign.id }, own77),
    { code: Code.NOT_FOUND },
  );
});

test("parallel links, unlinks, renames and deletions leave every contact with the name of its primary company", async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => addCompany({ companyname: name() })));
  const contacts = await Promise.all(
    Array.from({ length: 6 }, (_, index) => addContact({ firstname: `P${index}` })),
  );
  const work = contacts.flatMap(({ id }, index) =>
    made.flatMap((company, turn) => [
      () => companies.addCompanyContact(link(company.id, id), call),
      () =>
        (index + turn) % 3 === 0 ? companies.removeCompanyContact(unlink(company.id, id), call) : undefined,
      () => editContact(id, { company: `Shared ${turn}` }),
    ]),
  );
  const deletion = () =>
    companies.deleteCompany(
      { $typeName: "tidings.contact.v1.DeleteCompanyRequest", id: made[0]?.id as number },
      call,
    );
  const results = await Promise.allSettled([...work, deletion].map(async (step) => step()));
  for (const result of results)
    if (result.status === "rejected")
      assert.equal(result.reason.code, Code.NOT_FOUND, String(result.reason.cause));
  const rows = await scene.context.database.query(
    {
      text: `select c.id from contacts c
        left join company_contacts cc on cc.contact_id = c.id and cc.is_primary
        left join companies co on co.id = cc.company_id
        where c.company is distinct from co.companyname
          or (cc.contact_id is null and exists (select 1 from company_contacts x where x.contact_id = c.id))`,
    },
    [],
    Date.now() + 5_000,
  );
  assert.deepEqual(rows, []);
});
