import type { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { parseJson } from "@tidings/resource/json-member";
import type { RpcClient } from "@tidings/rpc/client";
import { outgoingCall } from "./service-actor.ts";

/** A mail as receivers read it; null where it cannot be written any more. */
export interface SentMail {
  subject: string | null;
  headers: unknown;
  content: string | null;
}

/** Mails by the hashes of their sends, in this order. */
export type ReadMails = (hashes: string[]) => Promise<SentMail[]>;

const BATCH_MAX = 100;

/** Asks the content service to write mails again: no copy of them is kept. */
export function mailReader(sends: Pick<RpcClient<typeof SendMethodService>, "batchRenderSends">): ReadMails {
  return async (hashes) => {
    const mails: SentMail[] = [];
    while (mails.length < hashes.length) {
      // An answer may end before the last one that was asked for.
      const asked = hashes.slice(mails.length, mails.length + BATCH_MAX);
      const { sends: rendered } = await sends.batchRenderSends({ hashes: asked }, outgoingCall());
      if (rendered.length === 0)
        throw new Error("the content service wrote none of the mails that were asked for");
      for (const { mail } of rendered)
        mails.push({
          subject: mail?.subject ?? null,
          headers: mail ? parseJson(mail.headers) : null,
          content: mail?.content ?? null,
        });
    }
    return mails;
  };
}
