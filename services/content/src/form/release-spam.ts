import { prepared } from "@tidings/database/database";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { withHeldProof } from "../visit/held-visits.ts";
import { lockForm } from "./read-form.ts";
import { takeSpam } from "./spam.ts";
import { follow, type Submitting, store } from "./submit.ts";

const versionStatement = prepared(
  "forms_version_shared",
  "select version from forms where id = $1 for share",
);

/**
 * Makes spam a good submission, with all that follows from one: at once or never, for whom gets it out of the spam first. Does nothing where there
 * is no such spam.
 */
export function releaseSpam(
  submitting: Submitting,
  { formId, id }: { formId: number; id: number },
  call: Call,
): Promise<void> {
  return submitting.database.transaction(call.deadlineMs, async (transaction) => {
    const form = await lockForm(transaction, formId);
    const [row] = await transaction.query(versionStatement, [formId]);
    requireExpected(call, FormSchema.typeName, { id: formId, version: Number(row?.version) });
    const taken = await takeSpam(transaction, { id, formId });
    if (!taken) return;
    const { stored, sender } = taken;
    const { sighting: former, ...said } = sender;
    // The device may have been seen since then.
    const sighting = former && (await withHeldProof(transaction, { ...former, isNewDevice: false }));
    store(transaction, stored);
    await follow(transaction, submitting, {
      id,
      form,
      sent: { key: stored.key, ip: stored.ip, sighting },
      said,
      now: Date.parse(stored.dateSubmitted),
    });
  });
}
