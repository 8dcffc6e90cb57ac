import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { type Filter, FilterProblem } from "@tidings/filters/filter";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { type Compiled, compileFilters } from "./predicate.ts";

/** A segment as far as its members depend on it. */
export interface Definition {
  id: number;
  version: number;
  name: string;
  alias: string;
  isPublished: boolean;
  filters: Filter[];
  isGlobal: boolean;
  createdBy: number | undefined;
  /** Why its members could not be found the last time: it is left out until it changes. */
  failure: string | undefined;
}

export type DefinitionMap = ReadonlyMap<number, Definition>;

/** With the transaction that wrote it: a revision that was taken back is given again. */
const revisionStatement = prepared(
  "segment_revision_get",
  "select revision || ' ' || xmin as revision from segment_revision",
);
const definitionsStatement = prepared(
  "segment_definitions",
  `select s.id, s.version, s.name, s.alias, s.is_published, s.filters, s.is_global, s.created_by, b.problem
   from segments s left join segment_builds b on b.segment_id = s.id`,
);

/** Reads all definitions as of now, with a query of the database or of a transaction. */
export type DefinitionReader = (query: (statement: Statement) => Promise<Row[]>) => Promise<DefinitionMap>;

/** A reader that keeps what it read for as long as nothing has changed. */
export function definitionReader(): DefinitionReader {
  let known: DefinitionMap = new Map();
  let knownRevision: string | null | undefined;
  return async (query) => {
    const [row] = await query(revisionStatement);
    if (row?.revision === knownRevision) return known;
    const rows = await query(definitionsStatement);
    known = new Map(
      rows.map(({ id, version, name, alias, is_published, filters, is_global, created_by, problem }) => [
        Number(id),
        {
          id: Number(id),
          version: Number(version),
          name: name ?? "",
          alias: alias ?? "",
          isPublished: is_published === "t",
          filters: JSON.parse(filters ?? "[]"),
          isGlobal: is_global === "t",
          createdBy: created_by ? Number(created_by) : undefined,
          failure: problem ?? undefined,
        },
      ]),
    );
    knownRevision = row?.revision;
    return known;
  };
}

/** Is this segment in the caller's list? Everybody has those that are global, and their own. */
export function isVisible({ isGlobal, createdBy }: Definition, call: Call): boolean {
  if (isGlobal) return true;
  const reach = call.reach(Verb.VIEW);
  return reach === "all" || (reach === "own" && call.actor.id !== null && createdBy === call.actor.id);
}

/** Which segments the caller may name in filters: those it sees, and `known` ones that were named before. */
export function nameable(definitions: DefinitionMap, call: Call, known: ReadonlySet<number> = new Set()) {
  return (id: number): boolean => {
    const definition = definitions.get(id);
    return known.has(id) || (definition !== undefined && isVisible(definition, call));
  };
}

/** A definition as SQL, or why it cannot be; neither without filters. */
export interface CompiledDefinition extends Definition {
  compiled: Compiled | undefined;
  problem: string | undefined;
}

const DAY_MS = 86_400_000;

/** The midnight in UTC that today began with. */
export function midnight(nowMs = Date.now()): number {
  return nowMs - (nowMs % DAY_MS);
}

interface CompiledSet {
  catalogue: FieldCatalogue;
  today: number;
  all: CompiledDefinition[];
}

const compiledSets = new WeakMap<DefinitionMap, CompiledSet>();

/** All definitions as SQL; compiled again only when they, the fields or the day have changed. */
export function compileDefinitions(
  definitions: DefinitionMap,
  catalogue: FieldCatalogue,
  today = midnight(),
): CompiledDefinition[] {
  const known = compiledSets.get(definitions);
  if (known?.catalogue === catalogue && known.today === today) return known.all;
  const all = [...definitions.values()].map((definition) =>
    compileDefinition(definition, definitions, catalogue, today),
  );
  compiledSets.set(definitions, { catalogue, today, all });
  return all;
}

export function compileDefinition(
  definition: Definition,
  definitions: DefinitionMap,
  catalogue: FieldCatalogue,
  today = midnight(),
): CompiledDefinition {
  try {
    const scope = { catalogue, segments: definitions, segmentId: definition.id, today };
    return { ...definition, compiled: compileFilters(definition.filters, scope), problem: undefined };
  } catch (error) {
    if (!(error instanceof FilterProblem)) throw error;
    return { ...definition, compiled: undefined, problem: error.message };
  }
}
