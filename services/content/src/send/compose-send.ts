import { composeMail, type Mailbox, type MailParts } from "@tidings/mail/compose-mail";
import type { DkimKey } from "@tidings/mail/dkim";
import { wireAddress } from "@tidings/mail/mail-address";
import type { Envelope } from "@tidings/mail/mail-transport";

/** A mail as an attempt hands it over. */
export interface WrittenSend {
  messageId: string;
  address: string;
  envelope: Envelope;
  pieces: Buffer[];
}

interface ComposedSend extends Omit<MailParts, "messageId" | "date" | "from"> {
  hash: string;
  /** The address that gets it. */
  address: string;
  /** The address that bounces go to; the usual sender's when absent. */
  returnAddress?: string | undefined;
  /** Addresses that get it too, as an email has them: with commas. */
  bcc?: string | null;
  /** Empty where the usual sender is meant. */
  fromAddress: string;
  fromName: string;
}

/** The usual sender of mails. */
export interface UsualSender {
  /** The sender of mails that name none, whom bounces go to. */
  from: Mailbox;
  /** They sign the mails of their domains. */
  dkimKeys: DkimKey[];
}

interface Sender extends UsualSender {
  /** In milliseconds since 1970. */
  now: number;
}

/** No attempt with the same mail and address would succeed. */
export class SendRefused extends Error {
  override name = "SendRefused";
  readonly isBadAddress: boolean;

  constructor(reason: string, isBadAddress = false) {
    super(reason);
    this.isBadAddress = isBadAddress;
  }
}

/** Writes a mail, whose message id is the same over all attempts. Throws SendRefused for a malformed address. */
export async function composeSend(
  { hash, address, returnAddress, bcc, fromAddress, fromName, ...parts }: ComposedSend,
  { from, dkimKeys, now }: Sender,
): Promise<WrittenSend> {
  const to = wireAddress(address);
  if (to === undefined) throw new SendRefused("The email address is malformed.", true);
  const messageId = `${hash}@${from.address.slice(from.address.lastIndexOf("@") + 1)}`;
  const pieces = await composeMail(
    {
      ...parts,
      messageId,
      date: new Date(now),
      from: fromAddress ? { address: fromAddress, name: fromName } : { ...from, name: fromName || from.name },
    },
    dkimKeys,
  );
  const copied = (bcc ?? "").split(",").flatMap((text) => wireAddress(text) ?? []);
  const envelope = { from: returnAddress ?? wireAddress(from.address) ?? from.address, to, bcc: copied };
  return { messageId, address, envelope, pieces };
}
