import { statements } from "@tidings/database/statements";
import type { Migration } from "kysely/migration";

/** Fields whose columns are text. */
const TEXTS =
  `title firstname lastname company position email mobile phone fax address1 address2 city state zipcode country
  preferred_locale timezone website facebook foursquare instagram linkedin skype twitter`.split(/\s+/);

/** Orders that few ask for: a list by one of them is sorted. */
const DROPPED = "date_identified points company position city state zipcode country".split(" ");

/** All texts of the contact `c`, between separators. */
const CONTACT_TEXT = `E'\\x1f' || concat_ws(E'\\x1f', ${TEXTS.map((name) => `c.${name}`).join(", ")},
  case when c.custom <> '{}' then (select string_agg(value, E'\\x1f') from jsonb_each_text(c.custom)) end) || E'\\x1f'`;
const EDITED = `update of ${TEXTS.join(", ")}, custom`;

/**
 * All texts of a contact in one, beside the contact: an index on its own row would be written anew with every change of
 * it, whatever changed, at three times the cost of the rest. The texts stand between separators, so that whole values are
 * found as well as parts.
 */
export const searchContacts: Migration = statements(
  "create table contact_search (id integer primary key, text text not null)",
  `create function contact_text(c contacts) returns text language sql stable return ${CONTACT_TEXT}`,
  "insert into contact_search (id, text) select c.id, contact_text(c) from contacts c",
  `create function write_contact_search() returns trigger language plpgsql set search_path from current as $$
   begin
     if tg_op = 'DELETE' then
       delete from contact_search where id = old.id;
     else
       insert into contact_search (id, text) values (new.id, contact_text(new))
       on conflict (id) do update set text = excluded.text where contact_search.text <> excluded.text;
     end if;
     return null;
   end $$`,
  `create trigger contacts_searched after insert or delete or ${EDITED} on contacts
   for each row execute function write_contact_search()`,
  "create index contact_search_text on contact_search using gin (text public.gin_trgm_ops)",
  "drop index contacts_search_text",
  ...DROPPED.map((column) => `drop index contacts_by_${column}`),
  "create index contacts_ip_address_ids on contacts using gin (ip_address_ids) where ip_address_ids <> '{}'",
  // New entries of these indexes are gathered and sorted in together: the more, the cheaper. The service does so every two
  // seconds (search-upkeep.ts), long before a writer would have to.
  ...["contact_search_text", "contacts_tag_ids", "contacts_custom_terms", "contacts_ip_address_ids"].map(
    (index) => `alter index ${index} set (gin_pending_list_limit = 16384)`,
  ),
  `create function sort_in_search() returns void language sql security definer set search_path from current as $$
     select gin_clean_pending_list('contact_search_text'), gin_clean_pending_list('contacts_tag_ids'),
       gin_clean_pending_list('contacts_custom_terms'), gin_clean_pending_list('contacts_ip_address_ids') $$`,
);

/** All that are made by one statement are written there by one. */
export const searchNewContacts: Migration = statements(
  `create function write_new_contact_search() returns trigger language plpgsql set search_path from current as $$
   begin
     insert into contact_search (id, text) select c.id, ${CONTACT_TEXT} from added c;
     return null;
   end $$`,
  "drop trigger contacts_searched on contacts",
  `create trigger contacts_searched after delete or ${EDITED} on contacts
   for each row execute function write_contact_search()`,
  `create trigger contacts_searched_new after insert on contacts referencing new table as added
   for each statement execute function write_new_contact_search()`,
);
