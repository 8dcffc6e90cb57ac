import { isDeepStrictEqual } from "node:util";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { Fault, invalid, type Violation } from "@tidings/rpc/fault";
import { type Column, toRecord } from "./columns.ts";
import { changedDraft, newDraft, type Sent, stamp, stampCreated, stampModified } from "./draft.ts";
import { unmetNeeds } from "./needs.ts";
import { mayReach } from "./reach.ts";
import { type ReferenceColumn, resolveReferences } from "./reference.ts";
import type { RepositoryOptions, Update } from "./repository-options.ts";
import type { Resource } from "./resource.ts";
import type { Locked, Outcome, Stored, Writing } from "./row-change.ts";
import { rulesOf } from "./rules.ts";

/** Decides what a write makes of each item, before anything is written. */
export interface Decisions<T extends Resource, L> {
  ofNew(sent: Sent<T>, writing: Writing<L>): Outcome<T>;
  ofChange(before: Locked<T>, update: Update<T>, writing: Writing<L>): Outcome<T>;
}

export function decisions<T extends Resource, L>(
  schema: DescMessage,
  columns: Column[],
  referring: ReferenceColumn[],
  options: RepositoryOptions<T, L>,
): Decisions<T, L> {
  const rules = rulesOf(schema);
  const mayPublish = (call: Call, { isOwn }: { isOwn: boolean }): boolean =>
    options.freelyPublished === true || mayReach(call, Verb.PUBLISH, isOwn);

  const ofNew = (sent: Sent<T>, writing: Writing<L>): Outcome<T> => {
    const draft = newDraft(schema, columns, sent.message) as T | Fault;
    if (draft instanceof Fault) return { fault: draft };
    if (!mayPublish(writing.call, { isOwn: true })) stamp(draft, columns, { is_published: false });
    stampCreated(draft, columns, writing.call);
    return prepareDraft(draft, undefined, { ...writing, sent });
  };

  const ofChange = (before: Locked<T>, update: Update<T>, writing: Writing<L>): Outcome<T> => {
    const writable = mayPublish(writing.call, before) ? columns : columns.filter(isNotPublication);
    const draft = changedDraft(schema, writable, before.message, update) as T | Fault;
    return draft instanceof Fault
      ? { fault: draft }
      : prepareDraft(draft, before, { ...writing, sent: update });
  };

  const prepareDraft = (
    draft: T,
    before: Stored<T> | undefined,
    writing: Writing<L> & { sent: Sent<T> },
  ): Outcome<T> => {
    const fault = faultIn(draft, before?.message, writing);
    if (fault) return { fault };
    if (before && isSame(columns, before.message, draft)) return { saved: before, before, isChanged: false };
    if (before) stampModified(draft, columns, writing.call);
    const version = (before?.version ?? 0) + 1;
    return { saved: { message: draft, version }, before, isChanged: true };
  };

  /** Everything that is wrong with a draft, unless it is too long to be worked on. */
  const faultIn = (
    draft: T,
    before: T | undefined,
    writing: Writing<L> & { sent: Sent<T> },
  ): Fault | undefined => {
    const tooLong = rules.lengths(draft, before);
    if (tooLong.length > 0) return invalid(tooLong);
    options.clean?.(draft, before);
    const violations = rules.values(draft, before);
    // Read before `prepare`, which renames and reorders items: violations name members as the caller sent them.
    const needs = options.needs?.(draft) ?? [];
    return faultOf(violations, [
      () => resolveReferences(referring, draft, { before, ...writing }),
      () => options.prepare?.(draft, { before, ...writing }) ?? [],
      () => unmetNeeds(needs, (before && options.needs?.(before)) ?? [], writing),
    ]);
  };

  return { ofNew, ofChange };
}

/** The first fault of these judges, or all violations that they find: one of each field. */
function faultOf(violations: Violation[], judges: (() => Fault | Violation[])[]): Fault | undefined {
  for (const judge of judges) {
    const found = judge();
    if (found instanceof Fault) return found;
    violations.push(...found.filter(({ field }) => !violations.some((known) => known.field === field)));
  }
  return violations.length > 0 ? invalid(violations) : undefined;
}

const PUBLICATION = new Set(["is_published", "publish_up", "publish_down"]);

function isNotPublication({ name }: Column): boolean {
  return !PUBLICATION.has(name);
}

/** JSON is compared by what it says, however it is written. */
function isSame(columns: Column[], before: Message, after: Message): boolean {
  return isDeepStrictEqual(toRecord(before, columns), toRecord(after, columns));
}
