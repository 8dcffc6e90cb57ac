import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { invalid, NOT_VALID } from "@tidings/rpc/fault";
import { folded } from "@tidings/runtime/folded";
import type { FieldContext, FieldSet } from "../field/catalogue.ts";
import { missingValues, setFieldValues } from "../field/values.ts";
import { companySaved } from "../record/company-events.ts";
import type { Application, Applied, RecordKind, RowChange } from "../record/kind.ts";
import { type RecordSaver, recordSaver } from "../record/save.ts";
import { added, edited } from "../record/write.ts";
import { companyTable, EMPTY_COMPANY } from "../rows/company.ts";
import { ownersById } from "../rows/owner.ts";
import { type CompanyChange, readCompanyChange } from "./body.ts";
import { appendUpdated } from "./updated-contacts.ts";

/** JSON of the users that the companies of a batch are to belong to, by id. */
type Owners = ReadonlyMap<number, string>;

/** Saves companies. One without an id that has the unique identifiers of another one edits that. */
export function companySaver(context: FieldContext): RecordSaver<Company> {
  return recordSaver(context, companyKind(context));
}

const companyKind = ({ outbox }: FieldContext): RecordKind<Company, CompanyChange, Owners> => ({
  type: CompanySchema.typeName,
  table: companyTable,
  ownerColumn: "created_by",
  empty: EMPTY_COMPANY,
  fieldsOf: ({ company }) => company,
  read: readCompanyChange,
  lookUp: (transaction, changes) =>
    ownersById(
      transaction,
      changes.flatMap(({ owner }) => owner ?? []),
    ),
  apply: applyChange,
  writeRest(transaction, changes, _owners, { contact: set }) {
    const renamed = changes.filter(({ before, row }) => before && before.companyname !== row.companyname);
    if (renamed.length > 0) return mirrorNames(transaction, renamed, { set, outbox });
  },
  event: companySaved,
});

function applyChange(application: Application<CompanyChange, Owners>): Applied {
  const { row: before, isNew, change, mode, set, now, call, lookups } = application;
  const row = { ...before };
  setFieldValues(row, change.values, set, isNew);
  if (!isNew) fillBlanksWithDefaults(row, application);
  row.name_key = row.companyname ? folded(row.companyname) : null;
  if (change.isPublished !== undefined) row.is_published = change.isPublished ? "t" : "f";
  if (change.score !== undefined) row.score = String(change.score);
  if (change.owner !== undefined) {
    const owner = change.owner === null ? null : lookups.get(change.owner);
    if (owner === undefined) return invalid([{ field: "owner", message: NOT_VALID }]);
    Object.assign(row, { owner_id: change.owner === null ? null : String(change.owner), owner });
  }
  const sent = isNew || mode === "replace" ? "all" : new Set(Object.keys(change.sent));
  const missing = missingValues(row, sent, set);
  if (missing.length > 0) return invalid(missing);
  if (isNew) return added(row, call.actor, now);
  if (companyTable.changedColumns(before, row).length === 0) return "unchanged";
  return edited(row, call.actor, now);
}

/** A POST or PUT fills what is empty, also in a company that is there already. */
function fillBlanksWithDefaults(row: Row, { mode, set }: Application<CompanyChange, Owners>): void {
  if (mode === "patch") return;
  for (const { alias, defaultValue } of set.fields) row[alias] ??= defaultValue;
}

const mirrorStatement = prepared(
  "companies_mirror_names",
  `with named as materialized (
     select c.id, n.name from unnest($1::integer[], $2::text[]) as n(company_id, name)
     join company_contacts cc on cc.company_id = n.company_id and cc.is_primary
     join contacts c on c.id = cc.contact_id and c.company is distinct from n.name
     order by c.id for update of c)
   update contacts c set company = n.name, version = c.version + 1 from named n where c.id = n.id returning c.id`,
);

/** The contacts of a company that is called otherwise now carry its new name. */
async function mirrorNames(
  transaction: Transaction,
  renamed: RowChange[],
  { set, outbox }: { set: FieldSet; outbox: Outbox },
): Promise<void> {
  const mirrored = await transaction.query(mirrorStatement, [
    renamed.map(({ row }) => Number(row.id)),
    renamed.map(({ row }) => row.companyname),
  ]);
  const changed = new Map(mirrored.map(({ id }) => [Number(id), { changed: ["company"] }]));
  await appendUpdated(transaction, { set, outbox }, changed);
}
