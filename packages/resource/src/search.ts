import { badRequest } from "@tidings/rpc/fault";
import { withoutTags } from "@tidings/runtime/plain-text";
import { type RawBuilder, sql } from "kysely";
import { all, any, type Near, narrowed } from "./condition.ts";

/** One word, phrase or `command:value` of a search. */
export interface SearchTerm {
  kind: "term";
  command: string | undefined;
  text: string;
  /** Matches as a whole instead of in part. */
  strict: boolean;
  negated: boolean;
}

export interface SearchGroup {
  kind: "group";
  joiner: "and" | "or";
  negated: boolean;
  nodes: SearchNode[];
}

export type SearchNode = SearchTerm | SearchGroup;

type Predicate = RawBuilder<unknown>;

/** The predicate of a command for a value; undefined for a value that the command does not know. */
export type SearchCommand = (term: SearchTerm) => Predicate | undefined;

const LENGTH_MAX = 1_000;
const DEPTH_MAX = 5;
const TERMS_MAX = 50;

/** The searchable parts of a list: see ListSource. */
export interface Searched {
  catchAll: RawBuilder<unknown>[];
  near?: Near | undefined;
  commands: ReadonlyMap<string, SearchCommand>;
}

/** The predicate of a search text: commands by name, all other terms over the catch-all columns. */
export function searchPredicate(text: string, searched: Searched): Predicate {
  const toPredicate = (node: SearchNode): Predicate => {
    if (node.kind === "term") return termPredicate(node, searched);
    const parts = node.nodes.map(toPredicate);
    const joined = node.joiner === "or" ? any(parts) : all(parts);
    // A null matches nothing, so its row belongs to the negation.
    return node.negated ? sql`(${joined}) is not true` : joined;
  };
  return toPredicate(parseSearch(text));
}

function termPredicate(term: SearchTerm, searched: Searched): Predicate {
  if (term.command === undefined) return catchAllPredicate(term, searched);
  const predicate = searched.commands.get(term.command)?.(term);
  if (!predicate)
    return catchAllPredicate({ ...term, text: `${term.command}:${term.text}`, strict: true }, searched);
  return term.negated ? sql`not coalesce(${predicate}, false)` : predicate;
}

function catchAllPredicate(term: SearchTerm, { catchAll, near }: Searched): Predicate {
  const isPart = !term.strict && !term.text.includes("%");
  const pattern = isPart ? `%${escapeLike(term.text)}%` : escapeLike(term.text);
  const matches = narrowed(any(catchAll.map((column) => sql`${column} ilike ${pattern}`)), near, [pattern]);
  return term.negated ? sql`not coalesce(${matches}, false)` : matches;
}

/** The usual meaning of `column:value`: begins with the value, or equals it when strict or given wildcards. */
export function columnCommand(column: RawBuilder<unknown>, near?: Near): SearchCommand {
  return (term) => {
    const asWritten = term.strict || term.text.includes("%");
    const pattern = asWritten ? escapeLike(term.text) : `${escapeLike(term.text)}%`;
    return narrowed(sql`${column} ilike ${pattern}`, near, [pattern]);
  };
}

/** `column:value` that finds the value anywhere in the column, unless it is strict or says where. */
export function containingCommand(column: RawBuilder<unknown>): SearchCommand {
  const matches = columnCommand(column);
  return (term) =>
    matches(term.strict || term.text.includes("%") ? term : { ...term, text: `%${term.text}%` });
}

/** `ids:1,2,3` */
export function idsCommand(column: RawBuilder<unknown>): SearchCommand {
  return (term) => {
    const ids = term.text.split(",").filter((part) => /^\d{1,10}$/.test(part) && Number(part) < 2 ** 31);
    return ids.length === 0
      ? sql`false`
      : sql`${column} in (${sql.join(ids.map((id) => sql`${id}::integer`))})`;
  };
}

/** `%` stays the caller's wildcard, all else is literal. */
function escapeLike(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("_", "\\_");
}

/**
 * Grammar: terms separated by spaces are joined by AND; `or`/`and` between the first two terms of a group decides for
 * the whole group; `"..."` is one term; `( )` groups; `!` negates; `+` is strict; `command:value`, where the value may
 * be a group that takes the command to each of its terms.
 */
export function parseSearch(text: string): SearchGroup {
  if (text.length > LENGTH_MAX) throw badRequest(`A search may have ${LENGTH_MAX} characters.`);
  const scanner = { text: withoutTags(text.toLowerCase()), at: 0, terms: 0 };
  return parseGroup(scanner, { negated: false, command: undefined, depth: 0 });
}

interface Scanner {
  text: string;
  at: number;
  terms: number;
}

interface Enclosing {
  negated: boolean;
  command: string | undefined;
  depth: number;
}

function parseGroup(scanner: Scanner, enclosing: Enclosing): SearchGroup {
  if (enclosing.depth > DEPTH_MAX) throw badRequest("The search is nested too deeply.");
  const nodes: SearchNode[] = [];
  let joiner: "and" | "or" | undefined;
  let word: "and" | "or" | undefined;
  while (scanner.at < scanner.text.length) {
    const character = scanner.text[scanner.at];
    if (character === ")") {
      scanner.at += 1;
      break;
    }
    if (character === " ") {
      scanner.at += 1;
      continue;
    }
    const joining = /^(and|or)(?= |\()/.exec(scanner.text.slice(scanner.at, scanner.at + 4));
    if (joining && nodes.length > 0) {
      word = joining[1] as "and" | "or";
      scanner.at += word.length;
      continue;
    }
    const node = parseNode(scanner, enclosing);
    if (!node) continue;
    nodes.push(node);
    if (nodes.length === 2) joiner = word ?? "and";
  }
  return { kind: "group", joiner: joiner ?? "and", negated: enclosing.negated, nodes };
}

function parseNode(scanner: Scanner, enclosing: Enclosing): SearchNode | undefined {
  scanner.terms += 1;
  if (scanner.terms > TERMS_MAX) throw badRequest(`A search may have ${TERMS_MAX} terms.`);
  const outer = readMarks(scanner);
  const command = /^[a-z][a-z0-9_]*(?=:)/.exec(scanner.text.slice(scanner.at))?.[0];
  if (command) scanner.at += command.length + 1;
  const inner = command ? readMarks(scanner) : { negated: false, strict: false };
  const negated = outer.negated !== inner.negated;
  const strict = outer.strict || inner.strict;
  const effective = command ?? enclosing.command;
  if (scanner.text[scanner.at] === "(") {
    scanner.at += 1;
    return parseGroup(scanner, { negated, command: effective, depth: enclosing.depth + 1 });
  }
  const text = readText(scanner);
  return text === "" ? undefined : { kind: "term", command: effective, text, strict, negated };
}

function readMarks(scanner: Scanner): { negated: boolean; strict: boolean } {
  const marks = /^[!+]*/.exec(scanner.text.slice(scanner.at))?.[0] ?? "";
  scanner.at += marks.length;
  return { negated: marks.includes("!"), strict: marks.includes("+") };
}

function readText(scanner: Scanner): string {
  const rest = scanner.text.slice(scanner.at);
  const quoted = /^"([^"]*)"?/.exec(rest);
  if (quoted) {
    scanner.at += quoted[0].length;
    return quoted[1] ?? "";
  }
  const plain = /^[^ )]*/.exec(rest)?.[0] ?? "";
  scanner.at += Math.max(plain.length, 1);
  return plain;
}
