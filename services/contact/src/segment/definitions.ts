import { prepared, type Row, type Statement } from "@tidings/store/database";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { type Filter, FilterProblem } from "./filter.ts";
import { type Compiled, compileFilters } from "./predicate.ts";

/** A segment as far as its members depend on it. */
export interface Definition {
  id: number;
  version: number;
  name: string;
  alias: string;
  isPublished: boolean;
  filters: Filter[];
}

export type DefinitionMap = ReadonlyMap<number, Definition>;

const revisionStatement = prepared("segment_revision_get", "select revision from segment_revision");
const definitionsStatement = prepared(
  "segment_definitions",
  "select id, version, name, alias, is_published, filters from segments",
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
      rows.map(({ id, version, name, alias, is_published, filters }) => [
        Number(id),
        {
          id: Number(id),
          version: Number(version),
          name: name ?? "",
          alias: alias ?? "",
          isPublished: is_published === "t",
          filters: JSON.parse(filters ?? "[]"),
        },
      ]),
    );
    knownRevision = row?.revision;
    return known;
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
