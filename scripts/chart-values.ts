import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "./tool.ts";

/** The README that the tables stand in. */
export const CHART_README = join(root, "charts/tidings/README.md");

interface Schema {
  description?: string;
  /** On values that another chart describes. */
  $comment?: string;
  $ref?: string;
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
}

interface Row {
  path: string;
  initial: unknown;
  description: string;
}

/** The README as it should be: what stands between the marks of each chart is a table of its values. */
export function withValues(readme: string): string {
  return readme.replaceAll(
    /(<!-- values of (\w+) -->\n).*?(?=<!-- end -->)/gs,
    (_all, mark: string, chart: string) => `${mark}\n${tableOf(chart)}\n`,
  );
}

/** Every value of a chart, by its schema, which says what it means, and its values.yaml, which says what it is. */
function tableOf(chart: string): string {
  const read = (file: string) => readFileSync(join(root, "charts", chart, file), "utf8");
  const schema = JSON.parse(read("values.schema.json")) as Schema;
  const rows = rowsOf(schema, parse(read("values.yaml")), "", schema.definitions ?? {});
  const lines = rows.map(
    ({ path, initial, description }) => `| \`${path}\` | ${shown(initial)} | ${description} |\n`,
  );
  return `| value | default | |\n|---|---|---|\n${lines.join("")}`;
}

function rowsOf(schema: Schema, initial: unknown, path: string, definitions: Record<string, Schema>): Row[] {
  const { description = "", $ref = "" } = schema;
  const properties = schema.properties ?? definitions[$ref.split("/").at(-1) ?? ""]?.properties;
  const isWhole = properties === undefined || $ref.endsWith("/resources");
  if (isWhole) return [{ path, initial, description }];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (property.$comment) return [];
    const value = (initial as Record<string, unknown> | undefined)?.[name];
    return rowsOf(property, value, path ? `${path}.${name}` : name, definitions);
  });
}

function shown(initial: unknown): string {
  if (initial === "" || initial === undefined) return "";
  const text = typeof initial === "string" ? initial : JSON.stringify(initial);
  return text.length > 100 ? "see values.yaml" : `\`${text}\``;
}
