import { create, type DescMessage } from "@bufbuild/protobuf";
import { violatedConstraint } from "@tidings/database/failure";
import type { Call } from "@tidings/rpc/call";
import { toFault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import type {
  BatchResult,
  Repository,
  RepositoryOptions,
  ResourceContext,
  Saved,
} from "./repository-options.ts";
import { repositoryParts } from "./repository-parts.ts";
import { repositoryReads } from "./repository-reads.ts";
import { repositoryWrites } from "./repository-writes.ts";
import type { Resource } from "./resource.ts";
import type { Outcome } from "./row-change.ts";

/**
 * The standard methods over one table, all of them set-based: a single write is a batch of one. Every change leaves an
 * event in the outbox of the same transaction. Rows the caller may not see do not exist for it (NOT_FOUND); rows it may
 * see but not change are PERMISSION_DENIED.
 */
export function repository<T extends Resource, L = undefined>(
  context: ResourceContext,
  // Typed by message and not by schema: that keeps handler tables free of casts.
  schema: DescMessage & { readonly field: object },
  options: RepositoryOptions<T, L> = {},
): Repository<T> {
  const parts = repositoryParts(context, schema, options);
  const writes = repositoryWrites(parts);
  const empty = () => create(schema) as T;
  return {
    ...repositoryReads(parts),
    create: (message, call) => one(writes.create([message], call), call),
    update: (update, call) => one(writes.updateOne(update, call), call),
    delete: async (id, call) => (await one(writes.delete([id], call))).item,
    batchCreate: (messages, call) => many(messages, (some) => writes.create(some, call), empty),
    batchUpdate: (updates, call) => many(updates, (some) => writes.update(some, call), empty),
    batchDelete: (ids, call) => many(ids, (some) => writes.delete(some, call), empty),
  };
}

/** The call hears of the version, where there is one afterwards. */
async function one<T>(outcomes: Promise<Outcome<T>[]>, call?: Call): Promise<Saved<T>> {
  const [outcome] = await outcomes;
  if (!outcome) throw new Error("a batch of one has one outcome");
  if ("fault" in outcome) throw outcome.fault;
  call?.showsVersion?.(outcome.saved.version);
  return { item: outcome.saved.message, created: !outcome.before };
}

/** Items fail alone. Only a clash the database found fails all of them: then each is tried by itself. */
async function many<I, T>(
  items: I[],
  write: (items: I[]) => Promise<Outcome<T>[]>,
  empty: () => T,
): Promise<BatchResult<T>> {
  const outcomes = await write(items).catch(async (error) => {
    if (violatedConstraint(error) === undefined) throw error;
    const alone: Outcome<T>[] = [];
    for (const item of items)
      alone.push(...(await write([item]).catch((fault) => [{ fault: toFault(fault) }])));
    return alone;
  });
  return {
    items: outcomes.map((outcome) => ("saved" in outcome ? outcome.saved.message : empty())),
    statuses: outcomes.map((outcome) =>
      itemStatus("fault" in outcome ? outcome : { created: !outcome.before }),
    ),
  };
}
