import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { Code, Fault } from "@tidings/rpc/fault";

const GONE = "This form is no longer available.";

const columns = columnsOf(FormSchema);
const FORM = `select ${columns.map(({ name }) => `"${name}"`).join(", ")} from forms where id = $1`;
const readStatement = prepared("form_submitted_form_read", FORM);
/** A form that is being filled in is not deleted meanwhile; nobody else is kept from it. */
const lockStatement = prepared("form_submitted_form", `${FORM} for key share`);
/** The form, which stays until the transaction ends. Throws FORM_CLOSED. */
export async function lockForm(transaction: Transaction, id: number): Promise<Form> {
  const form = formIn(await transaction.query(lockStatement, [id]));
  if (!form) throw closed();
  return form;
}

function formIn([row]: Row[]): Form | undefined {
  return row && fillFromRow(create(FormSchema), columns, row);
}

/** The form with this id, whoever asks; undefined when there is none. */
export async function readForm({ query }: Queryable, id: number): Promise<Form | undefined> {
  return formIn(await query(readStatement, [id]));
}

/** The form with this id, whoever asks. Throws FORM_CLOSED when there is none. */
export async function requireForm(queries: Queryable, id: number): Promise<Form> {
  const form = await readForm(queries, id);
  if (!form) throw closed();
  return form;
}

/** Does the form take submissions now? Throws FORM_CLOSED with the reason. */
export function checkOpen({ isPublished, publishUp, publishDown }: Form, now: number): void {
  if (!isPublished) throw closed();
  if (publishUp && millisecondsOf(publishUp) > now)
    throw closed(`This form is available from ${timeText(publishUp)} on.`);
  if (publishDown && millisecondsOf(publishDown) < now)
    throw closed(`This form was available until ${timeText(publishDown)}.`);
}

export function closed(message = GONE): Fault {
  return new Fault({ code: Code.FAILED_PRECONDITION, reason: "FORM_CLOSED", message });
}

function millisecondsOf(time: Timestamp): number {
  return timestampDate(time).getTime();
}

/** `2024-05-01 10:00 UTC` */
function timeText(time: Timestamp): string {
  return `${timestampDate(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
