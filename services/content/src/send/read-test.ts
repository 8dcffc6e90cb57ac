import { type Database, prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { isNothing, isObject, jsonOf, notValid } from "@tidings/resource/json-member";
import { mayReach } from "@tidings/resource/reach";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, invalid } from "@tidings/rpc/fault";
import { wholeNumberOf } from "@tidings/runtime/plain-text";
import { isOpen } from "../family/is-open.ts";
import { criterionOf } from "../family/tested-variants.ts";
import type { NewBroadcast } from "./broadcast.ts";

const HOURS_MAX = 168;
const EMAIL_CRITERIA: (string | undefined)[] = ["email.openrate", "email.clickthrough"];

const membersStatement = prepared(
  "emails_to_decide",
  `select e.id, e.created_by, e.variant_settings, e.variant_parent_id is not null and ${isOpen("e")} as is_variant
   from emails e where e.id = $1 or e.variant_parent_id = $1 or e.translation_parent_id = $1
   order by e.variant_parent_id nulls first, e.id limit 1001`,
);

/**
 * The test that comes before a send to the rest: `winnerAfterHours` as it was sent, and the share that the email itself says. Undefined where nothing was
 * sent. Throws where nothing could win, or the caller could not make a winner.
 */
export async function readTest(
  winnerAfterHours: Uint8Array,
  { id, variantSettings }: Pick<Email, "id" | "variantSettings">,
  { database, call }: { database: Database; call: Call },
): Promise<NewBroadcast["test"]> {
  const sent = jsonOf(winnerAfterHours);
  if (isNothing(sent)) return undefined;
  const hours = wholeNumberOf(sent) ?? 0;
  if (hours < 1 || hours > HOURS_MAX) throw refused(`It is a whole number from 1 to ${HOURS_MAX}.`);
  const rows = await database.query(membersStatement, [id], call.deadlineMs);
  if (!rows.some(({ is_variant }) => is_variant === "t"))
    throw refused("The email has no published variant.");
  if (!EMAIL_CRITERIA.includes(criterionOf(rows)))
    throw refused("No variant names email.openrate or email.clickthrough as its winnerCriteria.");
  const settings = jsonOf(variantSettings);
  const percent = isObject(settings) ? (wholeNumberOf(settings.totalWeight) ?? 100) : 100;
  if (percent >= 100) throw refused("The email has no totalWeight below 100 in its variantSettings.");
  const isDenied = ({ created_by }: (typeof rows)[number]) =>
    !mayReach(call, Verb.EDIT, created_by != null && Number(created_by) === call.actor.id);
  if (rows.some(isDenied)) throw denied();
  return { winnerAfterHours: hours, percent };
}

function refused(reason: string): Fault {
  return invalid([notValid("winnerAfterHours", reason)]);
}
