import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "@tidings/embedded/free-port";
import { startServer } from "@tidings/embedded/server-process";
import { onPath } from "@tidings/embedded/server-program";
import type { CertificateFiles } from "./certificates.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface StoredMail {
  text: string;
  /** Letters of Maildir: `S` seen, `F` flagged, small ones for keywords. */
  flags: string;
}

/** A Dovecot with one folder of mails, for a user of any name. */
export interface ImapServer {
  /** Listens on 127.0.0.2. Nothing is encrypted. */
  plainPort: number;
  /** Offers STARTTLS. */
  port: number;
  /** TLS from the first octet. */
  tlsPort: number;
  /** Takes mails from whoever signs in (RFC 6409), and offers STARTTLS; only with a `relayPort`. */
  submissionPort: number;
  /** Puts a mail into the inbox. */
  deliver(text: string | Buffer): Promise<void>;
  /** All mails of the inbox. */
  stored(): Promise<StoredMail[]>;
  close(): Promise<void>;
}

interface ImapServerOptions {
  certificates: CertificateFiles;
  password: string;
  /** The mail server on this machine that gets the mails that are submitted. */
  relayPort?: number;
}

/** Debian's; a process with the rights of root gives them away. */
const NOBODY = 65_534;

/**
 * Why tests do without Dovecot: it only works where it is installed, since it looks for its parts at fixed paths. False where it is there, and in
 * the whole verification, which installs it.
 */
export function isWithoutDovecot(): string | false {
  const isMissing = !program() && !process.env.TEST_REQUIRES_ALL;
  return isMissing && "dovecot is not installed (Debian's dovecot-imapd)";
}

/** The same for a Dovecot that takes mails. */
export function isWithoutSubmission(): string | false {
  const isMissing = !existsSync("/usr/lib/dovecot/submission") && !process.env.TEST_REQUIRES_ALL;
  return isMissing && "dovecot's submission is not installed (Debian's dovecot-submissiond)";
}

function program(): string | undefined {
  return onPath("dovecot") ?? ["/usr/sbin/dovecot"].find(existsSync);
}

/** Starts the Dovecot of this machine, with a configuration of its own. */
export async function startImapServer(options: ImapServerOptions): Promise<ImapServer> {
  const command = program();
  if (!command) throw new Error("dovecot is not installed: apt-get install dovecot-imapd");
  // The folder of the tests is for their user alone, and Dovecot is another one where that is root.
  const folder = await temporaryFolder("/tmp");
  const mails = join(folder.path, "mail");
  await chmod(folder.path, 0o755);
  for (const name of ["", "tmp", "new", "cur"]) {
    await mkdir(join(mails, name), { recursive: true });
    if (process.getuid?.() === 0) await chown(join(mails, name), NOBODY, NOBODY);
  }
  const ports = {
    ...{ plainPort: await freePort(), port: await freePort(), tlsPort: await freePort() },
    submissionPort: await freePort(),
  };
  const file = join(folder.path, "dovecot.conf");
  await writeFile(file, configuration({ ...options, ...ports, folder: folder.path }));
  const server = await startServer({
    name: "dovecot",
    command,
    args: ["-F", "-c", file],
    dataDir: folder.path,
    readyText: "starting up",
  });
  return {
    ...ports,
    async deliver(text) {
      const name = `${Date.now()}.${randomUUID()}.test`;
      await writeFile(join(mails, "tmp", name), text);
      await rename(join(mails, "tmp", name), join(mails, "new", name));
    },
    async stored() {
      const names = await Promise.all(
        ["new", "cur"].map(async (part) =>
          (await readdir(join(mails, part))).map((name) => join(part, name)),
        ),
      );
      return Promise.all(
        names.flat().map(async (name) => ({
          text: await readFile(join(mails, name), "utf8"),
          flags: /:2,(\w*)$/.exec(name)?.[1] ?? "",
        })),
      );
    },
    async close() {
      await server.stop();
      await folder.remove();
    },
  };
}

type Ports = Pick<ImapServer, "plainPort" | "port" | "tlsPort" | "submissionPort">;
type Configured = ImapServerOptions & Ports & { folder: string };

/** Nothing of it needs the rights of root, or files of the system. */
function configuration({ folder, certificates, password, relayPort, ...ports }: Configured): string {
  const { plainPort, port, tlsPort, submissionPort } = ports;
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? "nobody" : userInfo().username;
  const rights = [`default_internal_user = ${user}`, `default_login_user = ${user}`];
  if (isRoot) rights.push("default_internal_group = nogroup");
  const blocks = {
    "local 127.0.0.2": "ssl = no",
    passdb: `driver = static\n args = password=${password}`,
    userdb: `driver = static\n args = uid=${user} ${isRoot ? "gid=nogroup" : ""} home=${folder}/mail`,
    "service anvil": "chroot =",
    "service imap-login": `chroot =
      inet_listener imap {\n port = ${port}\n }
      inet_listener plain {\n address = 127.0.0.2\n port = ${plainPort}\n }
      inet_listener imaps {\n port = ${tlsPort}\n ssl = yes\n }`,
    ...(relayPort !== undefined && {
      "service submission-login": `chroot =\n inet_listener submission {\n port = ${submissionPort}\n }`,
      "protocol submission": `hostname = submission.example
        submission_relay_host = 127.0.0.1\n submission_relay_port = ${relayPort}`,
    }),
  };
  return [
    ...[`base_dir = ${folder}/base`, `state_dir = ${folder}/state`, "log_path = /dev/stderr"],
    ...[
      `protocols = imap${relayPort === undefined ? "" : " submission"}`,
      "listen = 127.0.0.1",
      "first_valid_uid = 1",
      ...rights,
    ],
    ...["ssl = yes", `ssl_cert = <${certificates.TLS_CERT_FILE}`, `ssl_key = <${certificates.TLS_KEY_FILE}`],
    ...["disable_plaintext_auth = no", "auth_failure_delay = 0", `mail_location = maildir:${folder}/mail`],
    ...Object.entries(blocks).map(([name, members]) => `${name} {\n ${members}\n}`),
    "",
  ].join("\n");
}
