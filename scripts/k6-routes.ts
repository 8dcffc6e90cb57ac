import { withAliases } from "@tidings/gateway/route/route";
import { apiOfDefaults } from "./openapi-file.ts";

/** The names of the routes, as load tests call and count them. */
export const K6_ROUTES_FILE = "load-tests/k6/routes.ts";

export function k6RoutesText(): string {
  const { routes } = apiOfDefaults();
  const names = routes.flatMap(withAliases).map(({ method, path }) => `${method} ${path}`);
  const union = names.sort().map((name) => `  | ${JSON.stringify(name)}`);
  return `/** Made of the rows of the API by \`npm run generate\`. */\nexport type RouteName =\n${union.join("\n")};\n`;
}
