import type { Call } from "@tidings/rpc/call";
import { lockForm } from "./read-form.ts";
import { takeSpam } from "./spam.ts";
import { follow, type Submitting, store } from "./submit.ts";

/**
 * Makes spam a good submission, with all that follows from one: at once or never, for whom gets it out of the spam first. Does nothing where there
 * is no such spam.
 */
export function releaseSpam(
  submitting: Submitting,
  { formId, id }: { formId: number; id: number },
  { deadlineMs }: Call,
): Promise<void> {
  return submitting.database.transaction(deadlineMs, async (transaction) => {
    const form = await lockForm(transaction, formId);
    const taken = await takeSpam(transaction, { id, formId });
    if (!taken) return;
    const { stored, sender } = taken;
    const { sighting, ...said } = sender;
    store(transaction, stored);
    await follow(transaction, submitting, {
      id,
      form,
      // The device may have been seen since then.
      sent: { key: stored.key, ip: stored.ip, sighting: sighting && { ...sighting, isNewDevice: false } },
      said,
      now: Date.parse(stored.dateSubmitted),
    });
  });
}
