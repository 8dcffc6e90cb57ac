import { type PointColor, readColors } from "@tidings/contacts/point-colors";
import { type FieldObject, type ShownField, shownField } from "@tidings/contacts/shown-field";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { ResourceContext } from "@tidings/resource/repository-options";

/** The definition of one field of a contact or a company. */
export interface Field extends ShownField {
  isRequired: boolean;
  isUniqueIdentifier: boolean;
  isPubliclyUpdatable: boolean;
  charLengthLimit: number | null;
}

/** The fields of contacts, or of companies. */
export interface FieldSet {
  object: FieldObject;
  /** The published ones, in the order they are shown. */
  fields: Field[];
  byAlias: ReadonlyMap<string, Field>;
  identifiers: Field[];
  /** Added fields, the unpublished among them: their values are kept. */
  custom: Field[];
  /** Aliases of the social group: a handle makes a contact known. */
  social: string[];
}

/** All fields as of one revision; every change of a definition makes a new one, and so does one of the colours. */
export interface FieldCatalogue {
  revision: number;
  colors: PointColor[];
  contact: FieldSet;
  company: FieldSet;
}

/** The context of everything that reads or writes values of fields. */
export interface FieldContext extends ResourceContext {
  catalogues: FieldCatalogues;
}

/** The catalogue is shared by all replicas through the database: nobody works with an old one for long. */
export interface FieldCatalogues {
  /** At most a second old: for work that names no field that is unknown. */
  current(): Promise<FieldCatalogue>;
  /** As of now: for a name that is not in the current one. */
  latest(): Promise<FieldCatalogue>;
  /** At least of the revision that a row was read at. */
  atLeast(revision: number): Promise<FieldCatalogue>;
}

/** The rows that were read or written belong to a later revision of the definitions. */
class OutdatedCatalogue extends Error {
  readonly revision: number;

  constructor(revision: number) {
    super(`fields are of revision ${revision} now`);
    this.revision = revision;
  }
}

/** Does this say that work is to be done again under later definitions? Only `underCatalogue` handles it. */
export function isOutdated(error: unknown): boolean {
  return error instanceof OutdatedCatalogue;
}

/**
 * Does a piece of work under the definitions of its own transaction: once more when `assertCurrent` finds in there that they
 * changed after they were read. Nobody writes by definitions that were replaced before the transaction began.
 */
export async function underCatalogue<T>(
  catalogues: FieldCatalogues,
  work: (catalogue: FieldCatalogue) => Promise<T>,
): Promise<T> {
  let catalogue = await catalogues.current();
  for (;;) {
    try {
      return await work(catalogue);
    } catch (error) {
      if (!(error instanceof OutdatedCatalogue)) throw error;
      catalogue = await catalogues.atLeast(error.revision);
    }
  }
}

/** The definitions that rows were read with, or later ones. */
export function catalogueOf(catalogues: FieldCatalogues, rows: Row[]): Promise<FieldCatalogue> {
  return catalogues.atLeast(revisionOf(rows));
}

/** The latest `field_revision` of rows. */
function revisionOf(rows: Row[]): number {
  return rows.reduce((latest, row) => Math.max(latest, Number(row.field_revision ?? 0)), 0);
}

/** Fails when any of these rows, read in the transaction, has a later `field_revision`. */
export function assertCurrent(catalogue: FieldCatalogue, rows: Row[]): void {
  const revision = revisionOf(rows);
  if (revision > catalogue.revision) throw new OutdatedCatalogue(revision);
}

const REVISION = prepared("field_revision_current", "select revision as field_revision from field_revision");

/** Fails when the definitions changed since: for a transaction that leaves a name out because no field has it. */
export async function assertLatest(catalogue: FieldCatalogue, { query }: Transaction): Promise<void> {
  assertCurrent(catalogue, await query(REVISION, []));
}

const FRESH_MS = 1_000;
/** Many wait for it. */
const LOOK_UP_MS = 3_000;

export function fieldCatalogues(database: Database): FieldCatalogues {
  let known: Promise<FieldCatalogue> | undefined;
  let knownRevision = 0;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<FieldCatalogue> | undefined;
  let next: Promise<FieldCatalogue> | undefined;

  const check = async (): Promise<FieldCatalogue> => {
    const startedAtMs = performance.now();
    const revision = revisionOf(await database.query(REVISION, [], Date.now() + LOOK_UP_MS));
    if (!known || revision !== knownRevision) {
      const loaded = await loadCatalogue(database);
      known = Promise.resolve(loaded);
      knownRevision = loaded.revision;
    }
    checkedAtMs = startedAtMs;
    return known;
  };

  /** One that fails is made once more: many wait for it. */
  const start = (): Promise<FieldCatalogue> => {
    next = undefined;
    // Calls share it: it is no part of the transaction of one of them.
    const mine = database.outside(() => check().catch(check));
    running = mine;
    const done = () => {
      if (running === mine) running = undefined;
    };
    mine.then(done, done);
    return mine;
  };

  const catalogues: FieldCatalogues = {
    current() {
      if (known && performance.now() - checkedAtMs < FRESH_MS) return known;
      return catalogues.latest();
    },
    // Callers during a check share the next one: this one may have looked before the change that they know of.
    latest() {
      if (!running) return start();
      next ??= running.catch(() => undefined).then(start);
      return next;
    },
    atLeast(revision) {
      return known && knownRevision >= revision ? known : catalogues.latest();
    },
  };
  return catalogues;
}

/** Definitions and their revision as of one moment. */
const CATALOGUE = {
  text: `select f.*, r.revision from field_revision r
    left join fields f on true order by f."order", f.id`,
};

async function loadCatalogue(database: Database): Promise<FieldCatalogue> {
  const rows = await database.query(CATALOGUE, [], Date.now() + LOOK_UP_MS);
  // Read last: later ones than those of this revision are of the next one, which is soon found.
  const colors = await readColors(database, Date.now() + LOOK_UP_MS);
  const fields = rows.map(
    (row): Field => ({
      ...shownField(row),
      isRequired: row.is_required === "t",
      isUniqueIdentifier: row.is_unique_identifier === "t",
      isPubliclyUpdatable: row.is_publicly_updatable === "t",
      charLengthLimit: row.char_length_limit ? Number(row.char_length_limit) : null,
    }),
  );
  return {
    revision: Number(rows[0]?.revision),
    colors,
    contact: fieldSet("lead", fields),
    company: fieldSet("company", fields),
  };
}

function fieldSet(object: FieldObject, all: Field[]): FieldSet {
  const own = all.filter((field) => field.object === object);
  const fields = own.filter((field) => field.isPublished);
  return {
    object,
    fields,
    byAlias: new Map(fields.map((field) => [field.alias, field])),
    identifiers: fields.filter((field) => field.isUniqueIdentifier),
    custom: own.filter((field) => !field.isColumn),
    social: fields.filter((field) => field.group === "social").map((field) => field.alias),
  };
}
