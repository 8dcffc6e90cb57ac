import { type Database, prepared } from "@tidings/database/database";
import type { ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { removeStored } from "../file/files.ts";
import type { ThemeConfig } from "./theme-config.ts";

/** More of them are not kept. */
export const THEMES_MAX = 1_000;

const listStatement = prepared(
  "themes_list",
  `select key, name, author, author_url, features from themes order by key limit ${THEMES_MAX}`,
);
const deleteStatement = prepared("themes_delete", "delete from themes where key = $1 returning file");

/** Handlers that list and delete themes. Themes of the product stay. */
export function themeHandlers(
  database: Database,
  defaults: Map<string, ThemeConfig>,
): Handlers<typeof ThemeService> {
  return {
    async listThemes(_request, { deadlineMs }) {
      const rows = await database.query(listStatement, [], deadlineMs);
      const uploaded = rows.map(({ key, name, author, author_url, features }) => ({
        key: key ?? "",
        name: name ?? "",
        author: author ?? undefined,
        authorUrl: author_url ?? undefined,
        features: JSON.parse(features ?? "[]") as string[],
      }));
      return { themes: [...[...defaults].map(([key, config]) => ({ key, ...config })), ...uploaded] };
    },
    async deleteTheme({ key }, { deadlineMs }) {
      if (defaults.has(key)) throw badRequest("A theme that comes with the product cannot be deleted.");
      await database.transaction(deadlineMs, async (transaction) => {
        const rows = await transaction.query(deleteStatement, [key]);
        if (rows.length === 0) throw notFound("There is no such theme.");
        removeStored(
          transaction,
          rows.map(({ file }) => file ?? ""),
        );
      });
      return {};
    },
  };
}
