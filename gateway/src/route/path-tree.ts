import { badRequest } from "@tidings/rpc/fault";
import type { PathParameter } from "./parameter.ts";

/** The end of a path, with the texts of its parameters. */
export interface Found<T> {
  value: T;
  texts: Record<string, string>;
}

type Parameters = Record<string, Pick<PathParameter<unknown>, "matches">>;

interface Branch<T> {
  value?: T;
  words: Map<string, Branch<T>>;
  parameters: { name: string; matches(text: string): boolean; branch: Branch<T> }[];
}

/**
 * Finds what a path leads to, segment by segment. A word wins over a parameter in its place, whatever was put first, so the order of
 * rows means nothing; and the cost of a path does not grow with the number of others.
 */
export class PathTree<T> {
  readonly #root: Branch<T> = newBranch();

  /** Throws when the template leads somewhere already. `:name` is a parameter. */
  put(template: string, value: T, parameters: Parameters = {}): void {
    let branch = this.#root;
    for (const segment of segmentsOf(template)) branch = childOf(branch, segment, parameters);
    if (branch.value !== undefined) throw new Error(`${template} is there twice`);
    branch.value = value;
  }

  /** Throws INVALID_ARGUMENT for a path that is not percent-encoded UTF-8. */
  find(path: string): Found<T> | undefined {
    const texts: Record<string, string> = {};
    const value = follow(this.#root, segmentsOf(path), 0, texts);
    return value === undefined ? undefined : { value, texts };
  }
}

function newBranch<T>(): Branch<T> {
  return { words: new Map(), parameters: [] };
}

function childOf<T>(branch: Branch<T>, segment: string, parameters: Parameters): Branch<T> {
  if (!segment.startsWith(":")) {
    const child = branch.words.get(segment) ?? newBranch<T>();
    branch.words.set(segment, child);
    return child;
  }
  const name = segment.slice(1);
  const known = branch.parameters.find((parameter) => parameter.name === name);
  if (known) return known.branch;
  const { matches = () => true } = parameters[name] ?? {};
  const child = newBranch<T>();
  branch.parameters.push({ name, matches, branch: child });
  return child;
}

function follow<T>(
  branch: Branch<T>,
  segments: string[],
  at: number,
  texts: Record<string, string>,
): T | undefined {
  const segment = segments[at];
  if (segment === undefined) return branch.value;
  const word = branch.words.get(segment);
  const value = word && follow(word, segments, at + 1, texts);
  if (value !== undefined || segment === "") return value;
  for (const { name, matches, branch: child } of branch.parameters) {
    if (!matches(segment)) continue;
    const found = follow(child, segments, at + 1, texts);
    if (found === undefined) continue;
    texts[name] = decoded(segment);
    return found;
  }
  return undefined;
}

/** Without the slash that some clients put at the end. */
function segmentsOf(path: string): string[] {
  const trimmed = path.endsWith("/") ? path.slice(1, -1) : path.slice(1);
  return trimmed === "" ? [] : trimmed.split("/");
}

function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest("The path is not valid percent-encoded UTF-8.");
  }
}
