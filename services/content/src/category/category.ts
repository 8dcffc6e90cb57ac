import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Category, CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { type Condition, ConditionSchema, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { batchWithin } from "@tidings/resource/batch-within";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

/** Groups of permissions that have categories of their own, by bundle; those of others are `category:categories`. */
const GROUPS = new Map([
  ...[
    "asset",
    "campaign",
    "dynamiccontent",
    "email",
    "form",
    "notification",
    "page",
    "point",
    "sms",
    "stage",
    "webhook",
  ].map((name) => [name, name] as const),
  ["messages", "channel"],
  ["plugin:focus", "focus"],
  ["plugin:svcSocial", "svcSocial"],
]);

/** Categories, each under the permission that its bundle has. The RPCs admit everybody: who may do what is decided here. */
export function categories(context: ResourceContext): Repository<Category> {
  const rows = repository<Category>(context, CategorySchema);

  /** The row, for who may do this with it. */
  const permitted = async (id: number, verb: Verb, call: Call): Promise<Category> => {
    requireAny(call, verb);
    const category = await rows.get(id, withAll(call));
    const fault = faultOf(category, verb, call);
    if (fault) throw fault;
    return category;
  };

  const byId = async (ids: number[], call: Call): Promise<Map<number, Category>> => {
    const { items } = await rows.list(create(ListQuerySchema, { ids }), withAll(call));
    return new Map(items.map((category) => [category.id, category]));
  };

  return {
    get: (id, call) => permitted(id, Verb.VIEW, call),
    async list(query, call) {
      requireAny(call, Verb.VIEW);
      const asked = create(ListQuerySchema, query);
      const where = [...asked.where, ...visibleBundles(call)];
      const page = await rows.list(create(ListQuerySchema, { ...asked, where }), withAll(call));
      // Asked for by their ids, rows are not filtered.
      return { ...page, items: page.items.filter((category) => !faultOf(category, Verb.VIEW, call)) };
    },
    async create(message, call) {
      if (!mayDo(message?.bundle, Verb.CREATE, call)) throw denied();
      return rows.create(message, withAll(call));
    },
    async update(update, call) {
      requireAny(call, Verb.EDIT);
      const known = (await byId([update.id], call)).get(update.id);
      if (known) await permitted(update.id, Verb.EDIT, call);
      else if (update.allowMissing && !mayDo(update.message?.bundle, Verb.CREATE, call)) throw denied();
      return rows.update(update, withAll(call));
    },
    async delete(id, call) {
      await permitted(id, Verb.DELETE, call);
      return rows.delete(id, withAll(call));
    },
    ...categoryBatches(rows, byId),
  };
}

type Batches = Pick<Repository<Category>, "batchCreate" | "batchUpdate" | "batchDelete">;

function categoryBatches(
  rows: Repository<Category>,
  byId: (ids: number[], call: Call) => Promise<Map<number, Category>>,
): Batches {
  const empty = () => create(CategorySchema);
  return {
    async batchCreate(messages, call) {
      requireAny(call, Verb.CREATE);
      const faults = messages.map((message) =>
        mayDo(message?.bundle, Verb.CREATE, call) ? undefined : denied(),
      );
      return batchWithin(messages, faults, empty, (allowed) => rows.batchCreate(allowed, withAll(call)));
    },
    async batchUpdate(updates, call) {
      requireAny(call, Verb.EDIT);
      const ids = updates.map(({ id }) => id);
      const known = await byId(ids, call);
      const faults = updates.map(({ id, message, allowMissing }) => {
        const category = known.get(id);
        if (category) return faultOf(category, Verb.EDIT, call);
        return allowMissing && !mayDo(message?.bundle, Verb.CREATE, call) ? denied() : undefined;
      });
      return batchWithin(updates, faults, empty, (allowed) => rows.batchUpdate(allowed, withAll(call)));
    },
    async batchDelete(ids, call) {
      requireAny(call, Verb.DELETE);
      const known = await byId(ids, call);
      const faults = ids.map((id) => {
        const category = known.get(id);
        return category && faultOf(category, Verb.DELETE, call);
      });
      return batchWithin(ids, faults, empty, (allowed) => rows.batchDelete(allowed, withAll(call)));
    },
  };
}

function mayDo(bundle: string | undefined, verb: Verb, call: Call): boolean {
  const group = GROUPS.get(bundle ?? "");
  const held = group ? reach(call.actor, `${group}:categories`, verb) : call.reach(verb);
  return held !== "none";
}

/** An invisible category is answered as a missing one. */
function faultOf({ bundle }: Category, verb: Verb, call: Call): Fault | undefined {
  if (!mayDo(bundle, Verb.VIEW, call)) return notFound();
  return mayDo(bundle, verb, call) ? undefined : denied();
}

/** Throws PERMISSION_DENIED for who may do this with no category at all. */
function requireAny(call: Call, verb: Verb): void {
  if (!["", ...GROUPS.keys()].some((bundle) => mayDo(bundle, verb, call))) throw denied();
}

/** The bundles whose categories the caller sees, as a clause of a list; none when that is all of them. */
function visibleBundles(call: Call): Condition[] {
  const known = [...GROUPS.keys()];
  const isVisible = (bundle: string) => mayDo(bundle, Verb.VIEW, call);
  const seesOthers = isVisible("");
  const values = known.filter((bundle) => isVisible(bundle) !== seesOthers);
  if (seesOthers && values.length === 0) return [];
  return [create(ConditionSchema, { expr: seesOthers ? "notIn" : "in", column: "bundle", values })];
}

/** The right was checked before: the repository is not asked again. */
function withAll(call: Call): Call {
  return { ...call, reach: () => "all" };
}
