import { statements } from "@tidings/database/statements";
import type { Migration } from "kysely/migration";

/**
 * When each contact was modified, once more beside the contact: with an index on its own row each change of a contact wrote new
 * entries into all of its indexes, each on a page of its own at a million contacts. Without it Postgres leaves the indexes as they
 * are (heap-only tuples), as long as the new row fits on the page of the old one: pages keep room for that.
 */
export const orderModificationsBeside: Migration = statements(
  `create table contact_modified (id integer primary key, date_modified timestamptz)
   with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)`,
  `create function write_contact_modified() returns trigger language plpgsql set search_path from current as $$
   begin
     if tg_op = 'INSERT' then
       insert into contact_modified (id, date_modified) select c.id, c.date_modified from added c;
     elsif tg_op = 'DELETE' then
       delete from contact_modified m using removed c where m.id = c.id;
     else
       update contact_modified set date_modified = new.date_modified where id = new.id;
     end if;
     return null;
   end $$`,
  `create trigger contacts_modified_new after insert on contacts referencing new table as added
   for each statement execute function write_contact_modified()`,
  `create trigger contacts_modified_gone after delete on contacts referencing old table as removed
   for each statement execute function write_contact_modified()`,
  `create trigger contacts_modified after update of date_modified on contacts
   for each row when (old.date_modified is distinct from new.date_modified) execute function write_contact_modified()`,
  "insert into contact_modified (id, date_modified) select c.id, c.date_modified from contacts c",
  "create index contact_modified_by_date on contact_modified (date_modified desc nulls last, id desc)",
  "drop index contacts_by_date_modified",
  "alter table contacts set (fillfactor = 85)",
);
