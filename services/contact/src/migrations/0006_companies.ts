import { type Kysely, sql } from "kysely";

export async function createCompanies(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table companies (
      id integer generated always as identity primary key,
      version integer not null default 1,
      is_published boolean not null default true,
      date_added timestamptz not null,
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text,
      owner_id integer,
      score integer not null default 0,

      companyaddress1 text,
      companyaddress2 text,
      companyemail text,
      companyphone text,
      companycity text,
      companystate text,
      companyzipcode text,
      companycountry text,
      companyname text,
      companywebsite text,
      companynumber_of_employees numeric,
      companyfax text,
      companyannual_revenue numeric,
      companyindustry text,
      companydescription text,
      custom jsonb not null default '{}'
    )`.execute(db);
  await sql`create index companies_companyname on companies (lower(companyname), id)`.execute(db);
  await sql`create index companies_owner_id on companies (owner_id) where owner_id is not null`.execute(db);
  await sql`
    create index companies_custom_terms on companies using gin (custom_terms(custom)) where custom <> '{}'`.execute(
    db,
  );

  await sql`
    create table company_identifiers (
      field text not null,
      value text not null,
      company_id integer not null references companies on delete cascade,
      primary key (field, value)
    )`.execute(db);
  await sql`create index company_identifiers_company_id on company_identifiers (company_id)`.execute(db);

  await sql`
    create table company_contacts (
      contact_id integer not null references contacts on delete cascade,
      company_id integer not null references companies on delete cascade,
      is_primary boolean not null,
      date_added timestamptz not null,
      primary key (contact_id, company_id)
    )`.execute(db);
  await sql`create index company_contacts_company_id on company_contacts (company_id, contact_id)`.execute(
    db,
  );
  await sql`
    create unique index company_contacts_primary on company_contacts (contact_id) where is_primary`.execute(
    db,
  );
}
