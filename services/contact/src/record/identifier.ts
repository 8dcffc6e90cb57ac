import { violatedConstraint } from "@tidings/database/failure";
import type { Row } from "@tidings/database/statement";
import { foldedAddress } from "@tidings/runtime/email-address";
import type { Field, FieldSet } from "../field/catalogue.ts";
import type { FieldValues } from "../field/values.ts";
import type { Claim, OwnClaim } from "../rows/table.ts";

export function claimOf(field: Field, value: string | null | undefined): Claim | undefined {
  const normalised = value ? foldedAddress(value) : "";
  if (normalised === "") return undefined;
  return { key: `${field.alias}\n${normalised}`, field: field.alias, value: normalised };
}

/** The claims of a record: its identifiers follow from its values. */
export function claimsOf(set: FieldSet, row: Row): OwnClaim[] {
  return set.identifiers.flatMap((field) => {
    const claim = claimOf(field, row[field.alias]);
    return claim ? [{ ...claim, recordId: Number(row.id) }] : [];
  });
}

export function valueClaims(set: FieldSet, values: FieldValues): Claim[] {
  return set.identifiers.flatMap((field) => claimOf(field, values.get(field.alias)) ?? []);
}

/** The claims that the others lack. */
export function missingClaims(claims: OwnClaim[], others: OwnClaim[]): OwnClaim[] {
  return claims.filter(({ key }) => !others.some((other) => other.key === key));
}

/** Did somebody else take an identifier after we looked? Whoever looks again finds their record. */
export function isOutrun(error: unknown): boolean {
  return violatedConstraint(error)?.endsWith("_identifiers_pkey") === true;
}
