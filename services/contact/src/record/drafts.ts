import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { unexpected } from "@tidings/rpc/expected";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import type { FieldSet } from "../field/catalogue.ts";
import { claimOf, claimsOf } from "./identifier.ts";
import type { RowChange, SaveRequest } from "./kind.ts";
import { mayReach, type OwnerColumn } from "./reach.ts";

/** The records of a batch while it is worked on: each as it was and as the items so far have made it. */
export function draftsOf(rows: Row[], newIds: Row[], set: FieldSet, empty: Row) {
  const drafts = new Map<number, RowChange>(rows.map((row) => [Number(row.id), { before: row, row }]));
  const ownerOf = new Map(
    rows.flatMap((row) => claimsOf(set, row)).map(({ key, recordId }) => [key, recordId]),
  );
  const unused = newIds.values();

  /** The newest record that has one of the identifiers. */
  const match = (claims: { key: string }[]): number | undefined => {
    const found = claims.flatMap(({ key }) => ownerOf.get(key) ?? []);
    const age = (id: number) => drafts.get(id)?.row.date_added ?? "";
    return found.sort((a, b) => (age(a) < age(b) ? 1 : age(a) > age(b) ? -1 : b - a))[0];
  };

  return {
    /** By its id; without one, or where the id is nobody's and may be missing, by what it claims. */
    find(
      { id, allowMissing, isNew }: SaveRequest<unknown>,
      claims: { key: string }[],
    ): RowChange | undefined {
      if (isNew) return undefined;
      const byId = id === undefined ? undefined : drafts.get(id);
      if (byId || (id !== undefined && !allowMissing)) return byId;
      const found = match(claims);
      return found === undefined ? undefined : drafts.get(found);
    },
    create(): RowChange {
      const { value } = unused.next();
      if (value === undefined) throw new Error("more records were made than ids were taken");
      return { before: undefined, row: { ...empty, id: value.id ?? "" } };
    },
    /** The field whose value another record has. */
    rivalOf(row: Row): string | undefined {
      return set.identifiers.find((field) => {
        const claim = claimOf(field, row[field.alias]);
        const owner = claim && ownerOf.get(claim.key);
        return owner !== undefined && owner !== Number(row.id);
      })?.alias;
    },
    /** Makes a new state known to the items that follow. */
    keep(draft: RowChange, row: Row): void {
      for (const { key, recordId } of claimsOf(set, draft.row)) {
        if (ownerOf.get(key) === recordId) ownerOf.delete(key);
      }
      for (const { key, recordId } of claimsOf(set, row)) ownerOf.set(key, recordId);
      draft.row = row;
      drafts.set(Number(row.id), draft);
    },
    changes: () => [...drafts.values()].filter(({ before, row }) => row !== before),
  };
}

/** Why this caller may not save the record; `row` is undefined when there is none yet. */
export function refusalOf(
  { request, type }: { request: SaveRequest<unknown>; type: string },
  row: Row | undefined,
  owner: OwnerColumn,
  call: Call,
): Fault | undefined {
  if (!row) {
    if (request.id !== undefined && !request.allowMissing) return notFound();
    if (call.reach(Verb.CREATE) === "none") return denied();
    return request.id === undefined
      ? undefined
      : unexpected(request, type, { id: request.id, version: undefined });
  }
  if (!mayReach(call, Verb.VIEW, row, owner)) return row.id === String(request.id) ? notFound() : denied();
  if (!mayReach(call, Verb.EDIT, row, owner)) return denied();
  const id = request.id ?? Number(row.id);
  return unexpected(request, type, { id, version: Number(row.version) });
}
