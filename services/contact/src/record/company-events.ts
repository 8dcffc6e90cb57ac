import {
  CompanyCreatedSchema,
  CompanyDeletedSchema,
  CompanyUpdatedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import type { Row } from "@tidings/store/database";
import { type DomainEvent, domainEvent } from "@tidings/store/outbox";
import type { FieldSet } from "../field/catalogue.ts";
import { companyTable } from "../rows/company.ts";
import { changedNames, snapshotOf } from "./change.ts";
import type { RowChange } from "./save.ts";

const SUBJECT = "tidings.contact.company";

/** What a saved company tells the others. */
export function companySaved({ before, row }: RowChange, set: FieldSet): DomainEvent {
  const aggregate = { id: Number(row.id), version: Number(row.version) };
  const snapshot = snapshotOf(row);
  if (!before) return domainEvent(`${SUBJECT}.created`, aggregate, CompanyCreatedSchema, { snapshot });
  const changed = changedNames(companyTable, { before, row }, set);
  return domainEvent(`${SUBJECT}.updated`, aggregate, CompanyUpdatedSchema, { snapshot, changed });
}

export function companyDeleted(row: Row): DomainEvent {
  const aggregate = { id: Number(row.id), version: Number(row.version) + 1 };
  return domainEvent(`${SUBJECT}.deleted`, aggregate, CompanyDeletedSchema, {
    snapshot: snapshotOf({ ...row, id: null }),
  });
}
