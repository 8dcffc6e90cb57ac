import { createServer, type Server, type Socket } from "node:net";

/** A mail as its sender wrote it. */
export interface LeanMail {
  recipients: string[];
  octets: Buffer;
}

export interface LeanMailOptions {
  /** The octets of a mail that are kept; the rest is taken and forgotten. */
  octetsMax: number;
  onMail(mail: LeanMail): void;
}

const END_OF_LINE = Buffer.from("\r\n");
const END_OF_MAIL = Buffer.from("\r\n.\r\n");
const NOTHING = Buffer.alloc(0);
const VERB_LENGTH = 4;
const LINE_LENGTH_MAX = 4_096;
const RECIPIENTS_MAX = 100;
const IDLE_MS = 300_000;
const OK = "250 2.0.0 OK\r\n";
const GOODBYE = "221 2.0.0 goodbye\r\n";
const TOO_MANY = "452 4.5.3 too many recipients\r\n";
const ANSWERS: Record<string, string> = {
  EHLO: ["250-lean", "250-PIPELINING", "250-8BITMIME", "250-SMTPUTF8", "250 SIZE 104857600", ""].join("\r\n"),
  HELO: OK,
  MAIL: OK,
  RCPT: OK,
  DATA: "354 go on\r\n",
  RSET: OK,
  NOOP: OK,
  QUIT: GOODBYE,
};

/**
 * A mail server that takes every mail (RFC 5321, with the extensions of RFC 1870, 2920, 6152 and 6531), asks for no sign-in and has no TLS. It costs little
 * beside the senders that are measured with it.
 */
export function leanMailServer(options: LeanMailOptions): Server {
  return createServer({ noDelay: true }, (socket) => serve(socket, options));
}

function serve(socket: Socket, { octetsMax, onMail }: LeanMailOptions): void {
  let rest: Buffer = NOTHING;
  let recipients: string[] = [];
  let kept: Buffer[] = [];
  let keptLength = 0;
  let isMail = false;

  const reset = () => {
    recipients = [];
    kept = [];
    keptLength = 0;
  };
  const answerTo = (line: string): string => {
    const verb = line.slice(0, VERB_LENGTH).toUpperCase();
    if (verb === "RCPT" && recipients.length === RECIPIENTS_MAX) return TOO_MANY;
    if (verb === "RCPT") recipients.push(/<(.*)>/.exec(line)?.[1] ?? "");
    if (verb === "MAIL" || verb === "RSET") reset();
    isMail = verb === "DATA";
    return ANSWERS[verb] ?? "502 5.5.1 no such command\r\n";
  };
  const keep = (octets: Buffer) => {
    const more = octets.subarray(0, octetsMax - keptLength);
    if (more.length === 0) return;
    kept.push(more);
    keptLength += more.length;
  };
  const take = (): string => {
    isMail = false;
    onMail({ recipients, octets: withoutStuffing(Buffer.concat(kept)) });
    reset();
    return OK;
  };

  socket.on("error", () => undefined); // a sender that hangs up is no concern of the server
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.write("220 lean ESMTP\r\n");
  socket.on("data", (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let answers = "";
    for (;;) {
      const mark = isMail ? END_OF_MAIL : END_OF_LINE;
      const at = rest.indexOf(mark);
      if (at < 0) break;
      if (isMail) keep(rest.subarray(0, at));
      answers += isMail ? take() : answerTo(rest.toString("utf8", 0, at));
      rest = rest.subarray(at + mark.length);
    }
    if (isMail) {
      // The end of a mail may come in two parts.
      const sure = Math.max(0, rest.length - END_OF_MAIL.length + 1);
      keep(rest.subarray(0, sure));
      rest = rest.subarray(sure);
    } else if (rest.length > LINE_LENGTH_MAX) socket.destroy();
    if (answers !== "") socket.write(answers);
    if (answers.endsWith(GOODBYE)) socket.end();
  });
}

/** The mail without the dots that senders put before lines that begin with one (RFC 5321, 4.5.2). */
function withoutStuffing(octets: Buffer): Buffer {
  const text = octets.toString("latin1");
  return text.includes("\n.") ? Buffer.from(text.replaceAll("\r\n.", "\r\n"), "latin1") : octets;
}
