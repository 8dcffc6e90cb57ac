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
  const redirects = new URL("/r/", publicUrl).href;
  return (click) => {
    // All links of a message have the same token: it is signed once.
    const token = signClick(tokens, click);
    return {
      // A mail has tens of them, so that none is parsed as a URL.
      tracked(redirectId, parameters = []) {
        const before = parameters.length > 0 ? `${new URLSearchParams(parameters)}&` : "";
        return `${redirects}${encodeURIComponent(redirectId)}?${before}ct=${token}`;
      },
      page(address) {
        const url = new URL(address);
        url.searchParams.set("ct", token);
        return url.href;
      },
    };
  };
}
