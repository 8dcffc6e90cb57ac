import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import type { Log } from "@tidings/runtime/log";

export type ClientIp = (request: IncomingMessage) => string;

/** The address a request came from. X-Forwarded-For counts only as far as trusted proxies wrote it. */
export function clientIpReader(trustedProxies: string[], log: Log): ClientIp {
  let isWarned = false;
  const trusted = new BlockList();
  for (const range of trustedProxies) {
    const [address = "", bits] = range.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    trusted.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  const isTrusted = (address: string) =>
    isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? "");
    const header = request.headers["x-forwarded-for"];
    if (header === undefined) return address;
    if (!isWarned && !isTrusted(address)) {
      isWarned = true;
      log.warn(
        { peer: address },
        "X-Forwarded-For is not believed: if the peer is a proxy, name it in TRUSTED_PROXIES",
      );
    }
    const forwarded = String(header).split(",");
    while (isTrusted(address) && forwarded.length > 0) {
      const previous = plain(forwarded.pop()?.trim() ?? "");
      if (isIP(previous) === 0) break;
      address = previous;
    }
    return address;
  };
}

/** An IPv4 address that a dual-stack socket shows as IPv6. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
