const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * The key under which limits count an address: an IPv4 address by itself, an IPv6 address by its /64, of which a single customer has all
 * (RFC 6177).
 */
export function addressKey(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length);
  const groups = [...before, ...Array<string>(missing).fill("0"), ...after];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16).toString(16));
}
