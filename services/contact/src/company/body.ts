import { create } from "@bufbuild/protobuf";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { parseJson } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";
import type { FieldSet } from "../field/catalogue.ts";
import { type ChangeMode, readFieldValues } from "../field/values.ts";
import { readReference } from "../input/reference.ts";
import type { RecordChange } from "../record/kind.ts";

/** The change of a company that a body asks for, checked and in the text form of its columns. */
export interface CompanyChange extends RecordChange {
  isPublished: boolean | undefined;
  score: number | undefined;
  /** Id of a user; null clears, undefined keeps. */
  owner: number | null | undefined;
}

/** Reads a body. Unknown members are ignored; every bad one is reported. */
export function readCompanyChange(
  message: Company | undefined,
  mode: ChangeMode,
  set: FieldSet,
): { change: CompanyChange; violations: Violation[] } {
  const company = message ?? create(CompanySchema);
  const sent: Record<string, unknown> = company.values.length > 0 ? parseJson(company.values) : {};
  const violations: Violation[] = [];
  const options = { set, mode, writesBlanks: company.overwriteWithBlank, keptByReplace: new Set<string>() };
  const change: CompanyChange = {
    sent,
    values: readFieldValues(sent, options, violations),
    isPublished: company.isPublished,
    score: company.score,
    owner: readReference("owner", company.owner, violations),
  };
  return { change, violations };
}
