import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { compileHtml, type Template } from "@tidings/rendering/compile-template";
import { LRUCache } from "lru-cache";
import type { FileStore } from "../file/store.ts";
import { THEME_FOLDER } from "../theme-folder.ts";
import { readThemeFile } from "./theme-archive.ts";
import type { ThemeConfig } from "./theme-config.ts";

/** The page of a theme for forms or landing pages, with its tokens. */
export type ThemeHtml = (key: string, feature: "form" | "page") => Promise<Template>;

const NAMES = new Set([
  "pagetitle",
  "message",
  "content",
  "pagemetadescription",
  "langbar",
  "sharebuttons",
  "pagehead",
]);
const USUAL = "blank";
const COMPILED_MAX = 100;
const fileStatement = prepared("themes_html_file", "select file from themes where key = $1");

/** Pages of themes, compiled once for each archive. A theme that is gone, or has no such page, is the usual one. */
export function themeHtml({
  database,
  store,
  defaults,
}: {
  database: Database;
  store: FileStore;
  defaults: ReadonlyMap<string, ThemeConfig>;
}): ThemeHtml {
  const compiled = new LRUCache<string, Template>({ max: COMPILED_MAX });
  const textOf = async (
    key: string,
    file: string | undefined,
    feature: string,
  ): Promise<string | undefined> => {
    if (file === undefined) return readFile(join(THEME_FOLDER, key, "html", `${feature}.html`), "utf8");
    const archive = await store.open(file);
    return archive && readThemeFile(archive, `html/${feature}.html`);
  };
  const find = async (key: string, feature: string): Promise<Template | undefined> => {
    const [row] = defaults.has(key) ? [] : await database.query(fileStatement, [key], backgroundDeadline());
    const file = row?.file ?? undefined;
    if (!file && !defaults.has(key)) return undefined;
    const name = `${key} ${file ?? ""} ${feature}`;
    const known = compiled.get(name);
    if (known) return known;
    const text = await textOf(key, file, feature);
    if (text === undefined) return undefined;
    const template = await compileHtml(text, NAMES);
    compiled.set(name, template);
    return template;
  };
  return async (key, feature) => {
    const template = (await find(key, feature)) ?? (await find(USUAL, feature));
    if (!template) throw new Error(`the theme ${USUAL} has no page for ${feature}`);
    return template;
  };
}
