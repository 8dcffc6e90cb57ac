import type { Begin } from "@tidings/jobs/begin";
import type { Claimed } from "@tidings/jobs/queue";
import { MailInvalid } from "@tidings/mail/compose-mail";
import type { HandOver } from "@tidings/mail/mail-transport";
import { TemplateError } from "@tidings/rendering/template-error";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import type { Turn, Wait } from "../rate/mail-rates.ts";
import { SendRefused } from "./compose-send.ts";
import { type Contactable, LIMITS } from "./contactable.ts";
import { isSenderRefused } from "./refused-sender.ts";
import { noteUnasked } from "./send-metrics.ts";
import { SendState } from "./send-tables.ts";

/** The outcome of an attempt. */
export interface SendOutcome {
  state: "waiting" | "sent" | "failed" | "suppressed" | "unknown";
  /** Until the next attempt, of one that waits. */
  delaySeconds: number;
  /** The code of the server that was given the message. */
  code?: number | undefined;
  /** Why it failed, was suppressed, or waits. */
  reason?: string | undefined;
  /** The words, or the answer, with which the server took it. */
  answer?: string | undefined;
  /** The address or number that the message was for. */
  address?: string | undefined;
  /** The values that it was made of, as JSON. */
  mailValues?: string | undefined;
  /** The assets that were attached. */
  assetIds?: number[] | undefined;
  /** Another attempt of the same kind is counted. */
  isAttempt: boolean;
  /** There is no such mailbox: no other mail to the address would arrive. */
  isBadAddress?: boolean;
  /** The server is away, or refuses everybody: others wait, too. */
  isEverybody: boolean;
}

interface WrittenMessage {
  address: string;
  /** The values that it was made of, where they are to be kept. */
  mailValues?: string | undefined;
  /** The assets that are attached. */
  assetIds?: number[];
  /** Names the attachments that are missing in it; undefined where it is whole. */
  note?: string | undefined;
}

export interface MessageSenderOptions<S extends Claimed, W extends WrittenMessage> {
  log: Log;
  /** Throws SendRefused where no message can be written. */
  write(send: S): Promise<W>;
  /** Never rejects: what became of the message is the answer. `mayBegin` is asked right before its first octet leaves. */
  handOver(message: W, mayBegin: () => boolean): Promise<HandOver>;
  /** Throws while the answer cannot be found out. */
  ask(send: S, address: string): Promise<Contactable>;
  /** Limits of what a contact gets hold it back: nobody asked for it. */
  isBulk(send: S): boolean;
}

/** Seconds after each refusal for now (4yz), until the next attempt. */
const RETRY_SECONDS = [60, 300, 1_800, 7_200, 28_800, 86_400];
const AWAY_SECONDS = 15;
const UNANSWERED_SECONDS = 2;
const UNANSWERED = "The contact service does not answer.";
const UNWRITTEN = "The message could not be written.";
const REFUSED_SENDER_SECONDS = 300;
/** Until a contact is asked about again who has had enough messages for now, or made a pause. */
const DEFERRED_SECONDS = 3_600;
/** Bad destination mailbox, system or syntax, and a null MX (RFC 3463, 3.2; RFC 7505, 4). */
const BAD_ADDRESS = /^5\.1\.(?:1|2|3|10)\b/;

/** A message that is written. Undefined where somebody else has the send, or the contact said no meanwhile. */
export type Prepared = (begin: Begin, turn: Turn | undefined) => Promise<SendOutcome | undefined>;

/** Prepares one message: writes it. What it returns waits for the rate of the domain, asks, commits the start, and hands over. */
export function messagePreparer<S extends Claimed, W extends WrittenMessage>({
  log,
  write,
  handOver,
  ask,
  isBulk,
}: MessageSenderOptions<S, W>): (send: S) => Promise<SendOutcome | Prepared> {
  return async (send) => {
    const decided = (error: unknown) => decidedBy(error, send, log);
    const written = await write(send)
      .then((message) => ({ message }))
      .catch(decided);
    if ("state" in written) return written;
    const { message } = written;
    const { address, mailValues, assetIds, note } = message;
    return async (begin, turn) => {
      const wait = await turn?.waitFor(address);
      if (wait) return { ...waiting(wait), address };
      // Not asked before: a no that comes while the message waits for its turn is heard.
      const contactable = await ask(send, address).catch(decided);
      if ("state" in contactable) return contactable;
      const no = noOf(contactable.refusal, isBulk(send));
      if (no) return { ...no, address };
      const begun = await begin(isBulk(send) ? contactable.limit : undefined);
      if (begun === "lost") return undefined;
      if (begun === "limited") return { ...DEFERRED, reason: "frequency", address };
      const outcome = outcomeOf(await handOver(message, contactable.isFresh), send);
      const reason = outcome.state === SendState.SENT ? note : outcome.reason;
      return { ...outcome, reason, address, mailValues, assetIds };
    };
  };
}

/** An email or an address that no message can be made of fails. While the contact service is away nothing goes out unasked. */
function decidedBy(error: unknown, { id, attempts }: Claimed, log: Log): SendOutcome {
  const waiting = { ...DECIDED, state: SendState.WAITING };
  if (isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED) {
    noteUnasked();
    return {
      ...{ ...waiting, delaySeconds: UNANSWERED_SECONDS, reason: UNANSWERED },
      ...{ isAttempt: false, isEverybody: true },
    };
  }
  if (error instanceof SendRefused || error instanceof MailInvalid || error instanceof TemplateError)
    return {
      ...{ ...DECIDED, state: SendState.FAILED, reason: error.message },
      isBadAddress: error instanceof SendRefused && error.isBadAddress,
    };
  // A fault of ours: it may pass, and stops nobody else.
  log.error({ err: error, send: id }, "a message could not be written");
  const delaySeconds = RETRY_SECONDS[attempts];
  return delaySeconds === undefined
    ? { ...DECIDED, state: SendState.FAILED, reason: UNWRITTEN }
    : { ...waiting, delaySeconds, reason: UNWRITTEN };
}

const DECIDED = { delaySeconds: 0, isAttempt: true, isEverybody: false };

const DEFERRED = {
  ...DECIDED,
  state: SendState.WAITING,
  delaySeconds: DEFERRED_SECONDS,
  isAttempt: false,
};

/** The outcome of a message that waits for its turn, which is no attempt. */
export function waiting({ delaySeconds, reason }: Wait): SendOutcome {
  return { ...DECIDED, state: SendState.WAITING, delaySeconds, reason, isAttempt: false };
}

/** The outcome for a contact who may not be written to now; undefined where they may. */
function noOf(refusal: string, isBulk: boolean): SendOutcome | undefined {
  if (refusal === "") return undefined;
  if (!LIMITS.has(refusal)) return { ...DECIDED, state: SendState.SUPPRESSED, reason: refusal };
  // A message that somebody asked for is not counted against a limit of those that were not.
  return isBulk ? { ...DEFERRED, reason: refusal } : undefined;
}

function outcomeOf(handOver: HandOver, { attempts }: Claimed): SendOutcome {
  switch (handOver.state) {
    case "taken":
      return { ...DECIDED, state: SendState.SENT, code: handOver.code, answer: handOver.text };
    case "unknown":
      return { ...DECIDED, state: SendState.UNKNOWN, reason: handOver.text };
    case "not begun":
      return { ...DECIDED, state: SendState.WAITING, isAttempt: false };
    case "away": {
      const { code, text } = handOver;
      return {
        ...DECIDED,
        state: SendState.WAITING,
        delaySeconds: AWAY_SECONDS,
        code,
        reason: text,
        isAttempt: false,
        isEverybody: true,
      };
    }
    case "refused": {
      const { code, text, isForGood } = handOver;
      const failure = { ...DECIDED, code, reason: text };
      // All mails have this sender.
      if (isSenderRefused(handOver))
        return {
          ...failure,
          state: SendState.WAITING,
          delaySeconds: REFUSED_SENDER_SECONDS,
          isAttempt: false,
          isEverybody: true,
        };
      const delaySeconds = isForGood ? undefined : RETRY_SECONDS[attempts];
      return delaySeconds === undefined
        ? { ...failure, state: SendState.FAILED, isBadAddress: BAD_ADDRESS.test(text) && isForGood }
        : { ...failure, state: SendState.WAITING, delaySeconds };
    }
  }
}
