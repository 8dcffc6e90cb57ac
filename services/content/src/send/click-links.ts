import { publicTokens } from "@tidings/secrets/public-token";
import { type Click, signClick } from "../visit/click.ts";

/** The links of one message to one contact: whoever follows one is known by it. */
export interface ClickLinks {
  /** A tracked link, with the parameters that its author wants. */
  tracked(redirectId: string, parameters?: [string, string][]): string;
  /** The address of a page or an asset. */
  page(address: string): string;
}

export function clickLinks(keys: string[], publicUrl: string): (click: Click) => ClickLinks {
  const tokens = publicTokens(keys, "click");
  return (click) => {
    // All links of a message have the same token: it is signed once.
    const token = signClick(tokens, click);
    const withToken = (url: URL) => {
      url.searchParams.set("ct", token);
      return url.href;
    };
    return {
      tracked(redirectId, parameters = []) {
        const url = new URL(`/r/${redirectId}`, publicUrl);
        for (const [name, value] of parameters) url.searchParams.set(name, value);
        return withToken(url);
      },
      page: (address) => withToken(new URL(address)),
    };
  };
}
