import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The scripts for browsers, beside the bundle of the process: `npm run build` makes them of the sources of this name. */
const BROWSER_FOLDER = join(import.meta.dirname, "browser");

/** Reads a script for browsers, once. */
export function browserScript(name: string): () => Promise<string> {
  let text: Promise<string> | undefined;
  return () => {
    text ??= readFile(join(BROWSER_FOLDER, name), "utf8");
    return text;
  };
}
