import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { ZipFile } from "yazl";
import { THEME_FOLDER } from "../theme-folder.ts";
import { parseThemeConfig, type ThemeConfig } from "./theme-config.ts";

/** The themes that come with the product, by key: read at the start, and never changed. */
export async function defaultThemes(): Promise<Map<string, ThemeConfig>> {
  const keys = (await readdir(THEME_FOLDER)).sort();
  const configs = keys.map(async (key) => {
    const config = await readFile(join(THEME_FOLDER, key, "config.json"));
    return [key, parseThemeConfig(config)] as const;
  });
  return new Map(await Promise.all(configs));
}

/** Such a theme as an archive, as anybody could upload it under another name. */
export async function zipDefaultTheme(key: string): Promise<Readable> {
  const folder = join(THEME_FOLDER, key);
  const archive = new ZipFile();
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const path of paths.sort()) archive.addFile(path, path.slice(folder.length + 1));
  archive.end();
  return archive.outputStream as Readable;
}
