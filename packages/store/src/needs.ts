import type { DescMessage } from "@bufbuild/protobuf";
import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { badRequest, type Violation } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

/** Things that a property names by their ids: the writer has to see them. */
export interface NamedThings {
  field: string;
  schema: DescMessage;
  ids: number[];
}

/** What a part of a message does once it runs: the writer has to have the right to do it. */
export interface NeededRight {
  field: string;
  permission: string;
  verb: Verb;
  /** What is done, as in "delete contacts". */
  does: string;
  /** It is done to everybody's rows: a right to one's own is not enough. */
  toAll?: boolean;
}

/** What a write asks of its writer besides the right to write. */
export type Need = NamedThings | NeededRight;

/** Those of the ids that a caller may see. Throws UNAVAILABLE when their owner cannot be asked. */
export type FindVisible = (schema: DescMessage, ids: number[], call: Call) => Promise<ReadonlySet<number>>;

/** What a caller may see of what was named, by type. */
export type Visible = ReadonlyMap<string, ReadonlySet<number>>;

/** Of one kind, in one write. */
const NAMED_MAX = 10_000;

/** Looks up all things that are named: one question for each kind. Asked before a transaction, as the owner may be elsewhere. */
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

/** What the writer lacks. Needs that the message had before are not judged again. */
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
