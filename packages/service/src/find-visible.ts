import { resource, Verb } from "@tidings/proto/tidings/api/v1/options";
import { VisibleService } from "@tidings/proto/tidings/api/v1/visible";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { FindVisible } from "@tidings/resource/needs";
import type { VisibleRows } from "@tidings/resource/visible-rows";
import { serviceActor } from "@tidings/rpc/actor";
import { optionOf } from "@tidings/rpc/option";
import { reach } from "@tidings/rpc/permission";
import type { ApiDialect } from "@tidings/runtime/config";
import type { Upstreams } from "./upstreams.ts";

const process = serviceActor("References");

interface Finding {
  /** Kinds of entities that this process owns. */
  own: VisibleRows[];
  upstreams: Upstreams;
  /** The product with the same API keeps ids of entities that are not there. A caller who sees everything learns nothing from that. */
  dialect: ApiDialect;
}

/** Finds entities of this service in its own tables, and asks the owning service for all others. */
export function visibleFinder({ own, upstreams, dialect }: Finding): FindVisible {
  return async (schema, ids, { actor, deadlineMs, requestId }) => {
    const { permission, permissionByRow } = optionOf(schema, resource);
    // Every signed-in user may refer to categories, whose permission depends on the row.
    const seen = permissionByRow ? "all" : reach(actor, permission, Verb.VIEW);
    const isUser = schema.typeName === UserSchema.typeName;
    // Users see themselves, whatever their rights.
    if (seen === "none" && !isUser) return new Set();
    if (seen === "all" && dialect === "mautic") return new Set(ids);
    const asked = { ids, ...(seen !== "all" && { userId: actor.id ?? 0 }) };
    const rows = own.find(({ type }) => type === schema.typeName);
    if (rows) return new Set(await rows.find(asked, deadlineMs));
    const [, owner = ""] = schema.typeName.split(".");
    const client = upstreams.client(owner, VisibleService);
    const outgoing = { actor: process, deadlineMs, requestId };
    return new Set((await client.findVisible({ type: schema.typeName, ...asked }, outgoing)).ids);
  };
}
