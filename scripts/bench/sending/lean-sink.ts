// A mail server that takes every mail and keeps none (RFC 5321, 1870, 2920, 6152): it is to cost little beside the senders that are measured.
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A request of the bench. */
export type SinkRequest =
  /** Report the time at which so many more mails are taken. */
  | { count: number }
  /** Report each mail to these addresses. */
  | { addresses: string[] }
  /** Take nothing more until the next request says otherwise. */
  | { isHolding: boolean };

/** Times are in milliseconds since 1970. */
export type SinkReport = { countedAt: number; octets: number } | { address: string; takenAt: number };

const END_OF_LINE = Buffer.from("\r\n");
const END_OF_MAIL = Buffer.from("\r\n.\r\n");
const NOTHING = Buffer.alloc(0);
const GREETING = ["250-lean-sink", "250-PIPELINING", "250-8BITMIME", "250 SIZE 104857600", ""].join("\r\n");
const ANSWERS: Record<string, string> = {
  EHLO: GREETING,
  MAIL: "250 2.1.0 OK\r\n",
  RCPT: "250 2.1.5 OK\r\n",
  DATA: "354 go on\r\n",
  RSET: "250 2.0.0 OK\r\n",
  NOOP: "250 2.0.0 OK\r\n",
  QUIT: "221 2.0.0 goodbye\r\n",
};
const VERB_LENGTH = 4;

const sockets = new Set<Socket>();
let watched: ReadonlySet<string> = new Set();
let countedIn = Number.POSITIVE_INFINITY;
/** Since counting began. */
let octets = 0;
let isHolding = false;

const server = createServer({ noDelay: true }, serve);
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once("disconnect", () => process.exit(0));
process.on("message", (request: SinkRequest) => {
  if ("count" in request) {
    countedIn = request.count;
    octets = 0;
  }
  if ("addresses" in request) watched = new Set(request.addresses);
  if ("isHolding" in request) {
    isHolding = request.isHolding;
    for (const socket of sockets) isHolding ? socket.pause() : socket.resume();
  }
});

function serve(socket: Socket): void {
  let rest: Buffer = NOTHING;
  let recipients: string[] = [];
  let isMail = false;
  const answerTo = (line: string): string => {
    const verb = line.slice(0, VERB_LENGTH).toUpperCase();
    if (verb === "RCPT" && watched.size > 0) recipients.push(/<(.*)>/.exec(line)?.[1] ?? "");
    isMail = verb === "DATA";
    return ANSWERS[verb] ?? "502 5.5.1 no such command\r\n";
  };
  const take = (): string => {
    isMail = false;
    note(recipients);
    recipients = [];
    return ANSWERS.RSET ?? "";
  };
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
  socket.on("error", () => undefined); // a sender that ends is no concern of the sink
  socket.write("220 lean-sink ESMTP\r\n");
  if (isHolding) socket.pause();
  socket.on("data", (chunk) => {
    octets += chunk.length;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let answers = "";
    for (;;) {
      const mark = isMail ? END_OF_MAIL : END_OF_LINE;
      const at = rest.indexOf(mark);
      if (at < 0) break;
      answers += isMail ? take() : answerTo(rest.toString("latin1", 0, at));
      rest = rest.subarray(at + mark.length);
    }
    // The end of a mail may come in two parts.
    if (isMail) rest = rest.subarray(-(END_OF_MAIL.length - 1));
    if (answers !== "") socket.write(answers);
    if (answers.endsWith(ANSWERS.QUIT ?? "")) socket.end();
  });
}

function note(recipients: string[]): void {
  const now = performance.timeOrigin + performance.now();
  countedIn -= 1;
  if (countedIn === 0) report({ countedAt: now, octets });
  for (const address of recipients) if (watched.has(address)) report({ address, takenAt: now });
}

function report(report: SinkReport): void {
  process.send?.(report);
}
