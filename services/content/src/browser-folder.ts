import { join } from "node:path";

/** The scripts for browsers, beside the bundle of the process: `npm run build` makes them of the sources of this name. */
export const BROWSER_FOLDER = join(import.meta.dirname, "browser");
