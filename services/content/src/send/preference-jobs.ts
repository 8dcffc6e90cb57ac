import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import { Code, toFault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { commandContacts } from "../visit/contact-command.ts";
import { type ChosenRule, withPausesIn } from "./pause-days.ts";
import type { Chosen } from "./preferences.ts";

/** The part of what a contact chose that the contact service keeps. */
export interface PreferenceTask {
  contactId: number;
  frequencyRules: Record<string, ChosenRule>;
  segments: Chosen;
  /** When it was chosen, in milliseconds since 1970. */
  at: number;
}

const jobs = jobsOf("send_preference");
const actor = serviceActor("Preferences");
const AT_ONCE = 4;

/** Keeps what a contact chose, in place of what it chose before and was not passed on yet. */
export function keepPreferences(transaction: Transaction, task: PreferenceTask): void {
  jobs.add(transaction, [{ key: String(task.contactId), payload: { ...task } }]);
}

/** Passes choices on to the contact service. While it is away they wait. */
export function preferenceJobs(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    async prepare(job) {
      const {
        contactId,
        frequencyRules: chosenRules,
        segments,
        at,
      } = job.payload as unknown as PreferenceTask;
      const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
      const found = await contacts.readPreferences({ contactId }, outgoing).catch((error) => {
        if (toFault(error).code === Code.NOT_FOUND) return undefined; // the contact is gone, and its choices with it
        throw error;
      });
      if (!found) return job;
      const frequencyRules = withPausesIn(chosenRules, found.timeZone);
      // Segments that are not offered stay as they are, whatever was sent.
      const shown = found.segments.filter(({ id }) => segments.shown.includes(id));
      const isChosen = (id: number) => segments.chosen.includes(id);
      const add = shown.flatMap(({ id, isMember }) => (isChosen(id) && !isMember ? id : []));
      const remove = shown.flatMap(({ id, isMember }) => (!isChosen(id) && isMember ? id : []));
      // Two attempts may differ, since members change meanwhile; setting a choice twice changes nothing.
      const key = `preferences:${contactId}:${at}:${job.attempts}`;
      const commands = [
        {
          key: `${key}:rules`,
          contactId,
          effect: { case: "edit" as const, value: { body: jsonBytes({ frequencyRules }) } },
        },
        ...(add.length + remove.length > 0
          ? [
              {
                key: `${key}:segments`,
                contactId,
                effect: { case: "segments" as const, value: { add, remove } },
              },
            ]
          : []),
      ];
      const outcomes = await commandContacts({ contacts, actor }, commands);
      const failed = outcomes.find(({ reason }) => reason !== "" && reason !== "NOT_FOUND");
      if (failed) throw new Error(`choices of a contact were refused: ${failed.message}`);
      return job;
    },
    work: async () => ({ state: "done" }),
  };
}
