import { create } from "@bufbuild/protobuf";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import type { Row } from "@tidings/store/database";
import { timestampFromText } from "@tidings/store/timestamp";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { fieldsWriter } from "../field/fields-json.ts";
import { isoTime } from "../field/value.ts";
import { withCustomValues } from "../field/values.ts";

/** Everything a company is turned into, prepared once for a catalogue of fields. */
export interface CompanyWriter {
  /** What the API answers. */
  message(row: Row): Company;
  /** The company of a webhook, written from a snapshot. */
  webhookJson(snapshot: Uint8Array): Buffer;
  /** The same of a company as it is stored. */
  currentJson(row: Row): Buffer;
}

const writers = new WeakMap<FieldCatalogue, CompanyWriter>();

export function companyWriter(catalogue: FieldCatalogue): CompanyWriter {
  const known = writers.get(catalogue);
  if (known) return known;
  const writer = createWriter(catalogue);
  writers.set(catalogue, writer);
  return writer;
}

function createWriter({ company: set }: FieldCatalogue): CompanyWriter {
  const fields = fieldsWriter(set);
  const json = (row: Row) => Buffer.from(`{${webhookMembers(row)},"fields":{${fields.groups(row)}}}`);
  return {
    message(stored) {
      const row = withCustomValues(stored, set);
      const company = create(CompanySchema);
      company.id = Number(row.id);
      company.isPublished = row.is_published === "t";
      if (row.date_added) company.dateAdded = timestampFromText(row.date_added);
      if (row.created_by) company.createdBy = Number(row.created_by);
      if (row.created_by_user) company.createdByUser = row.created_by_user;
      if (row.date_modified) company.dateModified = timestampFromText(row.date_modified);
      if (row.modified_by) company.modifiedBy = Number(row.modified_by);
      if (row.modified_by_user) company.modifiedByUser = row.modified_by_user;
      if (row.owner) company.owner = Buffer.from(row.owner);
      company.score = Number(row.score);
      company.fields = fields.json(row);
      return company;
    },
    webhookJson: (snapshot) => json(JSON.parse(Buffer.from(snapshot).toString())),
    currentJson: (row) => json(withCustomValues(row, set)),
  };
}

function webhookMembers(row: Row): string {
  const members = {
    isPublished: row.is_published === "t",
    dateAdded: row.date_added ? isoTime(row.date_added) : null,
    dateModified: row.date_modified ? isoTime(row.date_modified) : null,
    createdBy: row.created_by ? Number(row.created_by) : null,
    createdByUser: row.created_by_user ?? null,
    modifiedBy: row.modified_by ? Number(row.modified_by) : null,
    modifiedByUser: row.modified_by_user ?? null,
    id: row.id ? Number(row.id) : null,
    score: Number(row.score ?? 0),
    owner: row.owner ? JSON.parse(row.owner) : null,
  };
  return JSON.stringify(members).slice(1, -1);
}
