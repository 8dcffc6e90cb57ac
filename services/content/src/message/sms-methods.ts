import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Sms, SmsMethodService } from "@tidings/proto/tidings/content/v1/sms";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { denied, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

const UNPUBLISHED = "The specified SMS was unpublished.";
const NO_TRANSPORT = "No transport for text messages is set up.";

/** The methods of text messages beyond the standard ones. There is no transport yet, and nothing pretends that there is one. */
export function smsMethods(
  rows: Repository<Sms>,
  findVisible: FindVisible,
): Handlers<typeof SmsMethodService> {
  return {
    async sendSmsToContact({ id, contactId }, call) {
      const { isPublished } = await rows.get(id, call);
      if (reach(call.actor, "lead:leads", Verb.VIEW) === "none") throw denied();
      if (!(await findVisible(ContactSchema, [contactId], call)).has(contactId)) throw notFound();
      return { isSent: false, status: isPublished ? NO_TRANSPORT : UNPUBLISHED };
    },
  };
}
