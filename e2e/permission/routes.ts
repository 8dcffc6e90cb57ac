import { resources } from "@tidings/gateway/resources";
import { type Route, withAliases } from "@tidings/gateway/route/route";
import type { Components } from "@tidings/gateway/route/schema";
import { STANDARD_PATHS } from "@tidings/gateway/route/standard-routes";
import { apiOfDefaults } from "@tidings/scripts/openapi-file";

/** Every route below /api, with those of older paths. */
export const allRoutes: Route[] = apiOfDefaults().routes.flatMap(withAliases);

const standardPaths = new Set(
  resources.flatMap(({ path }) => STANDARD_PATHS.map((rest) => `/${path}${rest}`)),
);

/** Routes beyond the standard operations of resources. */
export const ownRoutes = allRoutes.filter(({ path }) => !standardPaths.has(path));

const NO_COMPONENTS: Components = {
  answered: () => ({}),
  present: () => ({}),
  members: () => ({}),
  named: () => ({}),
  sent: () => ({}),
};

/** Is a body read? Other methods than DELETE may say in theirs which method they stand for. */
export function hasBody({ method, body }: Route): boolean {
  return method !== "GET" && (method !== "DELETE" || body.describe(NO_COMPONENTS) !== undefined);
}

/** A body that is good; none where the row has no example. */
export function exampleOf({ body }: Route): object | undefined {
  const [example] = (body.describe(NO_COMPONENTS)?.examples ?? []) as object[];
  return example;
}

const PARAMETERS: Record<string, string> = {
  operator: "plus",
  delta: "1",
  channel: "email",
  utmTagsId: "2000000000",
  directory: "assets",
  file: "nothing.png",
  theme: "nothing",
  sendId: "00000000-0000-7000-8000-000000000000",
  hash: "00000000-0000-7000-8000-000000000000",
};

/** The path of a template, as it is sent below `/api/`. */
export function pathOf(template: string, ids: Record<string, number> = {}): string {
  const path = template.replace(/:(\w+)/g, (_, name: string) => String(ids[name] ?? PARAMETERS[name] ?? 1));
  return path.slice(1);
}
