import type { NamedToken } from "@tidings/rendering/token";
import { slices } from "@tidings/runtime/slices";

const TOKENS_AT_ONCE = 100;

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
  const addresses = new Map<string, string | undefined>();
  for (const slice of slices(tokens, TOKENS_AT_ONCE))
    await Promise.all(slice.map(async (token) => addresses.set(keyOf(token), await addressOf(token))));
  return addresses;
}
