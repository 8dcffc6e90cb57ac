import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import type { CertificateFiles } from "./certificates.ts";

export interface TakenMail {
  from: string;
  to: string[];
  octets: string;
}

/** An answer that is no yes: `550 5.1.1 no such mailbox`. */
export type Refusal = string;

export interface SinkOptions {
  /** The address it listens on; 127.0.0.1 when absent. */
  host?: string;
  /** Offered by STARTTLS; from the first octet with `isImplicit`. */
  certificates?: CertificateFiles;
  isImplicit?: boolean;
  /** The only sign-in that is taken; none is asked for when absent. */
  signIn?: { user: string; password: string };
  isPipelining?: boolean;
  sizeMax?: number;
  /** Refuses a recipient. */
  onRecipient?(address: string): Refusal | undefined;
  onMail?(mail: TakenMail): Refusal | undefined | Promise<Refusal | undefined>;
  /** Hangs up after a mail, before it is answered or right after. A mail that is hung up on counts as taken. */
  hangsUp?(mail: TakenMail): "unanswered" | "answered" | undefined;
}

/** A mail server that keeps what it takes. */
export interface MailSink {
  port: number;
  taken: TakenMail[];
  close(): Promise<void>;
}

/** Serves on `port`; any free one when absent. */
export async function startMailSink(options: SinkOptions = {}, port = 0): Promise<MailSink> {
  const {
    host = "127.0.0.1",
    certificates,
    isImplicit = false,
    signIn,
    isPipelining = true,
    sizeMax,
  } = options;
  const taken: TakenMail[] = [];
  const server = new SMTPServer({
    secure: isImplicit,
    ...(certificates && {
      cert: await readFile(certificates.TLS_CERT_FILE, "utf8"),
      key: await readFile(certificates.TLS_KEY_FILE, "utf8"),
    }),
    ...(sizeMax && { size: sizeMax }),
    hidePIPELINING: !isPipelining,
    disabledCommands: [...(certificates ? [] : ["STARTTLS"]), ...(signIn ? [] : ["AUTH"])],
    authOptional: !signIn,
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 10,
    onAuth: ({ username, password }, _session, callback) =>
      username === signIn?.user && password === signIn?.password
        ? callback(null, { user: username })
        : callback(answered("535 5.7.8 wrong user or password")),
    onRcptTo: ({ address }, _session, callback) => callback(answered(options.onRecipient?.(address))),
    onData(stream, { id, envelope }, callback) {
      const hangUp = () => [...server.connections].find((connection) => connection.id === id)?.close();
      const mailOf = async () => {
        const octets = (await buffer(stream)).toString("latin1");
        const { mailFrom, rcptTo } = envelope;
        const mail = {
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          octets,
        };
        const refusal = await options.onMail?.(mail);
        if (!refusal) taken.push(mail);
        const end = refusal ? undefined : options.hangsUp?.(mail);
        if (end === "unanswered") return hangUp();
        callback(answered(refusal));
        if (end === "answered") setImmediate(hangUp);
      };
      mailOf().catch(callback);
    },
  });
  // Clients that hang up are part of tests.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    taken,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function answered(refusal: Refusal | undefined): Error | null {
  if (!refusal) return null;
  return Object.assign(new Error(refusal.slice(4)), { responseCode: Number(refusal.slice(0, 3)) });
}
