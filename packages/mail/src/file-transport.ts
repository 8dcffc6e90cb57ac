import { mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { MailTransport } from "./mail-transport.ts";

/**
 * Keeps each mail as `<message id>.eml` in a folder, and sends nothing. Before the mail stand the fields X-Envelope-From and
 * X-Envelope-To. A file is there whole or not at all, and only once it is on the disk.
 */
export function fileTransport(folder: string): MailTransport {
  const made = mkdir(folder, { recursive: true });
  // Each hand-over waits for it, and says what was wrong.
  made.catch(() => undefined);
  return {
    name: pathToFileURL(folder).href,
    async handOver({ messageId, envelope, pieces, mayBegin }) {
      const { from, to, bcc } = envelope;
      const fields = `X-Envelope-From: <${from}>\r\nX-Envelope-To: ${[to, ...bcc].map((address) => `<${address}>`).join(", ")}\r\n`;
      try {
        await made;
        if (!mayBegin()) return { state: "not begun" };
        await writeWhole(join(folder, `${fileNameOf(messageId)}.eml`), [Buffer.from(fields), ...pieces]);
        return { state: "taken", code: 250, text: "It is kept as a file." };
      } catch (error) {
        return { state: "away", isRefusedSignIn: false, code: undefined, text: reasonOf(error) };
      }
    },
    close: () => undefined,
  };
}

async function writeWhole(path: string, parts: Buffer[]): Promise<void> {
  const file = await open(`${path}.part`, "w", 0o600);
  try {
    for (const part of parts) await file.write(part);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.part`, path);
}

/** A message id has characters that no file name has. */
function fileNameOf(messageId: string): string {
  return messageId.replace(/[^\w.@+-]/g, "_");
}

/** Such as ENOSPC. The message has paths of this machine in it. */
function reasonOf(error: unknown): string {
  return `The folder cannot be written to (${(error as NodeJS.ErrnoException).code ?? "unknown"}).`;
}
