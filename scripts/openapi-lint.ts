import { createConfig, lintFromString } from "@redocly/openapi-core";

/** The findings of the linter's recommended rules, each with its place. */
export async function lintOpenApi(source: string): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended"],
    // Ids are digits, so `/points/{id}/edit` and `/points/triggers/{id}` are two paths; the rule does not look at types.
    rules: { "no-ambiguous-paths": "off" },
  });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(
    ({ ruleId, message, location }) => `${location[0]?.pointer ?? ""} ${ruleId}: ${message}`,
  );
}
