import ipaddr from "ipaddr.js";

/** An address range: base and prefix length. */
export type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

const URL_LENGTH_MAX = 2_048;

export function parseRanges(texts: string[]): { ranges: Range[]; invalid: string[] } {
  const isValid = (text: string) => ipaddr.isValidCIDR(text);
  return {
    ranges: texts.filter(isValid).map((text) => ipaddr.parseCIDR(text)),
    invalid: texts.filter((text) => !isValid(text)),
  };
}

/**
 * May we connect to this address? Yes for public unicast, and for what the operator allows. IPv4 inside IPv6 (mapped)
 * counts as IPv4; every transition range (NAT64, 6to4, Teredo) is refused like the private ones.
 */
export function isAllowedAddress(text: string, allowed: Range[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address.range() === "unicast" && isGlobal(address)) return true;
  return allowed.some(
    ([base, bits]) => address.kind() === base.kind() && address.match(base as ipaddr.IPv4, bits),
  );
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Public IPv6 addresses are in 2000::/3 (RFC 4291, 2.4); `::169.254.169.254` is not. */
function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv6 ? address.match(GLOBAL_IPV6) : true;
}

/** The URL of a receiver, or undefined when we would never send to it. Parsed here once and for all. */
export function receiverUrl(text: string): URL | undefined {
  if (text.length > URL_LENGTH_MAX || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  return isHttp && url.username === "" && url.password === "" ? url : undefined;
}

/**
 * The address a host names without asking DNS: a literal (URL has already turned every spelling of one, such as
 * `2130706433` or `0x7f.1`, into the usual one), or this machine by name (RFC 6761, 6.3).
 */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (ipaddr.isValid(bare)) return bare;
  return bare === "localhost" || bare.endsWith(".localhost") ? "127.0.0.1" : undefined;
}

/** False for a URL whose host is a private address outside of `allowed`. A name is judged when it is resolved. */
export function isAllowedUrl(url: URL, allowed: Range[]): boolean {
  const literal = literalAddress(url.hostname);
  return literal === undefined || isAllowedAddress(literal, allowed);
}
