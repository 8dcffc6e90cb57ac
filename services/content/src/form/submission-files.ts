import { prepared } from "@tidings/database/database";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { invalid } from "@tidings/rpc/fault";
import { removeStored } from "../file/files.ts";
import type { Submitted } from "./submitted.ts";

/** SQL of a migration: the files of submissions, whose bytes are in the store, and how many bytes each form has of them. */
export const SUBMISSION_FILES = [
  `create table form_files (
    -- Its generated name: the bytes are in the store under this name.
    name text primary key, submission_id integer not null, form_id integer not null, field_id integer not null,
    original_name text not null, size integer not null, date_added timestamptz not null default now(),
    unique (submission_id, field_id))`,
  "create table form_file_bytes (form_id integer primary key, bytes bigint not null)",
];

/** Below it are the files of public fields, on the public web. */
export const PUBLIC_FOLDER = "/media/forms/";

/** A file of a submission whose bytes are in the store. */
export interface StoredFile {
  /** The alias of its field. */
  alias: string;
  /** Its name in the store. */
  name: string;
  size: number;
}

const insertStatement = prepared(
  "form_files_insert",
  `insert into form_files (name, submission_id, form_id, field_id, original_name, size)
   select name, $1, $2, field_id, original_name, size
   from json_to_recordset($3::json) as x (name text, field_id integer, original_name text, size integer)`,
);
const countStatement = prepared(
  "form_file_bytes_add",
  `with others as (select coalesce(sum(bytes), 0) as bytes from form_file_bytes)
   insert into form_file_bytes as b (form_id, bytes) values ($1, $2)
   on conflict (form_id) do update set bytes = b.bytes + excluded.bytes
   returning (select bytes from others) + $2::bigint > $3::bigint as is_full`,
);

/**
 * Gives stored files to a submission, in its transaction: those of fields whose values are kept. Throws INVALID when the files of all
 * forms have more than `bytesMax`.
 */
export async function keepFiles(
  transaction: Transaction,
  { id, form, submitted }: { id: number; form: Form; submitted: Submitted },
  { files, bytesMax }: { files: StoredFile[]; bytesMax: number },
): Promise<void> {
  const rows = [...submitted.results].flatMap(([field, originalName]) => {
    const file = field.type === "file" ? files.find(({ alias }) => alias === field.alias) : undefined;
    return file && originalName !== ""
      ? [{ name: file.name, size: file.size, field_id: field.id, original_name: originalName }]
      : [];
  });
  if (rows.length === 0) return;
  const bytes = rows.reduce((sum, { size }) => sum + size, 0);
  const [counted] = await transaction.query(countStatement, [form.id, bytes, bytesMax]);
  if (counted?.is_full === "t")
    throw invalid(
      files.map(({ alias }) => ({ field: alias, message: "No files can be taken at the moment." })),
    );
  transaction.execute(insertStatement, [id, form.id, JSON.stringify(rows)]);
}

const keptStatement = prepared("form_files_kept", "select name from form_files where name = any($1::text[])");

/** The names in the store, among these, that belong to a submission. */
export async function keptAmong({ query }: Queryable, names: string[]): Promise<Set<string>> {
  const rows = await query(keptStatement, [names]);
  return new Set(rows.map(({ name }) => name ?? ""));
}

const forgetStatement = prepared(
  "form_files_forget",
  `with gone as (delete from form_files where submission_id = any($1::integer[]) returning name, submission_id, form_id, field_id, size),
     sums as (select form_id, sum(size) as size from gone group by form_id),
     counted as (update form_file_bytes b set bytes = b.bytes - s.size from (select * from sums order by form_id) s where b.form_id = s.form_id),
     emptied as (
       update form_submissions f set results = f.results - g.fields
       from (select submission_id, array_agg(field_id::text) as fields from gone group by 1) g where f.id = g.submission_id)
   select name from gone`,
);

/** Removes the files of submissions: rows and the names among their results in the transaction, bytes after its commit. */
export async function forgetFiles(transaction: Transaction, submissionIds: number[]): Promise<void> {
  const rows = await transaction.query(forgetStatement, [submissionIds]);
  removeStored(
    transaction,
    rows.map(({ name }) => name ?? ""),
  );
}

/** A file of a submission, as it is downloaded. */
export interface SubmissionFile {
  name: string;
  originalName: string;
  size: number;
}

const findStatement = prepared(
  "form_files_find",
  "select name, original_name, size from form_files where submission_id = $1 and form_id = $2 and field_id = $3",
);

/** The file that was sent for a field; undefined when there is none. */
export async function findFile(
  { query }: Queryable,
  { form, submissionId, alias }: { form: Form; submissionId: number; alias: string },
): Promise<SubmissionFile | undefined> {
  const field = form.fields.find((field) => field.alias === alias);
  if (!field) return undefined;
  const [row] = await query(findStatement, [submissionId, form.id, field.id]);
  return row && { name: row.name ?? "", originalName: row.original_name ?? "", size: Number(row.size) };
}

const shownStatement = prepared(
  "form_files_shown",
  "select submission_id, name, field_id, original_name, size from form_files where submission_id = any($1::integer[])",
);

/** The files of these submissions of a form, as JSON by the aliases of their fields: `{name, size, url}`. Files of public fields have a URL. */
export async function filesShown(
  { query }: Queryable,
  { form, submissionIds, publicUrl }: { form: Form; submissionIds: number[]; publicUrl: string },
): Promise<Map<number, Uint8Array>> {
  const fields = new Map(form.fields.filter(({ type }) => type === "file").map((field) => [field.id, field]));
  const rows = fields.size > 0 ? await query(shownStatement, [submissionIds]) : [];
  const shown = Map.groupBy(rows, ({ submission_id: id }) => Number(id));
  return new Map(
    submissionIds.map((id) => {
      const files = (shown.get(id) ?? []).flatMap(({ field_id, name, original_name, size }) => {
        const field = fields.get(Number(field_id));
        const url = isPublic(form, Number(field_id))
          ? new URL(`${PUBLIC_FOLDER}${name}`, publicUrl).href
          : null;
        return field ? [[field.alias, { name: original_name, size: Number(size), url }] as const] : [];
      });
      return [id, jsonBytes(Object.fromEntries(files))];
    }),
  );
}

const namedStatement = prepared(
  "form_files_named",
  `select form_id, field_id, original_name, size from form_files f
   where name = $1 and not exists (select from form_spam s where s.id = f.submission_id)`,
);

/** The file of a good submission with this name in the store, and the ids of its form and its field; undefined when there is none. */
export async function fileNamed(
  { query }: Queryable,
  name: string,
): Promise<(SubmissionFile & { formId: number; fieldId: number }) | undefined> {
  const [row] = await query(namedStatement, [name]);
  return (
    row && {
      name,
      originalName: row.original_name ?? "",
      size: Number(row.size),
      formId: Number(row.form_id),
      fieldId: Number(row.field_id),
    }
  );
}

/** May everybody download the files of this field? */
export function isPublic({ fields }: Form, fieldId: number): boolean {
  const field = fields.find(({ id }) => id === fieldId);
  return field?.type === "file" && propertiesOf(field).public === 1;
}
