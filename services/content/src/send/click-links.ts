import { publicTokens } from "@tidings/secrets/public-token";
import { type Click, signClick } from "../visit/click.ts";
import { signTarget } from "../visit/field-link.ts";

/** The links of one message to one contact: whoever follows one is known by it. */
export interface ClickLinks {
  /** A tracked link, with the parameters that its author wants. */
  tracked(redirectId: string, parameters?: [string, string][]): string;
  /** The same of a link whose target is this reader's own; undefined where the target is too long. */
  trackedTo(target: string, redirectId: string, parameters?: [string, string][]): string | undefined;
  /** The address of a page or an asset. */
  page(address: string): string;
}

export function clickLinks(keys: string[], publicUrl: string): (click: Click) => ClickLinks {
  const tokens = publicTokens(keys, "click");
  const targets = publicTokens(keys, "link target");
  const redirects = new URL("/r/", publicUrl).href;
  return (click) => {
    // All links of a message have the same token: it is signed once.
    const token = signClick(tokens, click);
    // A mail has tens of them, so that none is parsed as a URL.
    const tracked = (redirectId: string, parameters: [string, string][] = []) => {
      const before = parameters.length > 0 ? `${new URLSearchParams(parameters)}&` : "";
      return `${redirects}${encodeURIComponent(redirectId)}?${before}ct=${token}`;
    };
    return {
      tracked,
      trackedTo(target, redirectId, parameters) {
        const to = signTarget(targets, redirectId, target);
        return to && `${tracked(redirectId, parameters)}&to=${to}`;
      },
      page(address) {
        const url = new URL(address);
        url.searchParams.set("ct", token);
        return url.href;
      },
    };
  };
}
