import { join } from "node:path";
import { tagOf } from "@tidings/gateway/openapi/document";
import { resources } from "@tidings/gateway/resources";
import type { Route } from "@tidings/gateway/route/route";
import { STANDARD_PATHS } from "@tidings/gateway/route/standard-routes";
import { apiOfDefaults } from "./openapi-file.ts";
import { root } from "./tool.ts";

/** The README that lists the routes. */
export const README = join(root, "README.md");

/** The README as it should be: between its marks stands a row for each resource, with its routes beside the standard ones. */
export function withRoutes(readme: string): string {
  return readme.replace(
    /(<!-- routes -->\n).*?(?=<!-- end -->)/s,
    (_all, mark: string) => `${mark}\n${table()}\n`,
  );
}

function table(): string {
  const byTag = Map.groupBy(apiOfDefaults().routes, tagOf);
  const rows = [...byTag].map(([tag, routes]) => ({
    tag,
    own: routes.filter((route) => !isStandard(tag, route)),
  }));
  const plain = rows.filter(({ own }) => own.length === 0).map(({ tag }) => `\`${tag}\``);
  const lines = rows
    .filter(({ own }) => own.length > 0)
    .map(({ tag, own }) => `| \`${tag}\` | ${own.map((route) => shown(tag, route)).join(", ")} |\n`);
  return `| below \`/api\` | beside the eight |\n|---|---|\n${lines.join("")}| ${plain.join(", ")} | |\n`;
}

function isStandard(tag: string, { path }: Route): boolean {
  return (
    resources.some((resource) => resource.path === tag) && STANDARD_PATHS.includes(path.slice(tag.length + 1))
  );
}

function shown(tag: string, { method, path }: Route): string {
  const isBelow = path === `/${tag}` || path.startsWith(`/${tag}/`);
  const rest = path.slice(isBelow ? tag.length + 2 : 1);
  return `\`${method}${rest === "" ? "" : ` ${rest}`}\``;
}
