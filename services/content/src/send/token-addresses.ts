import type { NamedToken } from "@tidings/rendering/token";

export interface TokenAddressOptions {
  addressOfPage(id: string): Promise<string | undefined>;
  addressOfAsset(id: string): Promise<string | undefined>;
}

/** A token in a map of values. */
export function keyOf({ name, argument = "" }: NamedToken): string {
  return `${name} ${argument}`;
}

/** The addresses that `{pagelink=1}` and `{assetlink=1}` stand for, by their tokens: found in tables before a message is written. `linked` marks the reader. */
export async function tokenAddresses(
  tokens: NamedToken[],
  linked: (address: string) => string,
  { addressOfPage, addressOfAsset }: TokenAddressOptions,
): Promise<Map<string, string | undefined>> {
  const addressOf = async ({ name, argument = "" }: NamedToken) => {
    const find = { pagelink: addressOfPage, assetlink: addressOfAsset }[name];
    const address = await find?.(argument);
    return address && linked(address);
  };
  return new Map(
    await Promise.all(tokens.map(async (token) => [keyOf(token), await addressOf(token)] as const)),
  );
}
