import { join } from "node:path";

/** The themes that come with the product: beside the sources, and beside the bundle that is made of them. */
export const THEME_FOLDER = join(import.meta.dirname, "themes");
