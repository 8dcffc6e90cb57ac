import { type Sms, SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { SMS_SCHEDULE } from "../send/schedule.ts";

export function smses(context: ResourceContext): Repository<Sms> {
  return repository<Sms>(context, SmsSchema, {
    prepare: ({ smsType, lists }) =>
      smsType === "list" && lists.length === 0
        ? [notValid("lists", "At least one contact segment is required.")]
        : [],
    changed: async (transaction, changes) => SMS_SCHEDULE.plan(transaction, changes, context.database.now()),
  });
}
