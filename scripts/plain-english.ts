import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tool.ts";

/** A comment or a test name that begins with a pronoun: the reader has to guess the actor and the object. */
const WORDS = "Who|Whoever|Whom|What|Whose|Of|That|Those|Others|Nobody|One of";
const COMMENT = new RegExp(`^\\s*(?://|/\\*\\*|\\*|--) (?:${WORDS})\\b`);
const TEST_NAME = new RegExp(`\\b(?:test|it|describe)\\(["'\`](?:${WORDS.toLowerCase()}) `);

/** Words that stand for the field's own: publish, receive, notify; entity, item, contact; upstream. */
const RIDDLES = /\b(?:things?|told|tells?|neighbours?)\b/i;
const ANY_COMMENT = /^\s*(?:\/\/|\/\*\*|\*|--) |(?:^|[;,{)] )\/\/ /;
const ANY_TEST_NAME = /\b(?:test|it|describe)\(["'`]/;

const FILES =
  "{packages,services,gateway,proto/tidings,scripts,e2e,cluster,load-tests,charts/test}/**/*.{ts,proto}";
/** The places of such sentences. */
export function unclearSentences(): string[] {
  const files = globSync(FILES, {
    cwd: root,
    exclude: (name) => /^(?:node_modules|dist)$/.test(String(name)),
  });
  return files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, index) => (isUnclear(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
}

function isUnclear(line: string): boolean {
  if (COMMENT.test(line) || TEST_NAME.test(line)) return true;
  const sentence = ANY_TEST_NAME.test(line) ? line : line.slice(line.search(ANY_COMMENT) + 1 || line.length);
  return RIDDLES.test(sentence);
}
