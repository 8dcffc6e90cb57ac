/** Names of the parameters that prove who a visitor is. They are read, and kept nowhere. */
export function proofNames(prefix: string): string[] {
  return ["ct", `${prefix}_device_id`];
}

/** An address without the parameters that prove who its visitor is. A text that is no address stays as it is. */
export function withoutProofs(text: string, prefix: string): string {
  if (!text.includes("?") || !URL.canParse(text)) return text;
  const url = new URL(text);
  const names = proofNames(prefix).filter((name) => url.searchParams.has(name));
  for (const name of names) url.searchParams.delete(name);
  return names.length === 0 ? text : url.href;
}
