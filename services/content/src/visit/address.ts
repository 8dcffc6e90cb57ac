import type { Range } from "@tidings/outbound/address";
import ipaddr from "ipaddr.js";

export function isInRanges(text: string, ranges: Range[]): boolean {
  if (ranges.length === 0 || !ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some(
    ([base, bits]) => address.kind() === base.kind() && address.match(base as ipaddr.IPv4, bits),
  );
}

const SHORT_BITS = { ipv4: 24, ipv6: 48 };

/** The address as it is kept: `short` has zeroes in place of its last part, `none` is empty. */
export function keptAddress(text: string, form: "full" | "short" | "none"): string {
  if (form === "none" || !ipaddr.isValid(text)) return "";
  if (form === "full") return text;
  const address = ipaddr.process(text);
  const bits = SHORT_BITS[address.kind()];
  const network = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  return network.networkAddressFromCIDR(`${address}/${bits}`).toString();
}
