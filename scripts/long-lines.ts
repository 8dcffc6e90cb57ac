import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tool.ts";

const LENGTH_MAX = 120;
const FILES = "{*.md,{docs,packages,services,gateway,charts,load-tests,cluster}/**/*.md}";
const FENCE = /^\s*(?:```|~~~)/;
/** Rows of tables, headings and references cannot be broken, nor can a word such as an address. */
const WHOLE = /^\s*(?:\||#|\[[^\]]+\]:|(?:[-*] )?\S+$)/;

/** The places of lines in documents that are too long to be read beside another file. Code stays as it is. */
export function longLines(): string[] {
  const files = globSync(FILES, { cwd: root, exclude: (name) => /(?:^|\/)node_modules$/.test(String(name)) });
  return files.flatMap((file) => {
    let isCode = false;
    return readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, index) => {
        if (FENCE.test(line)) isCode = !isCode;
        const isLong = !isCode && line.length > LENGTH_MAX && !WHOLE.test(line);
        return isLong ? [`${file}:${index + 1}: ${line.length} characters`] : [];
      });
  });
}
