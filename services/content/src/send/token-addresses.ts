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
  const finds = new Map([
    ["pagelink", addressOfPage],
    ["assetlink", addressOfAsset],
  ]);
  // Most mails have none of them, and tens of other tokens.
  const sought = tokens.flatMap((token) => {
    const find = finds.get(token.name);
    return find ? [{ token, find }] : [];
  });
  const addresses = new Map<string, string | undefined>();
  for (const slice of slices(sought, TOKENS_AT_ONCE))
    await Promise.all(
      slice.map(async ({ token, find }) => {
        const address = await find(token.argument ?? "");
        addresses.set(keyOf(token), address && linked(address));
      }),
    );
  return addresses;
}
