import { homedir } from "node:os";
import { join } from "node:path";

/** Where what takes long to make is kept for the user, whatever checkout asks. */
export function userCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "tidings");
}
