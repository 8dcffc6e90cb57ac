import { type Theme, ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import { type Answer, jsonAnswer, SUCCESS } from "../route/answer.ts";
import { UPLOAD } from "../route/body-form.ts";
import { word } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT, TEXT_OR_NULL } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

const theme = word("Key of the theme");
const THEME = closed({
  name: TEXT,
  key: TEXT,
  config: closed({ name: TEXT, author: TEXT_OR_NULL, authorUrl: TEXT_OR_NULL, features: arrayOf(TEXT) }),
});
/** The handler streams the archive itself. */
const ARCHIVE: Answer<unknown> = {
  statuses: [200],
  contentType: "application/zip",
  headers: ["Content-Disposition"],
  describe: () => ({ type: "string", contentMediaType: "application/zip" }),
  send: () => undefined,
};
const right = (verb: "view" | "create") => ({ base: "core:themes", verb });

/** Themes of pages, emails and forms. */
export function themeRoutes({ clients, transfer }: RoutesContext): Route[] {
  const themes = clients.of(ThemeService);
  const rpc = ThemeService.method;
  return [
    route({
      method: "GET",
      path: "/themes",
      summary: "List themes",
      rpc: rpc.listThemes,
      answer: jsonAnswer(closed({ themes: { type: "object", additionalProperties: THEME } })),
      async handle({ options }) {
        const listed = await themes.listThemes({}, options);
        return { themes: Object.fromEntries(listed.themes.map((theme) => [theme.key, shown(theme)])) };
      },
    }),
    route({
      method: "POST",
      path: "/themes/new",
      summary: "Upload a theme",
      operation: "uploadTheme",
      right: right("create"),
      body: UPLOAD,
      answer: SUCCESS,
      handle: ({ request, exchange }) => transfer.upload(request, exchange, "themes"),
    }),
    route({
      method: "GET",
      path: "/themes/:theme",
      summary: "Download a theme",
      operation: "downloadTheme",
      right: right("view"),
      parameters: { theme },
      answer: ARCHIVE,
      handle({ parameters, response }) {
        const key = encodeURIComponent(parameters.theme);
        return transfer.download(response, `themes/${key}`, `${key}.zip`);
      },
    }),
    route({
      method: "DELETE",
      path: "/themes/:theme/delete",
      summary: "Delete a theme",
      rpc: rpc.deleteTheme,
      parameters: { theme },
      answer: SUCCESS,
      handle: ({ parameters, options }) => themes.deleteTheme({ key: parameters.theme }, options),
    }),
  ];
}

function shown({ key, name, author, authorUrl, features }: Theme) {
  return { name, key, config: { name, author: author ?? null, authorUrl: authorUrl ?? null, features } };
}
