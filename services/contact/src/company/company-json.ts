import { create } from "@bufbuild/protobuf";
import { fieldsWriter } from "@tidings/contacts/fields-json";
import type { Row } from "@tidings/database/statement";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { fillStamps, perCatalogue } from "../record/answer.ts";

/** Everything a company is turned into, prepared once for a catalogue of fields. */
export interface CompanyWriter {
  /** The message of a company as the API answers it. */
  message(row: Row): Company;
  /** The messages of one answer: what is constant in them comes with the first. */
  messages(): (row: Row) => Company;
}

export const companyWriter = perCatalogue(createWriter);

function createWriter({ company: set }: FieldCatalogue): CompanyWriter {
  const fields = fieldsWriter(set);
  const write = (stored: Row, fieldsOf: (row: Row) => FormedJson): Company => {
    const row = withCustomValues(stored, set);
    const company = create(CompanySchema);
    fillStamps(company, row);
    if (row.owner) company.owner = Buffer.from(row.owner);
    company.score = Number(row.score);
    company.fields = fieldsOf(row);
    return company;
  };
  return {
    message: (stored) => write(stored, fields.alone),
    messages() {
      const fieldsOf = fields.together();
      return (stored) => write(stored, fieldsOf);
    },
  };
}
