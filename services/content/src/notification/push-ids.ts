import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { PUSH_IDS_MAX } from "./register-push.ts";

/** The ids under which the provider knows the browsers, or the apps, of a contact that take notifications. */
export type PushIdsOf = (contactId: number, isMobile: boolean) => Promise<string[]>;

const ASKED_MAX = 1_000;

const idsStatement = prepared(
  "push_ids_of_contacts",
  `select asked.contact_id, p.push_id from unnest($1::integer[]) as asked (contact_id) cross join lateral (
     select p.push_id from push_ids p where p.contact_id = asked.contact_id and p.is_enabled and p.is_mobile = $2::boolean
     order by p.last_seen desc limit ${PUSH_IDS_MAX}) p`,
);

/** Sends that ask at the same time share a look. */
export function pushIdFinder(database: Database): PushIdsOf {
  const find = coalesce(
    async (asked: { contactId: number; isMobile: boolean }[]) => {
      const ids = [...new Set(asked.map(({ contactId }) => contactId))];
      const values = [ids, asked[0]?.isMobile ?? false];
      const rows = await database.query(idsStatement, values, backgroundDeadline());
      return Map.groupBy(rows, ({ contact_id }) => Number(contact_id));
    },
    { itemsMax: ASKED_MAX },
  );
  return async (contactId, isMobile) => {
    const rows = (await find(isMobile ? "apps" : "browsers", { contactId, isMobile })).get(contactId) ?? [];
    return rows.map(({ push_id }) => push_id ?? "");
  };
}
