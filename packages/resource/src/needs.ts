import type { DescMessage } from "@bufbuild/protobuf";
import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { badRequest, type Violation } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

/** Entities that a property names by their ids. The writer has to have the right to view them. */
export interface NamedThings {
  field: string;
  schema: DescMessage;
  ids: number[];
}

/** An action that the service will perform because of this message. The writer has to have the right to perform it. */
export interface NeededRight {
  field: string;
  permission: string;
  verb: Verb;
  /** The action in words: "delete contacts". */
  does: string;
  /** The action reaches rows of all owners, so a right to the writer's own rows is not enough. */
  toAll?: boolean;
}

/** A condition on the writer besides the right to write the message. */
export type Need = NamedThings | NeededRight;

/** Returns the ids of entities that exist and that the caller may view. Throws UNAVAILABLE when the owning service is down. */
export type FindVisible = (schema: DescMessage, ids: number[], call: Call) => Promise<ReadonlySet<number>>;

/** The named ids that the caller may view, by type. */
export type Visible = ReadonlyMap<string, ReadonlySet<number>>;

/** Ids of one type in one write. */
const NAMED_MAX = 10_000;

/** Looks up all named ids, with one call for each type. Runs before the transaction, as the owner may be another service. */
export async function findNamed(needs: Need[], find: FindVisible, call: Call): Promise<Visible> {
  const byType = Map.groupBy(needs.filter(isNamed), ({ schema }) => schema.typeName);
  const found = [...byType].map(async ([type, named]) => {
    const ids = [...new Set(named.flatMap((each) => each.ids))];
    if (ids.length > NAMED_MAX)
      throw badRequest(`At most ${NAMED_MAX} things of one kind may be named at once.`);
    const schema = named[0]?.schema;
    return [type, schema && ids.length > 0 ? await find(schema, ids, call) : new Set<number>()] as const;
  });
  return new Map(await Promise.all(found));
}

/** The needs that the writer does not meet. Needs that the message had before the write are not judged again. */
export function unmetNeeds(
  needs: Need[],
  before: Need[],
  { visible, call }: { visible: Visible; call: Call },
): Violation[] {
  const had = new Set(before.flatMap(keysOf));
  return needs.flatMap((need): Violation[] => {
    if (!isNamed(need)) {
      const held = reach(call.actor, need.permission, need.verb);
      const isMet = held === "all" || (held === "own" && !need.toAll);
      return isMet || keysOf(need).every((key) => had.has(key))
        ? []
        : [{ field: need.field, message: `You may not ${need.does}.` }];
    }
    const { field, schema, ids } = need;
    const seen = visible.get(schema.typeName);
    const missing = ids.find((id) => !seen?.has(id) && !had.has(keyOf(schema, id)));
    return missing === undefined ? [] : [{ field, message: `There is no ${wordsOf(schema)} ${missing}.` }];
  });
}

function isNamed(need: Need): need is NamedThings {
  return "schema" in need;
}

function keysOf(need: Need): string[] {
  return isNamed(need)
    ? need.ids.map((id) => keyOf(need.schema, id))
    : [`${need.permission} ${need.verb} ${need.toAll}`];
}

function keyOf({ typeName }: DescMessage, id: number): string {
  return `${typeName} ${id}`;
}

/** `PointGroup`: point group */
function wordsOf({ name }: DescMessage): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
