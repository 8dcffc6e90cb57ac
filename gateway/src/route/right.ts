import type { DescMethod } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { reachOfAction, requirementOf } from "@tidings/rpc/permission";

/** A right that a route asks for: somebody who has it may at least do it with what is their own. */
export interface Right {
  base: string;
  verb: "view" | "create" | "edit" | "delete";
  /** Another right that does as well, in words: the service that owns the method decides. */
  orElse?: string;
}

const VERBS: Partial<Record<Verb, Right["verb"]>> = {
  [Verb.VIEW]: "view",
  [Verb.CREATE]: "create",
  [Verb.EDIT]: "edit",
  [Verb.DELETE]: "delete",
};

/** The right that an RPC declares; undefined when every signed-in caller may call it. */
export function rightOf(rpc: DescMethod): Right | undefined {
  const { base, verb } = requirementOf(rpc.parent, rpc);
  if (verb === Verb.ANY) return undefined;
  const name = VERBS[verb];
  if (!name) throw new Error(`${rpc.parent.typeName}.${rpc.name} is for services alone`);
  return { base, verb: name };
}

/** Whether a caller may ask at all. The service that owns the method asks for the right again. */
export function mayAsk(actor: Actor, right: Right | undefined): boolean {
  return !right || right.orElse !== undefined || reachOfAction(actor, right.base, right.verb) !== "none";
}
