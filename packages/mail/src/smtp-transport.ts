import type { HandOver, MailTransport, WrittenMail } from "./mail-transport.ts";
import {
  ConnectionRefused,
  openConversation,
  type SmtpConversation,
  type SmtpServer,
} from "./smtp-conversation.ts";

/** Servers close connections that nothing goes over. */
const IDLE_MS = 20_000;

/** Hands mails over by SMTP (RFC 5321). A connection is kept for the next mail; there are as many as mails at a time. */
export function smtpTransport(server: SmtpServer): MailTransport {
  const idle = new Map<SmtpConversation, NodeJS.Timeout>();
  let isClosed = false;

  const takeIdle = (): SmtpConversation | undefined => {
    for (const [conversation, timer] of idle) {
      clearTimeout(timer);
      idle.delete(conversation);
      if (conversation.isOpen) return conversation;
    }
    return undefined;
  };
  const keep = (conversation: SmtpConversation) => {
    if (!conversation.isOpen) return;
    if (isClosed) return conversation.close();
    const timer = setTimeout(() => {
      idle.delete(conversation);
      conversation.close();
    }, IDLE_MS).unref();
    idle.set(conversation, timer);
  };
  const over = async (conversation: SmtpConversation, mail: WrittenMail): Promise<HandOver> => {
    const outcome = await conversation.handOver(mail);
    keep(conversation);
    return outcome;
  };
  const handOver = async (mail: WrittenMail): Promise<HandOver> => {
    const kept = takeIdle();
    const outcome = kept && (await over(kept, mail));
    // The server may have closed that connection meanwhile. Nothing went over it, so a new one is opened.
    if (outcome && outcome.state !== "away") return outcome;
    try {
      return await over(await openConversation(server), mail);
    } catch (error) {
      if (error instanceof ConnectionRefused) return error.handOver;
      throw error;
    }
  };
  return {
    name: `${server.tls === "implicit" ? "smtps" : "smtp"}://${server.host}:${server.port}`,
    handOver,
    close() {
      isClosed = true;
      for (const [conversation, timer] of idle) {
        clearTimeout(timer);
        conversation.close();
      }
      idle.clear();
    },
  };
}
