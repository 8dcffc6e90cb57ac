import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { type LeanMail, leanMailServer } from "@tidings/testkit/lean-mail-server";
import PostalMime from "postal-mime";
import { type Marks, markRegister } from "./marks.ts";

export interface ReceiverAddress {
  host: string;
  port: number;
  /** Where mails are taken, by SMTP. */
  mailPort: number;
}

export interface ReceiverServer {
  port: number;
  mailPort: number;
  stop(): Promise<void>;
}

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const MAIL_BYTES_MAX = 64 * 1024;
/** The most marks of deliveries that no client has asked for; the oldest go first. */
const MARKS_MAX = 100_000;
/** The same for mails, which are kept. */
const MAILS_MAX = 1_000;
const COUNT_MAX = 1_000_000;
const WAIT_MS_MAX = 60_000;
/** The mark that journeys write, so that a webhook or a mail is known again. */
const MARK = /\bload[a-z0-9]+-[a-z-]+-\d+\b/g;
const PATH = /^\/(deliveries|mails)\/(load[a-z0-9]+-[a-z-]+-\d+)$/;

/**
 * Takes webhooks under any path, and answers whether one had a mark in its body: `GET /deliveries/MARK?withinMs=1000` answers 200 as
 * soon as it has come, 404 when it has not within that time. Takes mails, too: `GET /mails/MARK?count=5&withinMs=1000` answers 200 with
 * `{count, subject, html, text}`, the latest mail, as soon as five have come with the mark in a header or an address. `GET /healthz` answers 200.
 */
export async function startReceiverServer({
  host,
  port,
  mailPort,
}: ReceiverAddress): Promise<ReceiverServer> {
  const deliveries = markRegister<undefined>(MARKS_MAX);
  const mails = markRegister<Buffer>(MAILS_MAX);

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    for (const mark of marksIn(body ?? "")) deliveries.note(mark, undefined);
    answer(response, body === undefined ? 413 : 200);
  };
  const look = async (
    request: IncomingMessage,
    response: ServerResponse,
    { kind, mark }: { kind: string; mark: string },
  ) => {
    const asked = askedIn(request, response);
    const register: Marks<Buffer | undefined> = kind === "mails" ? mails : deliveries;
    const seen = await register.awaited(mark, asked);
    if (!seen) return answer(response, 404);
    if (!seen.latest) return answer(response, 200);
    const { subject, html, text } = await PostalMime.parse(seen.latest);
    response.setHeader("content-type", "application/json");
    answer(response, 200, JSON.stringify({ count: seen.count, subject, html, text }));
  };

  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const [, kind, mark] = PATH.exec(path) ?? [];
    const goneAway = () => void response.destroy();
    if (request.method === "POST") take(request, response).catch(goneAway);
    else if (kind && mark) look(request, response, { kind, mark }).catch(goneAway);
    else answer(response, path === "/healthz" ? 200 : 404);
  });
  const mailServer = leanMailServer({
    octetsMax: MAIL_BYTES_MAX,
    onMail(mail) {
      for (const mark of marksIn(addressed(mail))) mails.note(mark, mail.octets);
    },
  });
  server.listen({ host, port });
  mailServer.listen({ host, port: mailPort });
  await Promise.all([once(server, "listening"), once(mailServer, "listening")]);
  const senders = openSockets(mailServer);
  return {
    port: (server.address() as AddressInfo).port,
    mailPort: (mailServer.address() as AddressInfo).port,
    async stop() {
      server.close();
      mailServer.close();
      server.closeAllConnections();
      for (const socket of senders) socket.destroy();
      await Promise.all([once(server, "close"), once(mailServer, "close")]);
    },
  };
}

function openSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

function askedIn(request: IncomingMessage, response: ServerResponse) {
  const query = new URL(request.url ?? "", "http://receiver").searchParams;
  const hungUp = new AbortController();
  response.once("close", () => hungUp.abort());
  return {
    count: numberIn(query, "count", { least: 1, most: COUNT_MAX }),
    withinMs: numberIn(query, "withinMs", { least: 0, most: WAIT_MS_MAX }),
    signal: hungUp.signal,
  };
}

/** Each once. */
function marksIn(text: string): Set<string> {
  return new Set(text.match(MARK));
}

/** Recipients and headers. */
function addressed({ recipients, octets }: LeanMail): string {
  const end = octets.indexOf("\r\n\r\n");
  return `${recipients.join(" ")} ${octets.toString("latin1", 0, end < 0 ? octets.length : end)}`;
}

function answer(response: ServerResponse, status: number, body = ""): void {
  if (!response.headersSent) response.writeHead(status).end(body);
}

/** The least where there is no number. */
function numberIn(
  query: URLSearchParams,
  name: string,
  { least, most }: { least: number; most: number },
): number {
  const wanted = Number(query.get(name) ?? Number.NaN);
  return Number.isFinite(wanted) ? Math.min(Math.max(least, wanted), most) : least;
}

/** Undefined when there is too much of it. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size > BODY_BYTES_MAX ? undefined : Buffer.concat(chunks).toString("utf8");
}
