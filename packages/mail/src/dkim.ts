import { createHash, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { headerLine } from "./header-line.ts";
import { domainOf, wireDomain } from "./mail-address.ts";

/** A key that signs the mails of a domain. Its public half stands in DNS, at `<selector>._domainkey.<domain>`. */
export interface DkimKey {
  domain: string;
  selector: string;
  key: KeyObject;
}

/** RFC 6376, 5.4.1. RFC 8058, 4 asks for both fields of the unsubscribe, Gmail's feedback loop for Feedback-ID. */
const COVERED = [
  ...["from", "to", "cc", "reply-to", "subject", "date", "message-id", "mime-version", "content-type"],
  ...["list-id", "list-unsubscribe", "list-unsubscribe-post", "precedence", "feedback-id"],
];
const SELECTOR = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
/** RFC 8301, 3.2. */
const RSA_BITS_MIN = 1_024;
const BASE64_LINE = /.{1,64}/g;
const CRLF = Buffer.from("\r\n");
const EMPTY = Buffer.alloc(0);
const HASHED_AT_ONCE = 1024 * 1024;
const signed = promisify(sign);

/**
 * Reads keys written as `domain:selector:key`, where the key is RSA or Ed25519, a PEM file (PKCS 8) or the base64 of it. The text
 * that says what is wrong names nothing of a key.
 */
export function readDkimKeys(items: string[]): DkimKey[] | { problem: string } {
  const keys: DkimKey[] = [];
  for (const [index, item] of items.entries()) {
    const read = readKey(item);
    if ("problem" in read) return { problem: `entry ${index + 1} ${read.problem}` };
    keys.push(read);
  }
  return keys;
}

function readKey(item: string): DkimKey | { problem: string } {
  const [name = "", selector = "", text, ...rest] = item.split(":");
  if (text === undefined || rest.length > 0) return { problem: "is not written as domain:selector:key" };
  const domain = wireDomain(name);
  if (domain === undefined || domain.startsWith("[")) return { problem: "names no domain" };
  if (!SELECTOR.test(selector)) return { problem: "has a selector that is no name in DNS" };
  const der = Buffer.from(text.replace(/-----[A-Z ]+-----/g, ""), "base64");
  try {
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    if (type !== "rsa" && type !== "ed25519") return { problem: "has a key that is neither RSA nor Ed25519" };
    if (type === "rsa" && (details?.modulusLength ?? 0) < RSA_BITS_MIN)
      return { problem: `has an RSA key of fewer than ${RSA_BITS_MIN} bits` };
    return { domain, selector, key };
  } catch {
    return { problem: "has a key that is no unencrypted private key in PKCS 8" };
  }
}

/**
 * Puts a signature by each key of the sender's domain before a mail (RFC 6376; Ed25519 by RFC 8463): of the domain itself, or else of the
 * nearest one above it. A mail of another domain stays as it is. The lines of the mail end with CRLF. Its header is within the first piece, and the last of
 * several has text. The signer of nodemailer knows RSA alone, and leaves a mail unsigned where it fails.
 */
export async function signMail(pieces: Buffer[], sender: string, keys: DkimKey[]): Promise<Buffer[]> {
  const ours = keysOf(domainOf(sender), keys);
  const [first, ...others] = pieces;
  if (ours.length === 0 || !first) return pieces;
  const end = first.indexOf("\r\n\r\n");
  const { names, text } = coveredFields(first.toString("latin1", 0, end));
  const bodyHash = await hashOfBody([first.subarray(end + 4), ...others]);
  const signatures = await Promise.all(
    ours.map(async ({ domain, selector, key }) => {
      const isRsa = key.asymmetricKeyType === "rsa";
      const tags = `v=1; a=${isRsa ? "rsa" : "ed25519"}-sha256; c=relaxed/relaxed; d=${domain}; s=${selector}; h=${names.join(": ")}; bh=${bodyHash}; b=`;
      const data = Buffer.from(`${text}dkim-signature:${tags}`, "latin1");
      const signature = await (isRsa ? signed("sha256", data, key) : signed(null, sha256(data), key));
      const lines = signature.toString("base64").match(BASE64_LINE) ?? [];
      return headerLine("DKIM-Signature", tags + lines.join(" "));
    }),
  );
  return [Buffer.from(signatures.join("")), ...pieces];
}

/** Says whether a key signs the mails of an address as it stands on the wire. */
export function isSigned(address: string, keys: DkimKey[]): boolean {
  return keysOf(domainOf(address), keys).length > 0;
}

function keysOf(domain: string, keys: DkimKey[]): DkimKey[] {
  const above = keys.filter((key) => `.${domain}`.endsWith(`.${key.domain}`));
  const longest = Math.max(...above.map((key) => key.domain.length));
  return above.filter((key) => key.domain.length === longest);
}

/**
 * The covered fields that stand in a mail, in their canonical form. Each name is listed once more than it stands there, so that another
 * field of that name breaks the signature (RFC 6376, 8.15).
 */
function coveredFields(head: string): { names: string[]; text: string } {
  const fields = Map.groupBy(head.split(/\r\n(?![ \t])/), (line) =>
    line.slice(0, line.indexOf(":")).toLowerCase(),
  );
  const names: string[] = [];
  let text = "";
  for (const name of COVERED) {
    // The lowest is signed first (RFC 6376, 5.4.2).
    const lines = fields.get(name)?.toReversed() ?? [];
    for (const line of lines) text += `${name}:${relaxedValue(line.slice(name.length + 1))}\r\n`;
    if (lines.length > 0) names.push(...lines.map(() => name), name);
  }
  return { names, text };
}

/** RFC 6376, 3.4.2. */
function relaxedValue(value: string): string {
  return value
    .replaceAll("\r\n", "")
    .replace(/[ \t]+/g, " ")
    .replace(/^ | $/g, "");
}

/** The hash of a body in its canonical form (RFC 6376, 3.4.4). Others have a turn while that of a large attachment is taken. */
async function hashOfBody(pieces: Buffer[]): Promise<string> {
  const hash = createHash("sha256");
  const last = pieces.length - 1;
  for (const [index, piece] of pieces.entries()) {
    const relaxed = relaxedLines(piece);
    const octets = index === last ? withoutEmptyEnd(relaxed) : relaxed;
    for (let at = 0; at < octets.length; at += HASHED_AT_ONCE) {
      if (at > 0) await setImmediate();
      hash.update(octets.subarray(at, at + HASHED_AT_ONCE));
    }
  }
  return hash.digest("base64");
}

/** Base64 has no blanks, and stays as it is. */
function relaxedLines(lines: Buffer): Buffer {
  if (!lines.includes(" ") && !lines.includes("\t")) return lines;
  const text = lines.toString("latin1").replace(/[ \t]+/g, " ");
  return Buffer.from(text.replace(/ (?=\r\n|$)/g, ""), "latin1");
}

function withoutEmptyEnd(lines: Buffer): Buffer {
  let end = lines.length;
  while (lines.subarray(end - 2, end).equals(CRLF)) end -= 2;
  return end === 0 ? EMPTY : Buffer.concat([lines.subarray(0, end), CRLF]);
}

function sha256(data: string | Buffer): Buffer {
  return createHash("sha256")
    .update(typeof data === "string" ? Buffer.from(data, "latin1") : data)
    .digest();
}
