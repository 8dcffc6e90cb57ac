import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { denied } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { isOfImages } from "./directory.ts";

const ASSETS = "asset:assets";
/** Permissions of the resources that show pictures. */
const SHOWS_IMAGES = [
  ASSETS,
  "email:emails",
  "page:pages",
  "dynamiccontent:dynamiccontents",
  "focus:items",
  "form:forms",
];

/** Throws PERMISSION_DENIED unless the actor may create something that uses files of this directory. */
export function requireUpload(actor: Actor, directory: string): void {
  const users = isOfImages(directory) ? SHOWS_IMAGES : [ASSETS];
  if (users.every((base) => reach(actor, base, Verb.CREATE) === "none")) throw denied();
}

/** The files that an actor reaches with a verb: its own, and all files with the right to others' assets. */
export function reachOfFiles(actor: Actor, verb: Verb): { isAll: boolean; userId: number | null } {
  return { isAll: reach(actor, ASSETS, verb) === "all", userId: actor.id };
}
