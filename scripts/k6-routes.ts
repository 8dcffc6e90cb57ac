import { withAliases } from "@tidings/gateway/route/route";
import { PUBLIC_PATHS } from "@tidings/rpc/public-paths";
import { apiOfDefaults } from "./openapi-file.ts";

/** The names of the routes, as load tests call and count them. */
export const K6_ROUTES_FILE = "load-tests/k6/routes.ts";

export function k6RoutesText(): string {
  const { routes } = apiOfDefaults();
  const names = routes.flatMap(withAliases).map(({ method, path }) => `${method} ${path}`);
  const union = names.sort().map((name) => `  | ${JSON.stringify(name)}`);
  const visited = publicEndpoints().map((name) => `  ${JSON.stringify(name)},`);
  return `/** Made of the rows of the API by \`npm run generate\`. */
export type RouteName =
${union.join("\n")};

/** Made likewise of the paths that visitors have. */
export const PUBLIC_ENDPOINTS = [
${visited.join("\n")}
] as const;

export type PublicEndpoint = (typeof PUBLIC_ENDPOINTS)[number];
`;
}

/** Each path that visitors have, with each of its methods; `:name` is the part that differs. */
function publicEndpoints(): string[] {
  const paths = [...PUBLIC_PATHS, { path: "/", methods: ["GET"] }];
  return paths
    .flatMap(({ path, methods }) =>
      methods.map((method) => `${method} ${path.endsWith("/") ? `${path}:name` : path}`),
    )
    .sort();
}
