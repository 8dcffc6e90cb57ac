import { domainToASCII } from "node:url";

/** RFC 5322, 3.2.3, with the characters outside of ASCII that RFC 6532, 3.2 adds. */
const DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+)*$/u;
const QUOTED_STRING = /^"(?:[^"\\]|\\.)+"$/u;
const DOMAIN = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;
const DOMAIN_LITERAL = /^\[[0-9A-Za-z.:-]+\]$/;
/** RFC 5321, 4.5.3.1.3 without the angle brackets. */
const ADDRESS_BYTES_MAX = 254;

/**
 * An address as headers and the envelope write it: its domain in A-labels (RFC 5890), its local part as it is. A local part with
 * characters that need quotes is quoted (RFC 5321, 4.1.2). Undefined for a text that is no address.
 */
export function wireAddress(text: string): string | undefined {
  const address = text.trim();
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}<>]/u.test(address)) return undefined;
  const at = address.lastIndexOf("@");
  const local = address.slice(0, Math.max(at, 0));
  const domain = wireDomain(address.slice(at + 1));
  if (local === "" || domain === undefined) return undefined;
  const written = `${wireLocalPart(local)}@${domain}`;
  return Buffer.byteLength(written) > ADDRESS_BYTES_MAX ? undefined : written;
}

function wireLocalPart(local: string): string {
  if (DOT_ATOM.test(local) || QUOTED_STRING.test(local)) return local;
  return `"${local.replace(/["\\]/g, "\\$&")}"`;
}

/** The domain of an address. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

/** A domain in A-labels, or an address in brackets. Undefined for a text that is neither. */
export function wireDomain(domain: string): string | undefined {
  if (DOMAIN_LITERAL.test(domain)) return domain;
  const labels = domainToASCII(domain);
  return DOMAIN.test(labels) && !labels.includes("..") ? labels : undefined;
}
