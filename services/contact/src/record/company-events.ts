import { create } from "@bufbuild/protobuf";
import { companySnapshot } from "@tidings/contacts/row-snapshot";
import type { Row } from "@tidings/database/statement";
import { type DomainEvent, domainEvent, encodeEvent } from "@tidings/messaging/outbox";
import {
  CompanyCreatedSchema,
  CompanyDeletedSchema,
  CompanyUpdatedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import type { SnapshotSource } from "@tidings/resource/snapshots";
import type { FieldContext, FieldSet } from "../field/catalogue.ts";
import { COMPANY_SELECT, companyTable } from "../rows/company.ts";
import type { RowChange } from "./kind.ts";
import { recordSnapshots } from "./snapshots.ts";
import { changedNames } from "./write.ts";

const SUBJECT = "tidings.contact.company";

/** The event of a saved company. */
export function companySaved({ before, row }: RowChange, set: FieldSet): DomainEvent {
  const aggregate = { id: Number(row.id), version: Number(row.version) };
  const snapshot = companySnapshot(row);
  if (!before) return domainEvent(`${SUBJECT}.created`, aggregate, CompanyCreatedSchema, { snapshot });
  const changed = changedNames(companyTable, { before, row }, set);
  return domainEvent(`${SUBJECT}.updated`, aggregate, CompanyUpdatedSchema, { snapshot, changed });
}

/** All companies as the event of their last save carried them, without what it changed. */
export function companySnapshots(context: Pick<FieldContext, "database" | "catalogues">): SnapshotSource {
  return recordSnapshots(context, {
    type: CompanyUpdatedSchema.typeName,
    table: "companies",
    alias: "co",
    select: COMPANY_SELECT,
    fields: ({ company }) => company,
    saved: (row) =>
      encodeEvent(CompanyUpdatedSchema, create(CompanyUpdatedSchema, { snapshot: companySnapshot(row) })),
  });
}

export function companyDeleted(row: Row): DomainEvent {
  const aggregate = { id: Number(row.id), version: Number(row.version) + 1 };
  return domainEvent(`${SUBJECT}.deleted`, aggregate, CompanyDeletedSchema, {
    snapshot: companySnapshot(row),
  });
}
