import { type Kysely, sql } from "kysely";

/** Facts of other services about contacts: as much as segments and searches need. */
export async function createProjections(db: Kysely<unknown>): Promise<void> {
  const contact = sql`contact_id integer not null references contacts on delete cascade`;
  // The latest version that was seen of each entity, deleted ones too: a late event changes nothing.
  await sql`
    create table projected_versions (
      kind text not null,
      id integer not null,
      version integer not null,
      primary key (kind, id)
    )`.execute(db);

  await sql`
    create table email_sends (
      id uuid primary key,
      ${contact},
      email_id integer not null,
      date_queued timestamptz,
      date_sent timestamptz,
      date_read timestamptz,
      read_count integer not null default 0
    )`.execute(db);
  await sql`create index email_sends_contact_id on email_sends (contact_id, email_id)`.execute(db);
  await sql`create index email_sends_email_id on email_sends (email_id, contact_id)`.execute(db);
  await sql`
    create table email_segments (
      email_id integer not null,
      segment_id integer not null,
      primary key (email_id, segment_id)
    )`.execute(db);

  await sql`
    create table page_hits (
      id uuid primary key,
      ${contact},
      date_hit timestamptz not null,
      url text,
      url_title text,
      referer text,
      source text,
      source_id integer,
      page_id integer,
      redirect_id integer,
      email_id integer
    )`.execute(db);
  await sql`create index page_hits_contact_id on page_hits (contact_id, date_hit)`.execute(db);
  await sql`create index page_hits_page_id on page_hits (page_id, contact_id) where page_id is not null`.execute(
    db,
  );
  await sql`create index page_hits_source on page_hits (source, source_id, contact_id)`.execute(db);

  for (const [table, id] of [
    ["sms_sends", "sms_id"],
    ["notification_sends", "notification_id"],
    ["asset_downloads", "asset_id"],
  ] as const) {
    await sql`
      create table ${sql.table(table)} (
        id uuid primary key,
        ${contact},
        ${sql.ref(id)} integer not null,
        date_added timestamptz not null
      )`.execute(db);
    await sql`create index ${sql.ref(`${table}_contact_id`)} on ${sql.table(table)} (contact_id)`.execute(db);
    await sql`create index ${sql.ref(`${table}_${id}`)} on ${sql.table(table)} (${sql.ref(id)}, contact_id)`.execute(
      db,
    );
  }
  await sql`alter table notification_sends add column is_mobile boolean not null default false`.execute(db);

  await sql`create table push_ids (${contact}, push_id text not null, primary key (contact_id, push_id))`.execute(
    db,
  );
  await sql`
    create table contact_categories (${contact}, category_id integer not null, primary key (contact_id, category_id))`.execute(
    db,
  );
  await sql`
    create table campaign_contacts (
      campaign_id integer not null,
      ${contact},
      version integer not null,
      date_added timestamptz not null,
      manually_added boolean not null,
      manually_removed boolean not null,
      primary key (campaign_id, contact_id)
    )`.execute(db);
  await sql`create index campaign_contacts_contact_id on campaign_contacts (contact_id)`.execute(db);
}
