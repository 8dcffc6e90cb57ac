import { type Sms, SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";

export function smses(context: ResourceContext): Repository<Sms> {
  return repository<Sms>(context, SmsSchema, {
    prepare: ({ smsType, lists }) =>
      smsType === "list" && lists.length === 0
        ? [notValid("lists", "At least one contact segment is required.")]
        : [],
  });
}
