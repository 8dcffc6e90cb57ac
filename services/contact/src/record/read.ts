import { awaitRows } from "@tidings/resource/await-rows";
import type { Call } from "@tidings/rpc/call";
import { type Fault, invalid } from "@tidings/rpc/fault";
import type { FieldCatalogue, FieldContext, FieldSet } from "../field/catalogue.ts";
import { type ChangeMode, unknownFields } from "../field/values.ts";
import type { RecordChange, RecordKind, SaveRequest } from "./kind.ts";

/** Requests that were read under a catalogue. */
export interface ReadItems<M, C> {
  catalogue: FieldCatalogue;
  items: Item<M, C>[];
  call: Call;
}

export interface Item<M, C> {
  request: SaveRequest<M>;
  mode: ChangeMode;
  change: C;
  /** Members of the body that name no field. */
  unknown: string[];
  fault: Fault | undefined;
}

/** Reads bodies, and brings named entities of other services that are not replicated yet. */
export async function readItems<M, C extends RecordChange, L>(
  context: FieldContext,
  kind: RecordKind<M, C, L>,
  requests: SaveRequest<M>[],
  current: FieldCatalogue,
  call: Call,
): Promise<ReadItems<M, C>> {
  const { catalogue, items } = await readBodies(context, kind, requests, current);
  const owners = items.flatMap(({ change }) => change.owner ?? []);
  const stages = items.flatMap(({ change }) => change.stage ?? []);
  await awaitRows(context.database, "owners", owners, call.deadlineMs);
  await awaitRows(context.database, "stages", stages, call.deadlineMs);
  return { catalogue, items, call };
}

/** A name that is no known field may be one that another replica added a moment ago. */
async function readBodies<M, C extends RecordChange, L>(
  { catalogues }: FieldContext,
  kind: RecordKind<M, C, L>,
  requests: SaveRequest<M>[],
  current: FieldCatalogue,
) {
  const read = (catalogue: FieldCatalogue) => {
    const set = kind.fieldsOf(catalogue);
    return { catalogue, items: requests.map((request) => readItem(kind, request, set)) };
  };
  const result = read(current);
  if (result.items.every(({ unknown }) => unknown.length === 0)) return result;
  const latest = await catalogues.latest();
  return latest === current ? result : read(latest);
}

function readItem<M, C extends RecordChange, L>(
  kind: RecordKind<M, C, L>,
  request: SaveRequest<M>,
  set: FieldSet,
): Item<M, C> {
  const mode: ChangeMode = request.id === undefined ? "create" : request.isReplaced ? "replace" : "patch";
  const { change, violations } = kind.read(request.message, mode, set);
  const unknown = unknownFields(change.sent, set);
  return { request, mode, change, unknown, fault: violations.length > 0 ? invalid(violations) : undefined };
}
