import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tool.ts";

const FUNCTION_LINES_MAX = 60;
const FILE_LINES_MAX = 300;
const FILES = "{packages,services,gateway,scripts,e2e,charts,cluster,load-tests}/**/*.ts";
/** Migrations are history: one that exists is never changed. Tests are lists of guarantees. */
const IS_LEFT_OUT = /\.test\.ts$|\/migrations\//;
/** Files that are tables, with a row for each panel, resource or route. */
const TABLES = new Set(["scripts/dashboards.ts", "e2e/resources.ts", "load-tests/k6/routes.ts"]);

/** The line at which a function begins, as the formatter writes it. */
const BEGINNING = /\bfunction\b|=> [[({]+$|^\s*(?:async |get |set |\*)*[\w[\].]+(?:<[^>]*>)?\(.*[({]$/;
const BLOCK = /^\s*(?:if|for|while|switch|return|throw|await|else) ?\(/;
/** A line that ends the function. Its indentation is that of the beginning. */
const END = /^\s*[}\])]+[;,)]*$/;

/** The places of functions and files that do not fit a screen, or a sitting. */
export function longFunctions(): string[] {
  const files = globSync(FILES, {
    cwd: root,
    exclude: (name) => /^(?:node_modules|dist)$/.test(String(name)),
  }).filter((file) => !IS_LEFT_OUT.test(file));
  return files.flatMap((file) => {
    const lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n");
    const isLong = lines.length > FILE_LINES_MAX && !TABLES.has(file);
    return [
      ...(isLong ? [`${file}: ${lines.length} lines`] : []),
      ...lines.flatMap((line, index) => {
        const length = isBeginning(line) ? lengthFrom(lines, index) : 0;
        return length > FUNCTION_LINES_MAX ? [`${file}:${index + 1}: a function of ${length} lines`] : [];
      }),
    ];
  });
}

function isBeginning(line: string): boolean {
  return BEGINNING.test(line) && !BLOCK.test(line);
}

function lengthFrom(lines: string[], from: number): number {
  const indentation = indentationOf(lines[from] ?? "");
  const end = lines.findIndex(
    (line, index) => index > from && END.test(line) && indentationOf(line) === indentation,
  );
  return end < 0 ? 0 : end - from + 1;
}

function indentationOf(line: string): number {
  return line.search(/\S/);
}
